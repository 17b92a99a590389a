//! Splits a JSON list into items by brackets and quotes alone.

use super::{ListHead, ListPiece, check_kind, too_long};
use crate::decode::byte_buffer::ByteBuffer;
use crate::decode::{DecodeError, json};

/// What the next byte belongs to.
#[derive(Clone, Copy, PartialEq)]
enum JsonPosition {
    Start,
    Key,
    Colon,
    Value,
    Items,
    End,
}

/// Members of the list that matter.
#[derive(Clone, Copy, PartialEq)]
enum ListMember {
    Kind,
    Head,
    Items,
    Other,
}

/// How far into a value the search for its end has come.
#[derive(Clone, Copy, Default)]
struct ItemScanner {
    at: usize,
    depth: usize,
    in_string: bool,
    escaped: bool,
}

pub(crate) struct JsonItems {
    kind: &'static str,
    limit: usize,
    buffer: ByteBuffer,
    position: JsonPosition,
    member: ListMember,
    search: ItemScanner,
}

impl JsonItems {
    pub(super) fn new(kind: &'static str, limit: usize) -> Self {
        let (buffer, search) = (ByteBuffer::default(), ItemScanner::default());
        Self { kind, limit, buffer, position: JsonPosition::Start, member: ListMember::Other, search }
    }

    pub(super) fn push(&mut self, chunk: &[u8]) {
        self.buffer.push(chunk);
    }

    pub(super) fn is_whole(&self) -> bool {
        self.position == JsonPosition::End
    }

    pub(super) fn next(&mut self) -> Result<Option<ListPiece<'_>>, DecodeError> {
        loop {
            let Some(byte) = self.next_byte() else { return Ok(None) };
            match (self.position, byte) {
                (JsonPosition::Start, b'{') => self.step(JsonPosition::Key),
                (JsonPosition::Key, b',') | (JsonPosition::Items, b',') => self.step(self.position),
                (JsonPosition::Key, b'}') => self.step(JsonPosition::End),
                (JsonPosition::Items, b']') => self.step(JsonPosition::Key),
                (JsonPosition::Colon, b':') => self.step(JsonPosition::Value),
                (JsonPosition::Value, b'[') if self.member == ListMember::Items => {
                    self.step(JsonPosition::Items)
                }
                (JsonPosition::Key, b'"') => {
                    let Some(length) = self.value()? else { return Ok(None) };
                    self.member = member(self.buffer.take(length))?;
                    self.position = JsonPosition::Colon;
                }
                (JsonPosition::Value, _) => {
                    let Some(length) = self.value()? else { return Ok(None) };
                    self.position = JsonPosition::Key;
                    let (member, kind) = (self.member, self.kind);
                    let value = self.buffer.take(length);
                    match member {
                        ListMember::Kind => check_kind(&json::string(value)?, kind)?,
                        ListMember::Head => {
                            let (version, onward) = json::list_meta(value)?;
                            return Ok(Some(ListPiece::Head(ListHead { version, onward })));
                        }
                        ListMember::Items if value != b"null" => {
                            return Err(DecodeError::new("not a list").at("items"));
                        }
                        ListMember::Items | ListMember::Other => {}
                    }
                }
                (JsonPosition::Items, _) => {
                    let Some(length) = self.value()? else { return Ok(None) };
                    return Ok(Some(ListPiece::Item(self.buffer.take(length))));
                }
                (JsonPosition::Start | JsonPosition::Key | JsonPosition::Colon | JsonPosition::End, _) => {
                    return Err(DecodeError::new("not a JSON list"));
                }
            }
        }
    }

    /// The first byte that is no white space; the search within a value has none to skip.
    fn next_byte(&mut self) -> Option<u8> {
        let blank = self.buffer.rest().iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.buffer.take(blank);
        self.buffer.rest().first().copied()
    }

    fn step(&mut self, position: JsonPosition) {
        self.buffer.take(1);
        self.position = position;
    }

    /// The length of the value the rest begins with, if all of it has arrived.
    fn value(&mut self) -> Result<Option<usize>, DecodeError> {
        let rest = self.buffer.rest();
        let end = self.search.end(rest);
        if end.unwrap_or(rest.len()) > self.limit {
            return Err(too_long(self.limit));
        }
        if let Some(end) = end {
            self.search = ItemScanner::default();
            if end == 0 {
                return Err(DecodeError::new("a value is missing"));
            }
        }
        Ok(end)
    }
}

impl ItemScanner {
    /// Where the value ends, searching on from where the last call stopped.
    fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        while let Some(&byte) = bytes.get(self.at) {
            let is_nested = self.depth > 0;
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' => {
                    self.in_string = !self.in_string;
                    if !self.in_string && !is_nested {
                        return Some(self.at + 1);
                    }
                }
                _ if self.in_string => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' if is_nested => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return Some(self.at + 1);
                    }
                }
                b',' | b'}' | b']' | b':' | b' ' | b'\n' | b'\r' | b'\t' if !is_nested => {
                    return Some(self.at);
                }
                _ => {}
            }
            self.at += 1;
        }
        None
    }
}

fn member(key: &[u8]) -> Result<ListMember, DecodeError> {
    Ok(match json::string(key)?.as_str() {
        "kind" => ListMember::Kind,
        "metadata" => ListMember::Head,
        "items" => ListMember::Items,
        _ => ListMember::Other,
    })
}
