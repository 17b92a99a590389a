//! Defines one measure: name, value, goal and findings.

/// What a value should be.
#[derive(Clone, Copy)]
pub(crate) enum Goal {
    /// This, or less.
    AtMost(f64),
    /// This: less means that the definition no longer finds what it counts.
    Exactly(f64),
}

/// A value, its goal, and what it counts.
pub(crate) struct Measure {
    name: &'static str,
    value: f64,
    goal: Goal,
    findings: Vec<String>,
}

impl Measure {
    /// A measure of `value`, which is kept to one decimal.
    pub(crate) fn new(name: &'static str, value: impl Into<f64>, goal: Goal, findings: Vec<String>) -> Self {
        Self { name, value: (value.into() * 10.0).round() / 10.0, goal, findings }
    }

    /// A measure that counts its findings.
    pub(crate) fn count(name: &'static str, goal: Goal, findings: Vec<String>) -> Self {
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
        match self.goal {
            Goal::AtMost(0.0) => "0".into(),
            Goal::AtMost(most) => format!("<= {most}"),
            Goal::Exactly(value) => value.to_string(),
        }
    }

    pub(crate) fn is_met(&self) -> bool {
        match self.goal {
            Goal::AtMost(most) => self.value <= most,
            Goal::Exactly(value) => (self.value - value).abs() < f64::EPSILON,
        }
    }

    /// Whether the value is so small that the definition no longer finds what it counts.
    pub(crate) fn has_lost_its_object(&self) -> bool {
        matches!(self.goal, Goal::Exactly(value) if self.value < value)
    }
}

#[cfg(test)]
mod tests {
    use super::{Goal, Measure};

    #[test]
    fn a_goal_is_met_or_missed() {
        let measure = |value: f64, goal| Measure::new("m", value, goal, Vec::new());
        assert!(measure(8.0, Goal::AtMost(8.0)).is_met());
        assert!(!measure(8.1, Goal::AtMost(8.0)).is_met());
        assert!(measure(1.0, Goal::Exactly(1.0)).is_met());
        assert!(!measure(0.0, Goal::Exactly(1.0)).is_met());
        assert!(!measure(2.0, Goal::Exactly(1.0)).is_met());
    }

    #[test]
    fn nothing_found_is_not_a_success_where_one_must_exist() {
        let found = |value: f64| Measure::new("m", value, Goal::Exactly(1.0), Vec::new());
        assert!(found(0.0).has_lost_its_object());
        assert!(!found(1.0).has_lost_its_object());
        assert!(!Measure::new("m", 0.0, Goal::AtMost(1.0), Vec::new()).has_lost_its_object());
    }
}
