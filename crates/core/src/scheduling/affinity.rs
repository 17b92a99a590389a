//! Evaluates node selector terms against the labels and the name of a node.
//!
//! - Invariant: a term with an invalid requirement matches no node.

use super::{Labels, PodSchedulingSpec};
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

/// How the value of a label is compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum NodeOperator {
    /// The value is one of these.
    In,
    /// The value is none of these, or the label does not exist.
    NotIn,
    /// The label exists.
    Exists,
    /// The label does not exist.
    DoesNotExist,
    /// The value is an integer greater than this one.
    Gt,
    /// The value is an integer less than this one.
    Lt,
    /// An operator this version does not know: matches nothing.
    Unknown(Box<str>),
}

impl NodeOperator {
    /// Parses an operator, case-sensitively.
    pub fn new(text: &str) -> Self {
        match text {
            "In" => Self::In,
            "NotIn" => Self::NotIn,
            "Exists" => Self::Exists,
            "DoesNotExist" => Self::DoesNotExist,
            "Gt" => Self::Gt,
            "Lt" => Self::Lt,
            other => Self::Unknown(other.into()),
        }
    }

    /// The operator as the API writes it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::In => "In",
            Self::NotIn => "NotIn",
            Self::Exists => "Exists",
            Self::DoesNotExist => "DoesNotExist",
            Self::Gt => "Gt",
            Self::Lt => "Lt",
            Self::Unknown(text) => text,
        }
    }
}

/// One requirement of a term.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NodeRequirement {
    /// The label, or the field.
    pub key: Box<str>,
    /// How it is compared.
    pub operator: NodeOperator,
    /// The values it is compared with.
    pub values: Vec<Box<str>>,
}

/// The only field of a node that can be selected.
const NAME_FIELD: &str = "metadata.name";

impl NodeRequirement {
    /// Whether the number of values fits the operator; a requirement of another form makes its term invalid.
    fn is_valid_for_label(&self) -> bool {
        match self.operator {
            NodeOperator::In | NodeOperator::NotIn => !self.values.is_empty(),
            NodeOperator::Exists | NodeOperator::DoesNotExist => self.values.is_empty(),
            NodeOperator::Gt | NodeOperator::Lt => self.bound().is_some(),
            NodeOperator::Unknown(_) => false,
        }
    }

    fn bound(&self) -> Option<i64> {
        match &self.values[..] {
            [only] => only.parse().ok(),
            _ => None,
        }
    }

    /// Whether labels meet the requirement; `Gt` and `Lt` compare numbers.
    pub fn matches_label(&self, labels: &Labels) -> bool {
        let value = labels.get(&self.key);
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match self.operator {
            NodeOperator::In => value.is_some_and(|value| self.values.contains(value)),
            NodeOperator::NotIn => value.is_none_or(|value| !self.values.contains(value)),
            NodeOperator::Exists => value.is_some(),
            NodeOperator::DoesNotExist => value.is_none(),
            NodeOperator::Gt => number().zip(self.bound()).is_some_and(|(number, bound)| number > bound),
            NodeOperator::Lt => number().zip(self.bound()).is_some_and(|(number, bound)| number < bound),
            NodeOperator::Unknown(_) => false,
        }
    }

    /// A field that a node does not have counts as an empty string.
    fn matches_field(&self, name: &str) -> bool {
        let [only] = &self.values[..] else { return false };
        let value = if *self.key == *NAME_FIELD { name } else { "" };
        match self.operator {
            NodeOperator::In => **only == *value,
            NodeOperator::NotIn => **only != *value,
            _ => false,
        }
    }

    fn names(&self) -> Option<&[Box<str>]> {
        (*self.key == *NAME_FIELD && self.operator == NodeOperator::In).then_some(&self.values)
    }
}

/// One term: all of its requirements must match. An empty term matches nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeTerm {
    /// `matchExpressions`: about labels.
    pub expressions: Vec<NodeRequirement>,
    /// `matchFields`: about `metadata.name`.
    pub fields: Vec<NodeRequirement>,
}

impl NodeTerm {
    /// Whether a node with this name and these labels matches.
    pub fn matches(&self, name: &str, labels: &Labels) -> bool {
        let empty = self.expressions.is_empty() && self.fields.is_empty();
        let expression = |one: &NodeRequirement| one.is_valid_for_label() && one.matches_label(labels);
        !empty
            && self.expressions.iter().all(expression)
            && self.fields.iter().all(|one| one.matches_field(name))
    }

    /// The nodes that the term names, if it names any; a node must be in all of its lists.
    fn named(&self) -> Option<BTreeSet<&str>> {
        let mut lists = self.fields.iter().filter_map(NodeRequirement::names);
        let first: BTreeSet<&str> = lists.next()?.iter().map(AsRef::as_ref).collect();
        Some(lists.fold(first, |left, list| {
            list.iter().map(AsRef::as_ref).filter(|name: &&str| left.contains(name)).collect()
        }))
    }
}

/// A preferred term with its weight.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PreferredTerm {
    /// The weight; an API server requires 1 to 100.
    pub weight: i32,
    /// The term.
    pub term: NodeTerm,
}

/// The nodes that a pod requires by name.
pub(super) enum NamedNodes<'w> {
    /// It names none: any node is possible.
    Any,
    /// Only these nodes are possible.
    Only(BTreeSet<&'w str>),
    /// The names contradict each other.
    Conflict,
}

impl PodSchedulingSpec {
    /// Returns which nodes the required affinity names. One term without a name makes every node possible.
    pub(super) fn named(&self) -> NamedNodes<'_> {
        let terms = self.required.as_deref().unwrap_or_default();
        let named: Option<Vec<_>> = terms.iter().map(NodeTerm::named).collect();
        match named {
            None => NamedNodes::Any,
            Some(sets) if sets.is_empty() => NamedNodes::Any,
            Some(sets) => {
                let union: BTreeSet<_> = sets.into_iter().flatten().collect();
                if union.is_empty() { NamedNodes::Conflict } else { NamedNodes::Only(union) }
            }
        }
    }

    /// Whether selector and required affinity match a node.
    pub(crate) fn matches(&self, name: &str, labels: &Labels) -> bool {
        self.node_selector.iter().all(|(key, value)| labels.get(key) == Some(value))
            && self.required.as_ref().is_none_or(|terms| terms.iter().any(|term| term.matches(name, labels)))
    }
}
