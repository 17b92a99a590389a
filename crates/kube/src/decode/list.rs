//! Splits the body of a list into items while it arrives; memory holds one item.

use super::{DecodeError, Encoding};
use crate::error_text::sanitize;

mod json_items;
mod protobuf_items;

/// What the head of a list says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ListHead {
    /// The version the whole list stands for.
    pub(crate) version: String,
    /// Where the list goes on; empty on the last page.
    pub(crate) onward: String,
}

/// One piece of a list.
pub(crate) enum ListPiece<'a> {
    /// The bytes of one object.
    Item(&'a [u8]),
    /// The list's head.
    Head(ListHead),
}

/// The splitter.
pub(crate) enum ListBody {
    Protobuf(protobuf_items::ProtobufItems),
    Json(json_items::JsonItems),
}

impl ListBody {
    /// A splitter for a list of `kind`s, none longer than `limit` bytes.
    pub(crate) fn new(encoding: Encoding, kind: &'static str, limit: usize) -> Self {
        match encoding {
            Encoding::Protobuf => Self::Protobuf(protobuf_items::ProtobufItems::new(kind, limit)),
            Encoding::Json => Self::Json(json_items::JsonItems::new(kind, limit)),
        }
    }

    pub(crate) fn push(&mut self, chunk: &[u8]) {
        match self {
            Self::Protobuf(peel) => peel.push(chunk),
            Self::Json(braces) => braces.push(chunk),
        }
    }

    /// The next whole piece, if it has arrived. After a fault the body is of no more use.
    pub(crate) fn next(&mut self) -> Result<Option<ListPiece<'_>>, DecodeError> {
        match self {
            Self::Protobuf(peel) => peel.next(),
            Self::Json(braces) => braces.next(),
        }
    }

    /// Says whether the body was whole, once it has ended.
    pub(crate) fn finish(&self) -> Result<(), DecodeError> {
        let whole = match self {
            Self::Protobuf(peel) => peel.is_whole(),
            Self::Json(braces) => braces.is_whole(),
        };
        if whole { Ok(()) } else { Err(DecodeError::new("the list was cut off")) }
    }
}

/// A fault for a list of something else.
fn check_kind(found: &str, kind: &str) -> Result<(), DecodeError> {
    match found.strip_suffix("List") {
        Some(items) if items == kind => Ok(()),
        _ => Err(DecodeError::new(format!("a {} where a {kind}List was expected", sanitize(found, 64)))),
    }
}

fn too_long(limit: usize) -> DecodeError {
    DecodeError::new(format!("a list item longer than {limit} bytes"))
}

/// How many pieces these chunks hold before the end or the first fault.
pub(super) fn count(encoding: Encoding, limit: usize, chunks: &[&[u8]]) -> usize {
    let mut body = ListBody::new(encoding, "Pod", limit);
    let mut count = 0;
    for chunk in chunks {
        body.push(chunk);
        while let Ok(Some(_)) = body.next() {
            count += 1;
        }
    }
    count + usize::from(body.finish().is_ok())
}
