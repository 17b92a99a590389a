//! Holds text, objects, lists and maps that may be `null`, which equals empty.

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use taintward_core::scheduling::Labels;

/// More taints or tolerations than any object that an API server stores; keeps hostile input from growing in memory.
pub const LONGEST_LIST: usize = 200_000;

/// Decodes an object; `null` is invalid.
///
/// # Errors
/// The error of serde_json.
pub fn object_from_slice<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> serde_json::Result<T> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let object = ObjectSeed(PhantomData).deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(object)
}

/// Implements a visitor's methods for `null` and for other values.
macro_rules! or_null {
    ($read:ident, $lifetime:lifetime) => {
        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }

        fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }

        fn visit_some<D: Deserializer<$lifetime>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
            deserializer.$read(self)
        }
    };
}

/// Text, borrowed unless it contains escapes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text<'a>(pub Cow<'a, str>);

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<&Text<'_>> for Box<str> {
    fn from(text: &Text<'_>) -> Self {
        (**text).into()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;

        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }

            or_null!(deserialize_str, 'de);
        }

        deserializer.deserialize_option(TextVisitor)
    }
}

/// An object by the names of its fields. A derived deserializer would also accept a list of the fields' values.
#[derive(Clone, Debug, Default)]
pub struct Fields<T>(pub T);

impl<T> Deref for Fields<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

struct ObjectSeed<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for ObjectSeed<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectSeed<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

impl<'de, T: Default + Deserialize<'de>> Deserialize<'de> for Fields<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldsVisitor<T>(PhantomData<T>);

        impl<'de, T: Default + Deserialize<'de>> Visitor<'de> for FieldsVisitor<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
                ObjectSeed(PhantomData).visit_map(map)
            }

            or_null!(deserialize_map, 'de);
        }

        deserializer.deserialize_option(FieldsVisitor(PhantomData)).map(Self)
    }
}

/// A list of at most [`LONGEST_LIST`] objects.
#[derive(Clone, Debug)]
pub struct CappedList<T>(pub Vec<T>);

impl<T> Default for CappedList<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Deref for CappedList<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for CappedList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_option(ListVisitor(|| ObjectSeed(PhantomData))).map(Self)
    }
}

/// A list of at most [`LONGEST_LIST`] texts.
#[derive(Clone, Debug, Default)]
pub struct StringList(pub Vec<Box<str>>);

impl<'de> Deserialize<'de> for StringList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_option(ListVisitor(|| PhantomData)).map(Self)
    }
}

/// A list, with the seed of an entry, which is not `null`.
struct ListVisitor<S>(fn() -> S);

impl<'de, S: DeserializeSeed<'de>> Visitor<'de> for ListVisitor<S> {
    type Value = Vec<S::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = list.next_element_seed((self.0)())? {
            if entries.len() == LONGEST_LIST {
                return Err(A::Error::custom(format_args!("more than {LONGEST_LIST} entries")));
            }
            entries.push(entry);
        }
        Ok(entries)
    }

    or_null!(deserialize_seq, 'de);
}

/// Labels or annotations, all of them, as written.
#[derive(Clone, Debug, Default)]
pub struct TextMap<'a>(pub Vec<(Text<'a>, Text<'a>)>);

impl TextMap<'_> {
    /// The value of a key. Of a key given twice the last value counts, as in Go's maps.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().rev().find(|(other, _)| **other == *key).map(|(_, value)| &**value)
    }

    /// The entries in the core's order.
    pub fn labels(&self) -> Labels {
        self.0.iter().map(|(key, value)| (key.into(), value.into())).collect()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for TextMap<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_option(EntriesVisitor(PhantomData)).map(Self)
    }
}

/// A map, entry by entry.
pub(crate) struct EntriesVisitor<V>(pub(crate) PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for EntriesVisitor<V> {
    type Value = Vec<(Text<'de>, V)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(entries)
    }

    or_null!(deserialize_map, 'de);
}

/// How much of an object is read.
pub trait Extent: Default {
    /// The type of a field that only some readers need.
    type Field<T: Default>: Default;

    /// Decodes or skips such a field.
    ///
    /// # Errors
    /// If it is decoded and has another form.
    fn read<'de, T: Default + Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Self::Field<T>, D::Error>;
}

/// What every reader needs.
#[derive(Clone, Debug, Default)]
pub struct Essential;

impl Extent for Essential {
    type Field<T: Default> = ();

    fn read<'de, T: Default + Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<(), D::Error> {
        IgnoredAny::deserialize(deserializer).map(drop)
    }
}

/// Everything that any reader needs.
#[derive(Clone, Debug, Default)]
pub struct Whole;

impl Extent for Whole {
    type Field<T: Default> = T;

    fn read<'de, T: Default + Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        T::deserialize(deserializer)
    }
}

/// A field that is skipped unless the object is decoded as a whole.
pub struct IfWhole<E: Extent, T: Default>(pub E::Field<T>);

impl<E: Extent, T: Default> Default for IfWhole<E, T> {
    fn default() -> Self {
        Self(E::Field::default())
    }
}

impl<T: Default> Deref for IfWhole<Whole, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<'de, E: Extent, T: Default + Deserialize<'de>> Deserialize<'de> for IfWhole<E, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        E::read::<T, D>(deserializer).map(Self)
    }
}
