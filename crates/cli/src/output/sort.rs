//! Implements `--sort-by`: compares items by a field; quantities by value, missing fields first.

use super::jsonpath::{JsonPathTemplate, TemplateError, shown};
use serde_json::Value;
use std::cmp::Ordering;
use std::str::FromStr;
use taintward_core::quantity::Quantity;

/// The key of `--sort-by`.
#[derive(Clone, Debug)]
pub(crate) struct SortKey {
    text: String,
    path: JsonPathTemplate,
}

/// Why a list cannot be sorted by a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SortError {
    #[error(transparent)]
    Template(#[from] TemplateError),
    #[error("cannot sort by {0}: no item has this field; -o json shows the fields")]
    Nowhere(String),
}

impl FromStr for SortKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let path = JsonPathTemplate::field(text).map_err(|why| why.to_string())?;
        Ok(Self { text: text.to_owned(), path })
    }
}

impl SortKey {
    pub(super) fn order(&self, items: &[Value]) -> Result<Vec<usize>, SortError> {
        let mut keys = Vec::with_capacity(items.len());
        for item in items {
            keys.push(self.path.find(item)?.into_iter().flatten().next());
        }
        if keys.iter().all(Option::is_none) {
            return Err(SortError::Nowhere(self.text.clone()));
        }
        let texts = || keys.iter().flatten().filter_map(|value| value.as_str());
        let amounts = texts().all(|text| Quantity::parse(text).is_ok());
        let mut order: Vec<usize> = (0..items.len()).collect();
        order.sort_by(|one, other| compare(keys[*one].as_deref(), keys[*other].as_deref(), amounts));
        Ok(order)
    }
}

/// A total order of all values: missing ones first, then type by type.
fn compare(one: Option<&Value>, other: Option<&Value>, amounts: bool) -> Ordering {
    let (Some(one), Some(other)) = (one, other) else { return one.is_some().cmp(&other.is_some()) };
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => match (one.as_i64(), other.as_i64()) {
            (Some(one), Some(other)) => one.cmp(&other),
            _ => one.as_f64().unwrap_or(f64::NAN).total_cmp(&other.as_f64().unwrap_or(f64::NAN)),
        },
        (Value::String(one), Value::String(other)) if amounts => {
            Quantity::parse(one).ok().cmp(&Quantity::parse(other).ok())
        }
        _ => rank(one).cmp(&rank(other)).then_with(|| shown(one).cmp(&shown(other))),
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn sorted(values: &[Value]) -> Vec<Value> {
        let items: Vec<Value> = values.iter().map(|value| json!({"a": value})).collect();
        let order = ".a".parse::<SortKey>().unwrap().order(&items).unwrap();
        order.into_iter().map(|at| values[at].clone()).collect()
    }

    #[test]
    fn quantities_are_compared_by_value_if_all_are_quantities() {
        assert_eq!(
            sorted(&[json!("1Gi"), json!("900Mi"), json!("10")]),
            [json!("10"), json!("900Mi"), json!("1Gi")]
        );
        assert_eq!(sorted(&[json!("n2"), json!("9"), json!("10")]), [json!("10"), json!("9"), json!("n2")]);
        assert_eq!(sorted(&[json!(10), json!(9), json!(9.5)]), [json!(9), json!(9.5), json!(10)]);
    }

    #[test]
    fn missing_fields_are_first_and_equal_ones_keep_their_order() {
        let items = [json!({"a": 1, "n": 1}), json!({"n": 2}), json!({"a": 1, "n": 3}), json!({"a": 0})];
        assert_eq!("a".parse::<SortKey>().unwrap().order(&items), Ok(vec![1, 3, 0, 2]));
    }

    proptest! {
        /// Any values can be sorted, consistently and without losing one.
        #[test]
        fn anything_can_be_sorted(picks in prop::collection::vec(0_usize..12, 1..40)) {
            let odd = [
                json!(null), json!(true), json!(9), json!(10), json!(9.5), json!("5x"), json!("9"), json!("10"), json!("1Gi"),
                json!([1]), json!({}), json!(u64::MAX),
            ];
            let values: Vec<Value> = picks.iter().map(|pick| odd[*pick].clone()).collect();
            let once = sorted(&values);
            prop_assert_eq!(sorted(&once), once.clone());
            prop_assert_eq!(once.len(), values.len());
        }
    }
}
