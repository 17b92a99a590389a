//! Reads objects from JSON or YAML text: single objects, Lists, several documents.
//!
//! - Invariant: memory holds one object besides the text; size, depth and aliases are limited.

use crate::canonicalize::{BoundedValue, DecodeBudget, documents, read_long_yaml, whole_numbers};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;

/// Larger files are rejected: the server is for thousands of pods.
pub const BYTES_MAX: usize = 512 << 20;

/// Text that begins like JSON but is not JSON is tried as YAML up to this size: people write such lines, programs do
/// not.
const BY_HAND_MAX: usize = 1 << 20;

/// How much of a parser's message is repeated.
const REASON_MAX: usize = 300;

/// Why a text cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileReadError {
    /// The file is compressed.
    #[error("it is compressed; unpack it first, as with gunzip")]
    Compressed,
    /// Not UTF-8, or with bytes that do not occur in text.
    #[error("it is not text: byte {at} is {byte:#04x}; expected JSON or YAML")]
    Binary {
        /// Counted from 0.
        at: usize,
        /// The byte.
        byte: u8,
    },
    /// Neither JSON nor YAML, or cut off.
    #[error(
        "the document that begins in line {line} is neither JSON nor YAML (lines count from there): {why}; \
         correct it"
    )]
    Syntax {
        /// The document's first line.
        line: usize,
        /// The parser's message.
        why: String,
    },
    /// Neither a list nor an object.
    #[error(
        "it holds no Kubernetes objects: expected what `kubectl get ... -o yaml` prints, a List with items or an \
         object with apiVersion and kind"
    )]
    NoObjects,
    /// Larger than [`BYTES_MAX`].
    #[error("it is larger than {} MB, the most that is read; leave out what you do not need", BYTES_MAX >> 20)]
    TooLong,
}

/// The position of an object: `document 2 (line 14), item 3`, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentPosition {
    document: usize,
    line: usize,
    item: Option<usize>,
}

impl fmt::Display for DocumentPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "document {} (line {})", self.document, self.line)?;
        self.item.map_or(Ok(()), |item| write!(f, ", item {item}"))
    }
}

/// Passes each object of a text to `on_document`. Objects before a fault have been passed on already when it is found.
///
/// # Errors
/// [`FileReadError`].
pub fn each(text: &[u8], mut on_document: impl FnMut(DocumentPosition, Value)) -> Result<(), FileReadError> {
    check_text(text)?;
    let mut any = false;
    for (index, (line, document)) in documents(text).enumerate() {
        any |= one(DocumentPosition { document: index + 1, line, item: None }, document, &mut on_document)?;
    }
    if any { Ok(()) } else { Err(FileReadError::NoObjects) }
}

fn check_text(text: &[u8]) -> Result<(), FileReadError> {
    if text.len() > BYTES_MAX {
        return Err(FileReadError::TooLong);
    }
    if text.starts_with(&[0x1f, 0x8b])
        || text.starts_with(&[0x28, 0xb5, 0x2f, 0xfd])
        || text.starts_with(b"PK\x03")
    {
        return Err(FileReadError::Compressed);
    }
    let control = |byte: &u8| *byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c);
    let valid = std::str::from_utf8(text).map_or_else(|why| why.valid_up_to(), str::len);
    let wrong = text[..valid].iter().position(control).or((valid < text.len()).then_some(valid));
    wrong.map_or(Ok(()), |at| Err(FileReadError::Binary { at, byte: text[at] }))
}

/// Reads one document. Returns whether it had any content.
fn one(
    place: DocumentPosition,
    text: &[u8],
    on_document: &mut dyn FnMut(DocumentPosition, Value),
) -> Result<bool, FileReadError> {
    let failed = |why: String| FileReadError::Syntax { line: place.line, why: sentence(&why) };
    let mut document = DocumentReader { place, on_document, list: String::new(), version: String::new() };
    let json = text.trim_ascii_start().starts_with(b"{");
    let found = match serde_json::from_slice::<IgnoredAny>(text) {
        Ok(_) => {
            let mut json = serde_json::Deserializer::from_slice(text);
            document.deserialize(&mut json).map_err(|why| failed(why.to_string()))?
        }
        Err(why) if json && text.len() > BY_HAND_MAX => return Err(failed(why.to_string())),
        Err(why) => read_long_yaml(text, &mut document)
            .map_err(|other| failed(if json { why.to_string() } else { other.to_string() }))?,
    };
    if found == DocumentContent::Other {
        Err(FileReadError::NoObjects)
    } else {
        Ok(found == DocumentContent::Objects)
    }
}

/// A parser's message, shortened to one line.
fn sentence(words: &str) -> String {
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(REASON_MAX) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DocumentContent {
    Objects,
    Nothing,
    Other,
}

/// Deserializes a document: the items of a list one by one, or one object.
struct DocumentReader<'t> {
    place: DocumentPosition,
    on_document: &'t mut dyn FnMut(DocumentPosition, Value),
    /// The kind of a list's items, if the list names it before them and the items do not.
    list: String,
    version: String,
}

impl DocumentReader<'_> {
    fn item(&mut self, index: usize, mut item: Value) {
        whole_numbers(&mut item);
        if let (Some(kind), Some(object)) = (self.list.strip_suffix("List"), item.as_object_mut())
            && !kind.is_empty()
        {
            object.entry("kind").or_insert_with(|| kind.into());
            object.entry("apiVersion").or_insert_with(|| self.version.as_str().into());
        }
        (self.on_document)(DocumentPosition { item: Some(index), ..self.place }, item);
    }
}

impl<'de> DeserializeSeed<'de> for &mut DocumentReader<'_> {
    type Value = DocumentContent;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<DocumentContent, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut DocumentReader<'_> {
    type Value = DocumentContent;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a Kubernetes object or a List")
    }

    fn visit_unit<E: Error>(self) -> Result<DocumentContent, E> {
        Ok(DocumentContent::Nothing)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<DocumentContent, E> {
        Ok(DocumentContent::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<DocumentContent, A::Error> {
        let room = DecodeBudget::of(DecodeBudget::OBJECT);
        let (mut rest, mut listed) = (Map::new(), false);
        while let Some(key) = entries.next_key::<String>()? {
            if key == "items" {
                listed = true;
                entries.next_value_seed(ItemsVisitor(&mut *self))?;
                continue;
            }
            let value = entries.next_value_seed(BoundedValue(&room))?;
            match (key.as_str(), value.as_str()) {
                ("kind", Some(kind)) => self.list = kind.to_owned(),
                ("apiVersion", Some(version)) => self.version = version.to_owned(),
                _ => {}
            }
            rest.insert(key, value);
        }
        if listed {
            return Ok(DocumentContent::Objects);
        }
        if !rest.get("kind").is_some_and(Value::is_string) {
            return Ok(DocumentContent::Other);
        }
        let mut object = Value::Object(rest);
        whole_numbers(&mut object);
        (self.on_document)(self.place, object);
        Ok(DocumentContent::Objects)
    }
}

struct ItemsVisitor<'d, 't>(&'d mut DocumentReader<'t>);

impl<'de> DeserializeSeed<'de> for ItemsVisitor<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ItemsVisitor<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of objects as items")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        for index in 1.. {
            let room = DecodeBudget::of(DecodeBudget::OBJECT);
            match items.next_element_seed(BoundedValue(&room))? {
                Some(item) => self.0.item(index, item),
                None => break,
            }
        }
        Ok(())
    }
}
