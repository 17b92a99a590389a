//! Mirrors requests and limits, with amounts as written.

use super::Text;
use super::value::EntriesVisitor;
use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;
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

/// Names of resources and amounts of them.
#[derive(Debug, Default)]
pub struct QuantitiesJson<'a>(pub Vec<(Text<'a>, ScalarJson<'a>)>);

impl<'de: 'a, 'a> Deserialize<'de> for QuantitiesJson<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_option(EntriesVisitor(PhantomData)).map(Self)
    }
}

/// A string or a number, `500m` or 2, as text; `None` if it is neither.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScalarJson<'a>(pub Option<Cow<'a, str>>);

impl<'de: 'a, 'a> Deserialize<'de> for ScalarJson<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ScalarVisitor;

        impl<'de> Visitor<'de> for ScalarVisitor {
            type Value = ScalarJson<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(ScalarJson(Some(text.into())))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(ScalarJson(Some(text.to_owned().into())))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
                Ok(ScalarJson(None))
            }

            fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
                Ok(ScalarJson(None))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(ScalarJson(None))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(ScalarJson(None))
            }
        }

        deserializer.deserialize_any(ScalarVisitor)
    }
}
