//! Keeps for each measure the value that it must not exceed.
//!
//! - A change that makes a value smaller lowers the record. Only a new capability for users raises a record, that of
//!   production lines, and its commit names the capability.
//! - Lines are recorded in full thousands and shares without decimals, so that not every change must change this file.

use super::measure::Measure;

/// The name of each measure and its largest allowed value.
pub(crate) const RECORDED: [(&str, f64); 12] = [
    ("production lines without fakekube", 127_000.0),
    ("production lines of fakekube", 17_000.0),
    ("test programs", 25.0),
    ("types that share their name, %", 2.0),
    ("type names declared twice in a crate", 0.0),
    ("identifiers with a banned word", 0.0),
    ("pub(super), pub(in ...) per 1,000 lines", 8.0),
    ("import circles", 0.0),
    ("circles of top-level modules", 0.0),
    ("mirrors of a Pod", 2.0),
    ("rule ids cited and defined nowhere", 0.0),
    ("rule ids defined and cited nowhere", 0.0),
];

/// The step in which values of a thousand and more are recorded.
const COARSE_STEP: f64 = 1_000.0;

/// The values that are larger than recorded, and those that are not recorded or no longer measured.
pub(crate) fn regressions(measures: &[Measure], recorded: &[(&str, f64)]) -> Vec<String> {
    let of_measure = |measure: &Measure| {
        let (name, value) = (measure.name(), measure.value());
        match recorded.iter().find(|(recorded, _)| *recorded == name) {
            None => Some(format!("{name}: record {} in xtask/src/measures/recorded.rs", record_for(value))),
            Some((_, most)) => (value > *most).then(|| {
                let findings = if *most == 0.0 { measure.findings() } else { &[] };
                let findings: String = findings.iter().map(|finding| format!("\n  {finding}")).collect();
                format!("{name}: {value}, but {most} is recorded{findings}")
            }),
        }
    };
    let is_measured = |name: &str| measures.iter().any(|measure| measure.name() == name);
    let orphans = recorded.iter().filter(|(name, _)| !is_measured(name));
    let orphans = orphans.map(|(name, _)| format!("{name}: recorded, but no measure has this name"));
    measures.iter().filter_map(of_measure).chain(orphans).collect()
}

/// The values that are smaller than recorded.
pub(crate) fn improvements(measures: &[Measure], recorded: &[(&str, f64)]) -> Vec<String> {
    let of_measure = |measure: &Measure| {
        let (name, most) = recorded.iter().find(|(name, _)| *name == measure.name())?;
        let least = record_for(measure.value());
        (least < *most).then(|| format!("{name}: the record of {most} can be lowered to {least}"))
    };
    measures.iter().filter_map(of_measure).collect()
}

/// The record for a value.
fn record_for(value: f64) -> f64 {
    let step = if value < COARSE_STEP { 1.0 } else { COARSE_STEP };
    (value / step).ceil() * step
}

#[cfg(test)]
mod tests {
    use super::super::measure::Measure;
    use super::{improvements, regressions};

    fn measure(value: f64) -> [Measure; 1] {
        [Measure::new("circles", value, 0.0, Vec::new())]
    }

    #[test]
    fn a_value_may_not_grow() {
        assert_eq!(regressions(&measure(4.0), &[("circles", 3.0)]), ["circles: 4, but 3 is recorded"]);
        assert_eq!(regressions(&measure(3.0), &[("circles", 3.0)]), [""; 0]);
        assert_eq!(regressions(&measure(2.0), &[("circles", 3.0)]), [""; 0]);
    }

    #[test]
    fn findings_are_listed_where_none_is_allowed() {
        let found = vec!["a".to_owned(), "b".to_owned()];
        let measure = [Measure::count("circles", 0.0, found)];
        assert_eq!(regressions(&measure, &[("circles", 0.0)]), ["circles: 2, but 0 is recorded\n  a\n  b"]);
    }

    #[test]
    fn a_smaller_value_is_reported() {
        assert_eq!(
            improvements(&measure(2.0), &[("circles", 3.0)]),
            ["circles: the record of 3 can be lowered to 2"]
        );
        assert_eq!(improvements(&measure(3.0), &[("circles", 3.0)]), [""; 0]);
    }

    #[test]
    fn records_are_coarse() {
        assert_eq!(improvements(&measure(2.1), &[("circles", 3.0)]), [""; 0]);
        assert_eq!(improvements(&measure(98_001.0), &[("circles", 99_000.0)]), [""; 0]);
        assert_eq!(
            improvements(&measure(97_999.0), &[("circles", 99_000.0)]),
            ["circles: the record of 99000 can be lowered to 98000"]
        );
    }

    #[test]
    fn records_and_measures_belong_together() {
        assert_eq!(
            regressions(&measure(1.0), &[("loops", 1.0)]),
            [
                "circles: record 1 in xtask/src/measures/recorded.rs",
                "loops: recorded, but no measure has this name"
            ]
        );
    }
}
