//! Splits a JSON list into items by brackets and quotes alone.

use super::{ListPiece, ReceivedList, SplitItems};
use crate::decode::DecodeError;
use crate::decode::format::{Json, ObjectFormat as _};

/// What the next byte belongs to.
#[derive(Clone, Copy, Default, PartialEq)]
enum JsonPosition {
    #[default]
    Start,
    Key,
    Colon,
    Value,
    Items,
    End,
}

/// Members of the list that matter.
#[derive(Clone, Copy, Default, PartialEq)]
enum ListMember {
    Kind,
    Head,
    Items,
    #[default]
    Other,
}

/// The progress of the search for a value's end.
#[derive(Clone, Copy, Default)]
struct ItemScanner {
    at: usize,
    depth: usize,
    in_string: bool,
    escaped: bool,
}

#[derive(Default)]
pub(super) struct JsonItems {
    position: JsonPosition,
    member: ListMember,
    search: ItemScanner,
}

impl SplitItems for JsonItems {
    fn next<'r>(&mut self, received: &'r mut ReceivedList) -> Result<Option<ListPiece<'r>>, DecodeError> {
        loop {
            let Some(byte) = next_byte(received) else { return Ok(None) };
            match (self.position, byte) {
                (JsonPosition::Start, b'{') => self.step(received, JsonPosition::Key),
                (JsonPosition::Key, b',') | (JsonPosition::Items, b',') => self.step(received, self.position),
                (JsonPosition::Key, b'}') => self.step(received, JsonPosition::End),
                (JsonPosition::Items, b']') => self.step(received, JsonPosition::Key),
                (JsonPosition::Colon, b':') => self.step(received, JsonPosition::Value),
                (JsonPosition::Value, b'[') if self.member == ListMember::Items => {
                    self.step(received, JsonPosition::Items)
                }
                (JsonPosition::Key, b'"') => {
                    let Some(length) = self.value(received)? else { return Ok(None) };
                    self.member = member(received.buffer.take(length))?;
                    self.position = JsonPosition::Colon;
                }
                (JsonPosition::Value, _) => {
                    let Some(length) = self.value(received)? else { return Ok(None) };
                    self.position = JsonPosition::Key;
                    match self.member {
                        ListMember::Kind => {
                            let found = string(received.buffer.take(length))?;
                            received.check_kind(&found)?;
                        }
                        ListMember::Head => {
                            let head = Json::list_head(received.buffer.take(length))?;
                            return Ok(Some(ListPiece::Head(head)));
                        }
                        ListMember::Items if received.buffer.take(length) != b"null" => {
                            return Err(DecodeError::new("not a list").at("items"));
                        }
                        ListMember::Items => {}
                        ListMember::Other => _ = received.buffer.take(length),
                    }
                }
                (JsonPosition::Items, _) => {
                    let Some(length) = self.value(received)? else { return Ok(None) };
                    return Ok(Some(ListPiece::Item(received.buffer.take(length))));
                }
                (JsonPosition::Start | JsonPosition::Key | JsonPosition::Colon | JsonPosition::End, _) => {
                    return Err(DecodeError::new("not a JSON list"));
                }
            }
        }
    }

    fn is_whole(&self, _: &ReceivedList) -> bool {
        self.position == JsonPosition::End
    }
}

impl JsonItems {
    fn step(&mut self, received: &mut ReceivedList, position: JsonPosition) {
        received.buffer.take(1);
        self.position = position;
    }

    /// The length of the value at the beginning, if all of it has arrived.
    fn value(&mut self, received: &ReceivedList) -> Result<Option<usize>, DecodeError> {
        let rest = received.buffer.rest();
        let end = self.search.end(rest);
        if end.unwrap_or(rest.len()) > received.limit {
            return Err(received.too_long());
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
    /// The end of the value; continues where the last call stopped.
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
    Ok(match string(key)?.as_str() {
        "kind" => ListMember::Kind,
        "metadata" => ListMember::Head,
        "items" => ListMember::Items,
        _ => ListMember::Other,
    })
}

/// The first byte that is not white space; within a value nothing is skipped.
fn next_byte(received: &mut ReceivedList) -> Option<u8> {
    let blank = received.buffer.rest().iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    received.buffer.take(blank);
    received.buffer.rest().first().copied()
}

fn string(bytes: &[u8]) -> Result<String, DecodeError> {
    serde_json::from_slice(bytes).map_err(|_| DecodeError::new("not a string"))
}
