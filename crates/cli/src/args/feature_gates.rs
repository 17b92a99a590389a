//! Parses `--feature-gates`, with the gates of this and of older releases; as in upstream, the last entry of a name
//! counts.
//!
//! - See `run/run_args.rs` for the effect of a value.

use super::bool_flag;
use taintward_core::toleration_matching::NumericOperators;

/// A known feature gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FeatureGate {
    /// `Lt` and `Gt` compare numbers (MATCH-6, KEP-5471).
    ComparisonOperators,
    /// Taint eviction is a controller of its own (TE-1).
    SeparateTaintEviction,
    /// NoExecute taints evict pods at all (M10, TE-3).
    TaintBasedEvictions,
    /// Conditions become taints (M10).
    TaintNodesByCondition,
    /// The `DisruptionTarget` condition (TE-31).
    PodDisruptionConditions,
}

/// Every gate with its name.
pub(crate) const GATES: [(&str, FeatureGate); 5] = [
    ("PodDisruptionConditions", FeatureGate::PodDisruptionConditions),
    ("SeparateTaintEvictionController", FeatureGate::SeparateTaintEviction),
    ("TaintBasedEvictions", FeatureGate::TaintBasedEvictions),
    ("TaintNodesByCondition", FeatureGate::TaintNodesByCondition),
    ("TaintTolerationComparisonOperators", FeatureGate::ComparisonOperators),
];

/// One entry of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GateSetting {
    pub(crate) gate: FeatureGate,
    pub(crate) on: bool,
}

/// Why an entry is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidGate {
    #[error("expected Name=true or Name=false, with a name out of: {}", known())]
    Malformed,
    #[error("unknown feature gate; expected a name out of: {}", known())]
    Unknown,
}

fn known() -> String {
    GATES.map(|(name, _)| name).join(", ")
}

/// Parses one entry.
pub(crate) fn parse(text: &str) -> Result<GateSetting, InvalidGate> {
    let (name, value) = text.split_once('=').ok_or(InvalidGate::Malformed)?;
    let (_, gate) = GATES.into_iter().find(|(known, _)| *known == name.trim()).ok_or(InvalidGate::Unknown)?;
    let on = bool_flag::parse(value.trim()).map_err(|_| InvalidGate::Malformed)?;
    Ok(GateSetting { gate, on })
}

/// The value of a gate in the list, if the list has it.
pub(crate) fn value(list: &[GateSetting], gate: FeatureGate) -> Option<bool> {
    list.iter().rev().find(|setting| setting.gate == gate).map(|setting| setting.on)
}

/// Whether the list enables `Lt` and `Gt`.
pub(crate) fn numeric(list: &[GateSetting]) -> NumericOperators {
    match value(list, FeatureGate::ComparisonOperators) {
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
            assert_eq!(parse(&format!("{name}=true")), Ok(GateSetting { gate, on: true }));
            assert_eq!(parse(&format!(" {name} = False ")), Ok(GateSetting { gate, on: false }));
        }
    }

    #[test]
    fn an_unknown_gate_gets_the_list_of_known_ones() {
        for (text, expected) in [
            ("TaintTolerationComparisonOperators", InvalidGate::Malformed),
            ("TaintTolerationComparisonOperators=", InvalidGate::Malformed),
            ("TaintTolerationComparisonOperators=maybe", InvalidGate::Malformed),
            ("", InvalidGate::Malformed),
            ("Unheard=true", InvalidGate::Unknown),
            ("tainttolerationcomparisonoperators=true", InvalidGate::Unknown),
        ] {
            assert_eq!(parse(text), Err(expected), "{text}");
        }
        assert!(InvalidGate::Unknown.to_string().ends_with(
            "PodDisruptionConditions, SeparateTaintEvictionController, TaintBasedEvictions, TaintNodesByCondition, \
             TaintTolerationComparisonOperators"
        ));
    }

    #[test]
    fn the_last_entry_counts() {
        let on = GateSetting { gate: FeatureGate::ComparisonOperators, on: true };
        let off = GateSetting { on: false, ..on };
        assert_eq!(value(&[on, off], FeatureGate::ComparisonOperators), Some(false));
        assert_eq!(value(&[off, on], FeatureGate::ComparisonOperators), Some(true));
        assert_eq!(value(&[on], FeatureGate::TaintBasedEvictions), None);
    }
}
