//! # Sort: `--sort-by`
//! Room:     by a field of each item; numbers, texts, truth values; what has none comes first.
//! Comes in: a path; items.
//! Goes out: an order.
//! Not here: who is put in that order (`output.rs`).

use super::jsonpath::{Template, TemplateError, shown};
use serde_json::Value;
use std::cmp::Ordering;

/// What a list is sorted by.
#[derive(Clone, Debug)]
pub(crate) struct SortKey {
    text: String,
    path: Template,
}

/// A list cannot be sorted by that.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SortError {
    #[error(transparent)]
    Template(#[from] TemplateError),
    #[error("--sort-by={0}: no item has that field; -o json shows which there are")]
    Nowhere(String),
}

pub(super) fn parse(text: &str) -> Result<SortKey, String> {
    let path = Template::field(text).map_err(|why| why.to_string())?;
    Ok(SortKey { text: text.to_owned(), path })
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
        let mut order: Vec<usize> = (0..items.len()).collect();
        order.sort_by(|one, other| compare(keys[*one].as_deref(), keys[*other].as_deref()));
        Ok(order)
    }
}

fn compare(one: Option<&Value>, other: Option<&Value>) -> Ordering {
    let number = |value: &Value| value.as_f64();
    match (one, other) {
        (Some(one), Some(other)) => match (number(one), number(other)) {
            (Some(one), Some(other)) => one.total_cmp(&other),
            _ => shown(one).cmp(&shown(other)),
        },
        (one, other) => one.is_some().cmp(&other.is_some()),
    }
}
