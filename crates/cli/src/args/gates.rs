//! # Gates: feature gates, today's and those of older releases
//! Room:     the list `--feature-gates=Name=true,…`.
//! Comes in: `Name=true|false`; the last entry of a name counts, as in upstream's map.
//! Goes out: the gate and its value, or the names there are.
//! Not here: what a value leads to (`settle`).

use super::switch;
use taintward_core::toleration_matching::NumericOperators;

/// A gate this program understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gate {
    /// `Lt` and `Gt` compare numbers (MATCH-6, KEP-5471).
    ComparisonOperators,
    /// The taint eviction controller is one of its own (TE-1).
    SeparateTaintEviction,
    /// NoExecute taints evict at all (M10, TE-3).
    TaintBasedEvictions,
    /// Conditions become taints (M10).
    TaintNodesByCondition,
    /// The `DisruptionTarget` condition (TE-31).
    PodDisruptionConditions,
}

/// Every gate under its name.
pub(super) const GATES: [(&str, Gate); 5] = [
    ("PodDisruptionConditions", Gate::PodDisruptionConditions),
    ("SeparateTaintEvictionController", Gate::SeparateTaintEviction),
    ("TaintBasedEvictions", Gate::TaintBasedEvictions),
    ("TaintNodesByCondition", Gate::TaintNodesByCondition),
    ("TaintTolerationComparisonOperators", Gate::ComparisonOperators),
];

/// One entry of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) gate: Gate,
    pub(super) on: bool,
}

/// Why an entry makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotAGate {
    #[error("expected Name=true or Name=false, with a name out of: {}", known())]
    Malformed,
    #[error("there is no such feature gate here; expected a name out of: {}", known())]
    Unknown,
}

fn known() -> String {
    GATES.map(|(name, _)| name).join(", ")
}

/// Reads one entry.
pub(super) fn parse(text: &str) -> Result<Setting, NotAGate> {
    let (name, value) = text.split_once('=').ok_or(NotAGate::Malformed)?;
    let (_, gate) = GATES.into_iter().find(|(known, _)| *known == name.trim()).ok_or(NotAGate::Unknown)?;
    let on = switch::parse(value.trim()).map_err(|_| NotAGate::Malformed)?;
    Ok(Setting { gate, on })
}

/// What the list says of a gate, if anything.
pub(super) fn value(list: &[Setting], gate: Gate) -> Option<bool> {
    list.iter().rev().find(|setting| setting.gate == gate).map(|setting| setting.on)
}

/// Whether `Lt` and `Gt` are compared, by the list.
pub(super) fn numeric(list: &[Setting]) -> NumericOperators {
    match value(list, Gate::ComparisonOperators) {
        Some(true) => NumericOperators::On,
        _ => NumericOperators::Off,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gate_is_read_under_its_name() {
        for (name, gate) in GATES {
            assert_eq!(parse(&format!("{name}=true")), Ok(Setting { gate, on: true }));
            assert_eq!(parse(&format!(" {name} = False ")), Ok(Setting { gate, on: false }));
        }
    }

    #[test]
    fn what_is_no_gate_is_told_the_known_ones() {
        for (text, expected) in [
            ("TaintTolerationComparisonOperators", NotAGate::Malformed),
            ("TaintTolerationComparisonOperators=", NotAGate::Malformed),
            ("TaintTolerationComparisonOperators=maybe", NotAGate::Malformed),
            ("", NotAGate::Malformed),
            ("Unheard=true", NotAGate::Unknown),
            ("tainttolerationcomparisonoperators=true", NotAGate::Unknown),
        ] {
            assert_eq!(parse(text), Err(expected), "{text}");
        }
        assert!(NotAGate::Unknown.to_string().ends_with(
            "PodDisruptionConditions, SeparateTaintEvictionController, TaintBasedEvictions, TaintNodesByCondition, \
             TaintTolerationComparisonOperators"
        ));
    }

    #[test]
    fn the_last_entry_counts() {
        let on = Setting { gate: Gate::ComparisonOperators, on: true };
        let off = Setting { on: false, ..on };
        assert_eq!(value(&[on, off], Gate::ComparisonOperators), Some(false));
        assert_eq!(value(&[off, on], Gate::ComparisonOperators), Some(true));
        assert_eq!(value(&[on], Gate::TaintBasedEvictions), None);
    }
}
