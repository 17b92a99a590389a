//! Formats measures as a table.

use super::measure::Measure;

/// The table of measures: name, value, goal, and whether it is met.
pub(crate) fn render(measures: &[Measure]) -> String {
    let head = ["measure", "value", "goal", ""].map(str::to_owned);
    let rows = measures.iter().map(|measure| {
        let met = if measure.is_met() { "met" } else { "missed" };
        [measure.name().to_owned(), measure.value().to_string(), measure.goal(), met.to_owned()]
    });
    columns(&[head].into_iter().chain(rows).collect::<Vec<_>>())
}

/// The table of production lines by crate.
pub(crate) fn render_lines(lines_by_crate: &[(String, usize)]) -> String {
    let rows = lines_by_crate.iter().map(|(package, lines)| [package.clone(), lines.to_string()]);
    columns(&[["crate".into(), "lines".into()]].into_iter().chain(rows).collect::<Vec<_>>())
}

/// Rows in columns: the first to the left, the second to the right, as numbers are.
fn columns<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let line = |row: &[String; N]| {
        let cells = row.iter().enumerate().map(|(column, cell)| match column {
            1 => format!("{cell:>width$}", width = width(column)),
            _ => format!("{cell:<width$}", width = width(column)),
        });
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::super::measure::Measure;
    use super::{render, render_lines};

    #[test]
    fn values_are_aligned_in_columns() {
        let measures = [
            Measure::new("lines", 99_423, 70_000.0, Vec::new()),
            Measure::new("per cent", 7.54, 8.0, Vec::new()),
        ];
        assert_eq!(
            render(&measures),
            "measure   value  goal\nlines     99423  <= 70000  missed\nper cent    7.5  <= 8      met\n"
        );
        assert_eq!(render_lines(&[("core".into(), 12)]), "crate  lines\ncore      12\n");
    }
}
