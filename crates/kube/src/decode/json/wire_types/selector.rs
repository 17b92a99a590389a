//! # Shapes of selectors, maps and lists of text
//! Room:     what serde reads labels, annotations, label selectors and lists of names into.
//! Comes in: serde_json's events.
//! Goes out: the core's labels and selectors; raw texts.
//! Not here: what a selector means, and what is wrong with one (the core).

use super::{CappedList, Text};
use crate::decode::field_semantics::LONGEST_LIST;
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use taintward_core::admission::LabelSelector;
use taintward_core::scheduling::{Labels, NodeOperator, NodeRequirement};

/// Labels or annotations, all of them. Of a key given twice the last value counts, and `null` is the empty string, as in
/// Go's maps of strings.
#[derive(Default)]
pub(in crate::decode::json) struct TextMap(pub(in crate::decode::json) Labels);

impl<'de> Deserialize<'de> for TextMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StringMapVisitor;

        impl<'de> Visitor<'de> for StringMapVisitor {
            type Value = TextMap;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<TextMap, A::Error> {
                let mut all = Labels::new();
                while let Some(key) = map.next_key::<Text<'de>>()? {
                    let value = map.next_value::<Option<Text<'de>>>()?;
                    all.insert(key.as_str().into(), Text::or_empty(value.as_ref()).into());
                }
                Ok(TextMap(all))
            }
        }

        deserializer.deserialize_map(StringMapVisitor)
    }
}

/// A list of at most [`LONGEST_LIST`] texts.
#[derive(Default)]
pub(in crate::decode::json) struct StringList(pub(in crate::decode::json) Vec<Box<str>>);

impl<'de> Deserialize<'de> for StringList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StringListVisitor;

        impl<'de> Visitor<'de> for StringListVisitor {
            type Value = StringList;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<StringList, A::Error> {
                let mut all = Vec::new();
                while let Some(text) = list.next_element::<Text<'de>>()? {
                    if all.len() == LONGEST_LIST {
                        return Err(A::Error::custom(format_args!("more than {LONGEST_LIST} entries")));
                    }
                    all.push(text.as_str().into());
                }
                Ok(StringList(all))
            }
        }

        deserializer.deserialize_seq(StringListVisitor)
    }
}

/// `metav1.LabelSelector`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::decode::json) struct LabelSelectorJson<'a> {
    match_labels: Option<TextMap>,
    #[serde(borrow)]
    match_expressions: Option<CappedList<RequirementJson<'a>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RequirementJson<'a> {
    #[serde(borrow)]
    key: Option<Text<'a>>,
    #[serde(borrow)]
    operator: Option<Text<'a>>,
    values: Option<StringList>,
}

impl LabelSelectorJson<'_> {
    /// Labels first, in the order of their keys; then the expressions, as they were written.
    pub(in crate::decode::json) fn selector(self) -> LabelSelector {
        let labels = self.match_labels.unwrap_or_default().0;
        let mut selector = LabelSelector::of_labels(labels.iter().map(|(key, value)| (&**key, &**value)));
        let expressions = self.match_expressions.unwrap_or_default().0.into_iter();
        selector.0.extend(expressions.map(|one| NodeRequirement {
            key: Text::or_empty(one.key.as_ref()).into(),
            operator: NodeOperator::new(Text::or_empty(one.operator.as_ref())),
            values: one.values.unwrap_or_default().0,
        }));
        selector
    }
}
