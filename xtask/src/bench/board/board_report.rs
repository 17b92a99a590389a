//! Collects the rows of docs/benchmarks-board.md: a value, its budget, and a floor from the same run.

/// A row of the table.
pub(super) struct BoardReading<'a> {
    pub(super) label: &'a str,
    pub(super) value: f64,
    pub(super) unit: &'a str,
    /// The most that it may be.
    pub(super) budget: Option<f64>,
    /// What cannot be avoided, measured in the same run.
    pub(super) floor: Option<f64>,
}

/// The table.
#[derive(Default)]
pub(super) struct BoardReport {
    rows: String,
    missed: Vec<String>,
}

impl BoardReport {
    /// A value that has no floor.
    pub(super) fn line(&mut self, label: &str, value: f64, unit: &str, budget: Option<f64>) {
        self.add(&BoardReading { label, value, unit, budget, floor: None });
    }

    pub(super) fn add(&mut self, reading: &BoardReading<'_>) {
        let BoardReading { label, value, unit, budget, floor } = reading;
        let (at_most, met) = match budget {
            Some(budget) if value <= budget => (format!("{budget} {unit}"), "met"),
            Some(budget) => {
                self.missed.push((*label).to_owned());
                (format!("{budget} {unit}"), "missed")
            }
            None => (String::new(), ""),
        };
        let (lowest, ratio) = match floor {
            Some(floor) => (format!("{floor:.2} {unit}"), format!("{:.1}", value / floor)),
            None => (String::new(), String::new()),
        };
        let digits = if *value < 10.0 { 2 } else { 0 };
        let line =
            format!("| {label} | {value:.digits$} {unit} | {at_most} | {met} | {lowest} | {ratio} |\n");
        print!("{line}");
        self.rows += &line;
    }

    /// The table, with its heading.
    pub(super) fn table(&self) -> String {
        format!("| | | budget | | floor | ratio |\n|---|---:|---:|---|---:|---:|\n{}", self.rows)
    }

    /// The labels of the values that exceed their budget.
    pub(super) fn missed(&self) -> &[String] {
        &self.missed
    }
}
