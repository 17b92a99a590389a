//! Serializes a value with each of its texts replaced, whatever its type is.

use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

/// A value, and what replaces its texts.
pub(super) struct ReplacedText<'r, T: ?Sized> {
    value: &'r T,
    by: &'r dyn Fn(&str) -> String,
    /// It is a namespace and a name with a slash between them, which are replaced one by one.
    is_pod_name: bool,
}

impl<'r, T: ?Sized> ReplacedText<'r, T> {
    pub(super) const fn new(value: &'r T, by: &'r dyn Fn(&str) -> String) -> Self {
        Self { value, by, is_pod_name: false }
    }
}

impl<T: Serialize + ?Sized> Serialize for ReplacedText<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { value, by, is_pod_name } = *self;
        value.serialize(TextReplacer { inner: serializer, by, is_pod_name })
    }
}

/// A serializer, or a part of one, that gets replaced texts.
struct TextReplacer<'r, S> {
    inner: S,
    by: &'r dyn Fn(&str) -> String,
    is_pod_name: bool,
}

/// Methods that pass a value on.
macro_rules! pass_on {
    ($($method:ident: $type:ty),*) => {
        $(fn $method(self, value: $type) -> Result<S::Ok, S::Error> {
            self.inner.$method(value)
        })*
    };
}

/// Methods that begin a compound value.
macro_rules! begin {
    ($($method:ident($($argument:ident: $type:ty),*) -> $compound:ident;)*) => {
        $(fn $method(self, $($argument: $type),*) -> Result<Self::$compound, S::Error> {
            let Self { inner, by, .. } = self;
            Ok(TextReplacer { inner: inner.$method($($argument),*)?, by, is_pod_name: false })
        })*
    };
}

impl<'r, S: Serializer> Serializer for TextReplacer<'r, S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = TextReplacer<'r, S::SerializeSeq>;
    type SerializeTuple = TextReplacer<'r, S::SerializeTuple>;
    type SerializeTupleStruct = TextReplacer<'r, S::SerializeTupleStruct>;
    type SerializeTupleVariant = TextReplacer<'r, S::SerializeTupleVariant>;
    type SerializeMap = TextReplacer<'r, S::SerializeMap>;
    type SerializeStruct = TextReplacer<'r, S::SerializeStruct>;
    type SerializeStructVariant = TextReplacer<'r, S::SerializeStructVariant>;

    pass_on! {
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_i128: i128, serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64,
        serialize_u128: u128, serialize_f32: f32, serialize_f64: f64, serialize_char: char, serialize_bytes: &[u8],
        serialize_unit_struct: &'static str
    }

    begin! {
        serialize_seq(length: Option<usize>) -> SerializeSeq;
        serialize_tuple(length: usize) -> SerializeTuple;
        serialize_tuple_struct(name: &'static str, length: usize) -> SerializeTupleStruct;
        serialize_tuple_variant(name: &'static str, index: u32, variant: &'static str, length: usize) -> SerializeTupleVariant;
        serialize_map(length: Option<usize>) -> SerializeMap;
        serialize_struct(name: &'static str, length: usize) -> SerializeStruct;
        serialize_struct_variant(name: &'static str, index: u32, variant: &'static str, length: usize) -> SerializeStructVariant;
    }

    fn serialize_str(self, text: &str) -> Result<S::Ok, S::Error> {
        let replaced = match text.split_once('/').filter(|_| self.is_pod_name) {
            Some((namespace, name)) => format!("{}/{}", (self.by)(namespace), (self.by)(name)),
            None => (self.by)(text),
        };
        self.inner.serialize_str(&replaced)
    }

    fn serialize_none(self) -> Result<S::Ok, S::Error> {
        self.inner.serialize_none()
    }

    fn serialize_unit(self) -> Result<S::Ok, S::Error> {
        self.inner.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
    ) -> Result<S::Ok, S::Error> {
        self.inner.serialize_unit_variant(name, index, variant)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.inner.serialize_some(&ReplacedText::new(value, self.by))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        let is_pod_name = name == "PodName";
        self.inner.serialize_newtype_struct(name, &ReplacedText { value, by: self.by, is_pod_name })
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        self.inner.serialize_newtype_variant(name, index, variant, &ReplacedText::new(value, self.by))
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

/// A compound value whose elements have no names.
macro_rules! elements {
    ($($compound:ident: $($method:ident),*;)*) => {
        $(impl<S: $compound> $compound for TextReplacer<'_, S> {
            type Ok = S::Ok;
            type Error = S::Error;

            $(fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), S::Error> {
                self.inner.$method(&ReplacedText::new(value, self.by))
            })*

            fn end(self) -> Result<S::Ok, S::Error> {
                self.inner.end()
            }
        })*
    };
}

elements! {
    SerializeSeq: serialize_element;
    SerializeTuple: serialize_element;
    SerializeTupleStruct: serialize_field;
    SerializeTupleVariant: serialize_field;
    SerializeMap: serialize_key, serialize_value;
}

/// A compound value whose fields have names.
macro_rules! fields {
    ($($compound:ident),*) => {
        $(impl<S: $compound> $compound for TextReplacer<'_, S> {
            type Ok = S::Ok;
            type Error = S::Error;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), S::Error> {
                self.inner.serialize_field(name, &ReplacedText::new(value, self.by))
            }

            fn skip_field(&mut self, name: &'static str) -> Result<(), S::Error> {
                self.inner.skip_field(name)
            }

            fn end(self) -> Result<S::Ok, S::Error> {
                self.inner.end()
            }
        })*
    };
}

fields!(SerializeStruct, SerializeStructVariant);
