//! Holds the types and fields of the Kubernetes API, as JSON, protobuf and patches need them.
//!
//! - Read from `schema/kubernetes.txt` (`cargo xtask schema`) and the custom resource definitions.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

/// A type's index in the [`Schema`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(u32);

impl TypeId {
    /// The index, from 0.
    pub fn place(self) -> usize {
        self.0 as usize
    }
}

/// The type of a field's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `true` and `false`.
    Bool,
    /// Whole numbers.
    Int32,
    /// Whole numbers.
    Int64,
    /// A number with a fraction.
    Float64,
    /// Strings, also those with a type of their own in Go.
    String,
    /// Bytes; base64 in JSON.
    Bytes,
    /// RFC 3339 to the second; `null` in JSON when not set.
    Time,
    /// RFC 3339 to the microsecond; `null` in JSON when not set.
    MicroTime,
    /// Quantities: `100m`, `1Gi`.
    Quantity,
    /// A number or a string.
    IntOrString,
    /// Any JSON.
    Raw,
    /// Any JSON: the fields that a manager owns.
    Fields,
    /// An object with fields.
    Object(TypeId),
    /// A list.
    List(Box<Self>),
    /// A map from strings to values.
    Map(Box<Self>),
}

/// When a field is omitted from JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Omit {
    /// Never; a zero value is written.
    Never,
    /// When it is `false`, 0, empty or not set; an object that is not behind a pointer is always written.
    Empty,
    /// As [`Self::Empty`], and an object when all of it is zero.
    Zero,
}

/// How a strategic merge patch treats a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergeStrategy {
    /// Elements (or keys) are merged; otherwise the list is replaced.
    pub merge: bool,
    /// The patch may name the keys to retain (`$retainKeys`).
    pub retain_keys: bool,
    /// The field that identifies an element; `None` for lists of scalars.
    pub key: Option<String>,
}

/// A field of a type.
#[derive(Clone, Debug)]
pub struct SchemaField {
    /// The number in protobuf; 0 if it has none.
    pub number: u32,
    /// The name in JSON.
    pub name: String,
    /// The type of the value.
    pub shape: Shape,
    /// In JSON its fields are part of the enclosing object; in protobuf it is a message of its own.
    pub inline: bool,
    /// Absent and zero are distinct.
    pub pointer: bool,
    /// When it is omitted.
    pub omit: Omit,
    /// How a strategic merge patch treats it.
    pub merge: MergeStrategy,
}

/// A type with fields.
#[derive(Clone, Debug, Default)]
pub struct SchemaType {
    /// The last two parts of the Go package, and the name: `core/v1.Pod`.
    pub name: String,
    /// In the order of declaration, which is the order in a real server's JSON.
    pub fields: Vec<SchemaField>,
    /// Indexes of the fields that are not inline, sorted by name.
    by_name: Vec<usize>,
}

impl SchemaType {
    /// The field with this JSON name, without those of inlined types.
    pub fn own(&self, name: &str) -> Option<&SchemaField> {
        self.own_place(name).map(|place| &self.fields[place])
    }

    /// The index of the field with this JSON name.
    pub fn own_place(&self, name: &str) -> Option<usize> {
        let found = self.by_name.binary_search_by(|place| self.fields[*place].name.as_str().cmp(name));
        found.ok().map(|found| self.by_name[found])
    }

    /// The inlined fields, with their types.
    pub fn inlined(&self) -> impl Iterator<Item = (&SchemaField, TypeId)> {
        self.fields.iter().filter(|field| field.inline).filter_map(|field| match field.shape {
            Shape::Object(inner) => Some((field, inner)),
            _ => None,
        })
    }
}

/// The schema of the API.
#[derive(Debug, Default)]
pub struct Schema {
    types: Vec<SchemaType>,
    by_name: HashMap<String, TypeId>,
    kinds: HashMap<(String, String), TypeId>,
}

/// Types of custom kinds, in the form of `kubernetes.txt`.
static CUSTOM: OnceLock<String> = OnceLock::new();

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    let text = [include_str!("schema/kubernetes.txt"), CUSTOM.get_or_init(String::new)].concat();
    Schema::read(&text).unwrap_or_else(|line| panic!("the schema: {line}"))
});

impl Schema {
    /// The schema of the release from which it was generated.
    pub fn get() -> &'static Self {
        &SCHEMA
    }

    /// Adds types of custom kinds; `false` if others were added before, or the schema has been read without them.
    pub(crate) fn add(types: &str) -> bool {
        CUSTOM.get_or_init(|| types.to_owned()) == types
    }

    /// The type of `apiVersion` (`v1`, `apps/v1`) and `kind`.
    pub fn kind(&self, api_version: &str, kind: &str) -> Option<TypeId> {
        self.kinds.get(&(api_version.to_owned(), kind.to_owned())).copied()
    }

    /// Every `apiVersion` and kind, with its type.
    pub fn kinds(&self) -> impl Iterator<Item = (&str, &str, TypeId)> {
        self.kinds.iter().map(|((api_version, kind), id)| (api_version.as_str(), kind.as_str(), *id))
    }

    /// Every type, in the order of their indexes.
    pub fn types(&self) -> impl Iterator<Item = TypeId> {
        (0..).map(TypeId).take(self.types.len())
    }

    /// A type by its name: `core/v1.Pod`.
    pub fn named(&self, name: &str) -> Option<TypeId> {
        self.by_name.get(name).copied()
    }

    /// A type.
    pub fn at(&self, id: TypeId) -> &SchemaType {
        &self.types[id.place()]
    }

    /// The field with this JSON name, including those of inlined types.
    pub fn field(&self, of: TypeId, name: &str) -> Option<&SchemaField> {
        let declared = self.at(of);
        declared.own(name).or_else(|| declared.inlined().find_map(|(_, inner)| self.field(inner, name)))
    }

    fn read(text: &str) -> Result<Self, String> {
        let mut schema = Self::default();
        let lines = || text.lines().filter(|line| !line.starts_with('#'));
        for name in lines().filter_map(|line| line.strip_prefix("type ")) {
            let id = TypeId(u32::try_from(schema.types.len()).map_err(|_| "too long".to_owned())?);
            schema.by_name.insert(name.to_owned(), id);
            schema.types.push(SchemaType { name: name.to_owned(), ..SchemaType::default() });
        }
        let mut at = None;
        for line in lines() {
            if let Some(name) = line.strip_prefix("type ") {
                at = schema.by_name.get(name).copied();
            } else if let Some(kind) = line.strip_prefix("kind ") {
                schema.read_kind(kind).ok_or_else(|| line.to_owned())?;
            } else {
                let field = schema.read_field(line).ok_or_else(|| line.to_owned())?;
                let id = at.ok_or_else(|| line.to_owned())?;
                schema.types[id.0 as usize].fields.push(field);
            }
        }
        for declared in &mut schema.types {
            let own = (0..declared.fields.len()).filter(|place| !declared.fields[*place].inline);
            declared.by_name = own.collect();
            declared.by_name.sort_by_key(|place| declared.fields[*place].name.as_str());
        }
        Ok(schema)
    }

    fn read_kind(&mut self, words: &str) -> Option<()> {
        let mut words = words.split(' ');
        let (version, kind, name) = (words.next()?, words.next()?, words.next()?);
        let version = version.strip_prefix('/').unwrap_or(version);
        self.kinds.insert((version.to_owned(), kind.to_owned()), self.named(name)?);
        Some(())
    }

    fn read_field(&self, line: &str) -> Option<SchemaField> {
        let mut words = line.trim_start().split(' ');
        let mut field = SchemaField {
            number: words.next()?.parse().ok()?,
            name: words.next()?.to_owned(),
            shape: self.read_shape(words.next()?)?,
            inline: false,
            pointer: false,
            omit: Omit::Never,
            merge: MergeStrategy::default(),
        };
        for flag in words {
            match flag {
                "inline" => field.inline = true,
                "pointer" => field.pointer = true,
                "omitempty" if field.omit == Omit::Never => field.omit = Omit::Empty,
                "omitempty" => {}
                "omitzero" => field.omit = Omit::Zero,
                _ => match flag.split_once('=')? {
                    ("strategy", how) => {
                        field.merge.merge = how.split(',').any(|how| how == "merge");
                        field.merge.retain_keys = how.split(',').any(|how| how == "retainKeys");
                    }
                    ("key", key) => field.merge.key = Some(key.to_owned()),
                    _ => return None,
                },
            }
        }
        Some(field)
    }

    fn read_shape(&self, word: &str) -> Option<Shape> {
        if let Some(rest) = word.strip_prefix("[]") {
            return Some(Shape::List(Box::new(self.read_shape(rest)?)));
        }
        if let Some(rest) = word.strip_prefix("{}") {
            return Some(Shape::Map(Box::new(self.read_shape(rest)?)));
        }
        Some(match word {
            "bool" => Shape::Bool,
            "int32" => Shape::Int32,
            "int64" => Shape::Int64,
            "float64" => Shape::Float64,
            "string" => Shape::String,
            "bytes" => Shape::Bytes,
            "Time" => Shape::Time,
            "MicroTime" => Shape::MicroTime,
            "Quantity" => Shape::Quantity,
            "IntOrString" => Shape::IntOrString,
            "RawExtension" => Shape::Raw,
            "FieldsV1" => Shape::Fields,
            name => Shape::Object(self.named(name)?),
        })
    }
}

#[cfg(test)]
mod tests;
