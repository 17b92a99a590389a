//! Splits the body of a list into items while it arrives; memory holds one item.

use super::byte_buffer::ByteBuffer;
use super::{DecodeError, Encoding};
use crate::error_text::sanitize;
use json_items::JsonItems;
use protobuf_items::ProtobufItems;

mod json_items;
mod protobuf_items;

pub(crate) use super::format::ListHead;

/// One piece of a list.
pub(crate) enum ListPiece<'a> {
    /// The bytes of one object.
    Item(&'a [u8]),
    /// The list's metadata.
    Head(ListHead),
}

/// The splitter.
pub(crate) struct ListBody {
    received: ReceivedList,
    items: ItemSplitter,
}

enum ItemSplitter {
    Protobuf(ProtobufItems),
    Json(JsonItems),
}

/// The received part of a list, and its limits.
struct ReceivedList {
    kind: &'static str,
    limit: usize,
    buffer: ByteBuffer,
}

/// Finds the pieces of a list in one encoding.
trait SplitItems {
    /// Returns the next complete piece, if it has arrived.
    fn next<'r>(&mut self, received: &'r mut ReceivedList) -> Result<Option<ListPiece<'r>>, DecodeError>;

    /// Whether the list is complete if nothing more arrives.
    fn is_whole(&self, received: &ReceivedList) -> bool;
}

impl ListBody {
    /// A splitter for a list of `kind`s, none longer than `limit` bytes.
    pub(crate) fn new(encoding: Encoding, kind: &'static str, limit: usize) -> Self {
        let items = match encoding {
            Encoding::Protobuf => ItemSplitter::Protobuf(ProtobufItems::default()),
            Encoding::Json => ItemSplitter::Json(JsonItems::default()),
        };
        Self { received: ReceivedList { kind, limit, buffer: ByteBuffer::default() }, items }
    }

    pub(crate) fn push(&mut self, chunk: &[u8]) {
        self.received.buffer.push(chunk);
    }

    /// Returns the next complete piece, if it has arrived. After an error the body cannot be used any more.
    pub(crate) fn next(&mut self) -> Result<Option<ListPiece<'_>>, DecodeError> {
        match &mut self.items {
            ItemSplitter::Protobuf(items) => items.next(&mut self.received),
            ItemSplitter::Json(items) => items.next(&mut self.received),
        }
    }

    /// Checks that the body was complete, once it has ended.
    pub(crate) fn finish(&self) -> Result<(), DecodeError> {
        let whole = match &self.items {
            ItemSplitter::Protobuf(items) => items.is_whole(&self.received),
            ItemSplitter::Json(items) => items.is_whole(&self.received),
        };
        if whole { Ok(()) } else { Err(DecodeError::new("the list was cut off")) }
    }
}

impl ReceivedList {
    /// An error for a list of another kind.
    fn check_kind(&self, found: &str) -> Result<(), DecodeError> {
        let kind = self.kind;
        match found.strip_suffix("List") {
            Some(items) if items == kind => Ok(()),
            _ => Err(DecodeError::new(format!("a {} where a {kind}List was expected", sanitize(found, 64)))),
        }
    }

    fn too_long(&self) -> DecodeError {
        DecodeError::new(format!("a list item longer than {} bytes", self.limit))
    }
}
