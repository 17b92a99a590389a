//! Finds parts of an object that may be undecodable as a whole, or is not decoded.

use super::Text;
use serde::Deserializer as _;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// Returns some members of an object, whatever they contain; of one given twice the last. None if `text` is not an
/// object.
pub fn members<'a, const N: usize>(text: &'a [u8], names: [&str; N]) -> [Option<&'a RawValue>; N] {
    let mut visitor = MembersVisitor { names: &names, found: [None; N] };
    // Members found before an error count.
    let _ = serde_json::Deserializer::from_slice(text).deserialize_map(&mut visitor);
    visitor.found
}

/// Returns the value at a path of objects.
pub fn member_at<'a>(text: &'a [u8], path: &[&str]) -> Option<&'a RawValue> {
    let (first, rest) = path.split_first()?;
    let [found] = members(text, [*first]);
    if rest.is_empty() { found } else { member_at(found?.get().as_bytes(), rest) }
}

struct MembersVisitor<'a, 'n, const N: usize> {
    names: &'n [&'n str; N],
    found: [Option<&'a RawValue>; N],
}

impl<'de, const N: usize> Visitor<'de> for &mut MembersVisitor<'de, '_, N> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Text<'de>>()? {
            let value = map.next_value::<&RawValue>()?;
            if let Some(at) = self.names.iter().position(|name| **name == *key) {
                self.found[at] = Some(value);
            }
        }
        Ok(())
    }
}
