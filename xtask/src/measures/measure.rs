//! Defines one measure: name, value, goal and findings.

/// A value, the most that it should be, and what it counts.
pub(crate) struct Measure {
    name: &'static str,
    value: f64,
    goal: f64,
    findings: Vec<String>,
}

impl Measure {
    /// A measure of `value`, which is kept to one decimal.
    pub(crate) fn new(name: &'static str, value: impl Into<f64>, goal: f64, findings: Vec<String>) -> Self {
        Self { name, value: (value.into() * 10.0).round() / 10.0, goal, findings }
    }

    /// A measure that counts its findings.
    pub(crate) fn count(name: &'static str, goal: f64, findings: Vec<String>) -> Self {
        let count = u32::try_from(findings.len()).unwrap_or(u32::MAX);
        Self::new(name, count, goal, findings)
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn value(&self) -> f64 {
        self.value
    }

    pub(crate) fn findings(&self) -> &[String] {
        &self.findings
    }

    /// The goal as the table shows it.
    pub(crate) fn goal(&self) -> String {
        if self.goal == 0.0 { "0".into() } else { format!("<= {}", self.goal) }
    }

    pub(crate) fn is_met(&self) -> bool {
        self.value <= self.goal
    }
}

#[cfg(test)]
mod tests {
    use super::Measure;

    #[test]
    fn a_goal_is_met_or_missed() {
        let is_met = |value: f64| Measure::new("m", value, 8.0, Vec::new()).is_met();
        assert!(is_met(8.0) && !is_met(8.1));
    }
}
