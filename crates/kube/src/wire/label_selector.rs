//! Mirrors `LabelSelector`. An unknown field is an error: it may restrict what would be selected without it.

use super::{CappedList, StringList, Text, TextMap};
use serde::Deserialize;
use taintward_core::admission::LabelSelector;
use taintward_core::scheduling::{NodeOperator, NodeRequirement};

/// `LabelSelector`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct LabelSelectorJson<'a> {
    #[serde(borrow)]
    match_labels: TextMap<'a>,
    #[serde(borrow)]
    match_expressions: CappedList<LabelRequirementJson<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct LabelRequirementJson<'a> {
    #[serde(borrow)]
    key: Text<'a>,
    #[serde(borrow)]
    operator: Text<'a>,
    values: StringList,
}

impl From<LabelSelectorJson<'_>> for LabelSelector {
    /// Labels first, sorted by key; then the expressions, as written.
    fn from(json: LabelSelectorJson<'_>) -> Self {
        let labels = json.match_labels.labels();
        let mut selector = Self::of_labels(labels.iter().map(|(key, value)| (&**key, &**value)));
        selector.0.extend(json.match_expressions.0.into_iter().map(|one| NodeRequirement {
            key: (&one.key).into(),
            operator: NodeOperator::new(&one.operator),
            values: one.values.0,
        }));
        selector
    }
}
