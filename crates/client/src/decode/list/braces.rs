//! # Braces: items of a JSON list, one by one
//! Room:     the outermost object and its `items`; each value is found by its brackets and quotes alone.
//! Comes in: chunks.
//! Goes out: [`Piece`]s.
//! Not here: whether a value is good JSON: whoever reads it says so.

use super::{ListHead, Piece, check_kind, too_long};
use crate::decode::held::Held;
use crate::decode::{Fault, json};

/// What the next byte belongs to.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Start,
    Key,
    Colon,
    Value,
    Items,
    End,
}

/// Members of the list that matter.
#[derive(Clone, Copy, PartialEq)]
enum Member {
    Kind,
    Head,
    Items,
    Other,
}

/// How far into a value the search for its end has come.
#[derive(Clone, Copy, Default)]
struct Search {
    at: usize,
    depth: usize,
    in_string: bool,
    escaped: bool,
}

pub(crate) struct Braces {
    kind: &'static str,
    limit: usize,
    held: Held,
    place: Place,
    member: Member,
    search: Search,
}

impl Braces {
    pub(super) fn new(kind: &'static str, limit: usize) -> Self {
        let (held, search) = (Held::default(), Search::default());
        Self { kind, limit, held, place: Place::Start, member: Member::Other, search }
    }

    pub(super) fn push(&mut self, chunk: &[u8]) {
        self.held.push(chunk);
    }

    pub(super) fn is_whole(&self) -> bool {
        self.place == Place::End
    }

    pub(super) fn next(&mut self) -> Result<Option<Piece<'_>>, Fault> {
        loop {
            let Some(byte) = self.next_byte() else { return Ok(None) };
            match (self.place, byte) {
                (Place::Start, b'{') => self.step(Place::Key),
                (Place::Key, b',') | (Place::Items, b',') => self.step(self.place),
                (Place::Key, b'}') => self.step(Place::End),
                (Place::Items, b']') => self.step(Place::Key),
                (Place::Colon, b':') => self.step(Place::Value),
                (Place::Value, b'[') if self.member == Member::Items => self.step(Place::Items),
                (Place::Key, b'"') => {
                    let Some(length) = self.value()? else { return Ok(None) };
                    self.member = member(self.held.take(length))?;
                    self.place = Place::Colon;
                }
                (Place::Value, _) => {
                    let Some(length) = self.value()? else { return Ok(None) };
                    self.place = Place::Key;
                    let (member, kind) = (self.member, self.kind);
                    let value = self.held.take(length);
                    match member {
                        Member::Kind => check_kind(&json::string(value)?, kind)?,
                        Member::Head => {
                            let (version, onward) = json::list_meta(value)?;
                            return Ok(Some(Piece::Head(ListHead { version, onward })));
                        }
                        Member::Items if value != b"null" => return Err(Fault::new("not a list").at("items")),
                        Member::Items | Member::Other => {}
                    }
                }
                (Place::Items, _) => {
                    let Some(length) = self.value()? else { return Ok(None) };
                    return Ok(Some(Piece::Item(self.held.take(length))));
                }
                (Place::Start | Place::Key | Place::Colon | Place::End, _) => {
                    return Err(Fault::new("not a JSON list"));
                }
            }
        }
    }

    /// The first byte that is no white space; the search within a value has none to skip.
    fn next_byte(&mut self) -> Option<u8> {
        let blank = self.held.rest().iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.held.take(blank);
        self.held.rest().first().copied()
    }

    fn step(&mut self, place: Place) {
        self.held.take(1);
        self.place = place;
    }

    /// The length of the value the rest begins with, if all of it has arrived.
    fn value(&mut self) -> Result<Option<usize>, Fault> {
        let rest = self.held.rest();
        let end = self.search.end(rest);
        if end.unwrap_or(rest.len()) > self.limit {
            return Err(too_long(self.limit));
        }
        if let Some(end) = end {
            self.search = Search::default();
            if end == 0 {
                return Err(Fault::new("a value is missing"));
            }
        }
        Ok(end)
    }
}

impl Search {
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

fn member(key: &[u8]) -> Result<Member, Fault> {
    Ok(match json::string(key)?.as_str() {
        "kind" => Member::Kind,
        "metadata" => Member::Head,
        "items" => Member::Items,
        _ => Member::Other,
    })
}
