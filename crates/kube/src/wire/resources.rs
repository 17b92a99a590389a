//! Spells out requests and limits, with amounts as they are written.

use super::Text;
use super::value::EntriesVisitor;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::marker::PhantomData;

/// `ResourceRequirements`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ResourcesJson<'a> {
    #[serde(borrow)]
    pub requests: QuantitiesJson<'a>,
    #[serde(borrow)]
    pub limits: QuantitiesJson<'a>,
}

/// Names of resources and amounts of them ([`scalar_text`]).
#[derive(Debug, Default)]
pub struct QuantitiesJson<'a>(pub Vec<(Text<'a>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for QuantitiesJson<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_option(EntriesVisitor(PhantomData)).map(Self)
    }
}

/// The text of a value that may be a string or a number, `500m` or 2; `None` if it is neither.
pub fn scalar_text(raw: &RawValue) -> Option<Cow<'_, str>> {
    match raw.get().as_bytes() {
        [b'"', ..] => serde_json::from_str::<Text<'_>>(raw.get()).ok().map(|Text(text)| text),
        [b'-' | b'0'..=b'9', ..] => Some(raw.get().into()),
        _ => None,
    }
}
