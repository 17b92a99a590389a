//! Parses the rows of golden files; the header of each file explains them.

/// The lines of a section, in columns.
pub(crate) fn section(rows: &'static str, name: &str) -> impl Iterator<Item = Vec<String>> + use<> {
    let heading = format!("[{name}]");
    let lines = rows.lines().skip_while(move |line| *line != heading).skip(1);
    lines
        .take_while(|line| !line.starts_with('['))
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.split('\t').map(unescaped).collect())
}

fn unescaped(column: &str) -> String {
    let mut text = String::new();
    let mut chars = column.chars();
    while let Some(char) = chars.next() {
        text.push(match char {
            '\\' => match chars.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                Some('0') => '\0',
                Some('\\') => '\\',
                other => panic!("unknown escape {other:?} in {column}"),
            },
            char => char,
        });
    }
    text
}
