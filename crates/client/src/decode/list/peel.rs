//! # Peel: items of a protobuf list, one by one
//! Room:     magic, `runtime.Unknown`, and in its `raw` the list's fields: head 1, items 2.
//! Comes in: chunks. A length that is claimed is believed only as far as bytes arrive.
//! Goes out: [`Piece`]s.
//! Not here: the items' content.

use super::{ListHead, Piece, check_kind, too_long};
use crate::decode::Fault;
use crate::decode::held::Held;
use crate::decode::protobuf::{self, MAGIC};
use crate::decode::wire::{self, Head};

/// Where the next byte stands.
#[derive(Clone, Copy)]
enum Place {
    Magic,
    /// Among the fields of `Unknown`.
    Outside,
    /// Among the list's fields, with so many bytes left.
    Inside(u64),
}

pub(crate) struct Peel {
    kind: &'static str,
    limit: usize,
    held: Held,
    place: Place,
    /// Bytes of a field of no interest that are still to come.
    skip: u64,
    seen_list: bool,
}

impl Peel {
    pub(super) fn new(kind: &'static str, limit: usize) -> Self {
        Self { kind, limit, held: Held::default(), place: Place::Magic, skip: 0, seen_list: false }
    }

    pub(super) fn push(&mut self, chunk: &[u8]) {
        self.held.push(chunk);
    }

    pub(super) fn is_whole(&self) -> bool {
        matches!(self.place, Place::Outside)
            && self.skip == 0
            && self.held.rest().is_empty()
            && self.seen_list
    }

    pub(super) fn next(&mut self) -> Result<Option<Piece<'_>>, Fault> {
        loop {
            if self.skip > 0 {
                let skipped = self.skip.min(self.held.rest().len() as u64);
                self.held.take(skipped as usize);
                self.skip -= skipped;
                if self.skip > 0 {
                    return Ok(None);
                }
            }
            match self.place {
                Place::Magic => {
                    let Some(&magic) = self.held.rest().first_chunk() else { return Ok(None) };
                    if magic != MAGIC {
                        return Err(Fault::new("no Kubernetes protobuf"));
                    }
                    self.held.take(MAGIC.len());
                    self.place = Place::Outside;
                }
                Place::Inside(0) => self.place = Place::Outside,
                Place::Outside => {
                    if !self.outside()? {
                        return Ok(None);
                    }
                }
                Place::Inside(left) => match self.inside(left)? {
                    Step::Wait => return Ok(None),
                    Step::Onward => {}
                    Step::Head(head) => return Ok(Some(Piece::Head(head))),
                    Step::Item(length) => return Ok(Some(Piece::Item(self.held.take(length)))),
                },
            }
        }
    }

    /// One field of `Unknown`; false if more bytes are needed.
    fn outside(&mut self) -> Result<bool, Fault> {
        let Some((number, head, len)) = wire::head(self.held.rest())? else { return Ok(false) };
        match (number, head) {
            (2, Head::Length(length)) => {
                self.held.take(len);
                self.place = Place::Inside(length);
                self.seen_list = true;
            }
            (1, Head::Length(length)) => {
                let Some(whole) = self.whole(len, length)? else { return Ok(false) };
                check_kind(protobuf::kind(&self.held.take(whole)[len..])?, self.kind)?;
            }
            (_, Head::Length(length) | Head::Fixed(length)) => self.step_over(len, length),
            (_, Head::Varint(_)) => self.step_over(len, 0),
        }
        Ok(true)
    }

    /// One field of the list, of which `left` bytes are to come.
    fn inside(&mut self, left: u64) -> Result<Step, Fault> {
        let Some((number, head, len)) = wire::head(self.held.rest())? else {
            return Ok(Step::Wait);
        };
        let body = match head {
            Head::Length(length) | Head::Fixed(length) => length,
            Head::Varint(_) => 0,
        };
        let after = left.checked_sub(len as u64).and_then(|left| left.checked_sub(body));
        let after = Place::Inside(after.ok_or_else(|| Fault::new("a field reaches beyond the list"))?);
        let (1 | 2, Head::Length(length)) = (number, head) else {
            self.place = after;
            self.step_over(len, body);
            return Ok(Step::Onward);
        };
        let Some(whole) = self.whole(len, length)? else { return Ok(Step::Wait) };
        self.place = after;
        if number == 2 {
            self.held.take(len);
            return Ok(Step::Item(whole - len));
        }
        let (version, onward) = protobuf::list_meta(&self.held.take(whole)[len..])?;
        Ok(Step::Head(ListHead { version, onward }))
    }

    /// The length of a field with its head, if all of it has arrived.
    fn whole(&self, head: usize, length: u64) -> Result<Option<usize>, Fault> {
        let length = usize::try_from(length).ok().filter(|&length| length <= self.limit);
        let whole = head + length.ok_or_else(|| too_long(self.limit))?;
        Ok((self.held.rest().len() >= whole).then_some(whole))
    }

    fn step_over(&mut self, head: usize, length: u64) {
        self.held.take(head);
        self.skip = length;
    }
}

/// What one field of the list was.
enum Step {
    Wait,
    Onward,
    Head(ListHead),
    Item(usize),
}
