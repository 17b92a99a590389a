//! Evaluates and validates the label selectors of pools and policies.
//!
//! - Invariant: an invalid selector selects nothing, so that a typing error never covers the whole cluster.
//! - See `cluster_snapshot/disruption_budget.rs` for selectors of disruption budgets, `scheduling/affinity.rs` for
//!   terms of pods.

use super::messages::{few, text_of};
use crate::label::{is_key, is_value};
use crate::scheduling::{Labels, NodeOperator, NodeRequirement};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// A label selector: every requirement must hold; a selector without requirements selects everything. `matchLabels`
/// become requirements with [`NodeOperator::In`] and one value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LabelSelector(pub Vec<NodeRequirement>);

impl LabelSelector {
    /// Selects the objects that have these labels.
    pub fn of_labels<'l>(labels: impl IntoIterator<Item = (&'l str, &'l str)>) -> Self {
        let one = |(key, value): (&str, &str)| is_in(key, Vec::from([value.into()]));
        Self(labels.into_iter().map(one).collect())
    }

    /// Whether an object with these labels is selected.
    pub fn selects(&self, labels: &Labels) -> bool {
        self.0.iter().all(|one| error(one).is_none() && one.matches_label(labels))
    }

    /// Returns what is wrong with the selector; empty if it is valid.
    pub fn errors(&self) -> Vec<String> {
        self.0.iter().filter_map(error).collect()
    }
}

/// A label that has one of these values.
pub(super) fn is_in(key: &str, values: Vec<Box<str>>) -> NodeRequirement {
    NodeRequirement { key: key.into(), operator: NodeOperator::In, values }
}

fn error(one: &NodeRequirement) -> Option<String> {
    let key = text_of(&one.key);
    if !is_key(&one.key) {
        return Some(format!("{key} cannot be the key of a label"));
    }
    if let Some(odd) = one.values.iter().find(|value| !is_value(value)) {
        return Some(format!("{} cannot be the value of a label", text_of(odd)));
    }
    let operator = one.operator.as_str();
    match (&one.operator, one.values.is_empty()) {
        (NodeOperator::In | NodeOperator::NotIn, true) => Some(format!("{key}: {operator} needs values")),
        (NodeOperator::Exists | NodeOperator::DoesNotExist, false) => {
            Some(format!("{key}: {operator} takes no values"))
        }
        (NodeOperator::In | NodeOperator::NotIn | NodeOperator::Exists | NodeOperator::DoesNotExist, _) => {
            None
        }
        _ => Some(format!("{key}: a label selector has no operator {}", text_of(operator))),
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("any label");
        }
        for (at, one) in self.0.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            let (key, values) = (text_of(&one.key), &one.values);
            match (&one.operator, &values[..]) {
                (NodeOperator::In, [only]) => write!(f, "{comma}{key}={}", text_of(only))?,
                (NodeOperator::NotIn, [only]) => write!(f, "{comma}{key}!={}", text_of(only))?,
                (NodeOperator::Exists, []) => write!(f, "{comma}{key}")?,
                (NodeOperator::DoesNotExist, []) => write!(f, "{comma}!{key}")?,
                (operator, values) => {
                    let word = operator.as_str().to_lowercase();
                    write!(f, "{comma}{key} {word} ({})", few(values.iter().map(AsRef::as_ref)))?;
                }
            }
        }
        Ok(())
    }
}
