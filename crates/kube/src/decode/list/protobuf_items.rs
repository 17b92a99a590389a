//! Splits a protobuf list into items.
//!
//! - Invariant: a claimed length allocates nothing before the bytes arrive.

use super::{ListHead, ListPiece, check_kind, too_long};
use crate::decode::DecodeError;
use crate::decode::byte_buffer::ByteBuffer;
use crate::decode::protobuf::{self, MAGIC};
use crate::decode::protobuf_wire::{self, FieldHeader};

/// Where the next byte stands.
#[derive(Clone, Copy)]
enum ProtobufPosition {
    Magic,
    /// Among the fields of `Unknown`.
    Outside,
    /// Among the list's fields, with so many bytes left.
    Inside(u64),
}

pub(crate) struct ProtobufItems {
    kind: &'static str,
    limit: usize,
    buffer: ByteBuffer,
    position: ProtobufPosition,
    /// Bytes of a field of no interest that are still to come.
    skip: u64,
    seen_list: bool,
}

impl ProtobufItems {
    pub(super) fn new(kind: &'static str, limit: usize) -> Self {
        Self {
            kind,
            limit,
            buffer: ByteBuffer::default(),
            position: ProtobufPosition::Magic,
            skip: 0,
            seen_list: false,
        }
    }

    pub(super) fn push(&mut self, chunk: &[u8]) {
        self.buffer.push(chunk);
    }

    pub(super) fn is_whole(&self) -> bool {
        matches!(self.position, ProtobufPosition::Outside)
            && self.skip == 0
            && self.buffer.rest().is_empty()
            && self.seen_list
    }

    pub(super) fn next(&mut self) -> Result<Option<ListPiece<'_>>, DecodeError> {
        loop {
            if self.skip > 0 {
                let skipped = self.skip.min(self.buffer.rest().len() as u64);
                self.buffer.take(skipped as usize);
                self.skip -= skipped;
                if self.skip > 0 {
                    return Ok(None);
                }
            }
            match self.position {
                ProtobufPosition::Magic => {
                    let Some(&magic) = self.buffer.rest().first_chunk() else { return Ok(None) };
                    if magic != MAGIC {
                        return Err(DecodeError::new("no Kubernetes protobuf"));
                    }
                    self.buffer.take(MAGIC.len());
                    self.position = ProtobufPosition::Outside;
                }
                ProtobufPosition::Inside(0) => self.position = ProtobufPosition::Outside,
                ProtobufPosition::Outside => {
                    if !self.outside()? {
                        return Ok(None);
                    }
                }
                ProtobufPosition::Inside(left) => match self.inside(left)? {
                    ParseStep::Wait => return Ok(None),
                    ParseStep::Onward => {}
                    ParseStep::Head(head) => return Ok(Some(ListPiece::Head(head))),
                    ParseStep::Item(length) => return Ok(Some(ListPiece::Item(self.buffer.take(length)))),
                },
            }
        }
    }

    /// One field of `Unknown`; false if more bytes are needed.
    fn outside(&mut self) -> Result<bool, DecodeError> {
        let Some((number, head, len)) = protobuf_wire::head(self.buffer.rest())? else { return Ok(false) };
        match (number, head) {
            (2, FieldHeader::Length(length)) => {
                self.buffer.take(len);
                self.position = ProtobufPosition::Inside(length);
                self.seen_list = true;
            }
            (1, FieldHeader::Length(length)) => {
                let Some(whole) = self.whole(len, length)? else { return Ok(false) };
                check_kind(protobuf::kind(&self.buffer.take(whole)[len..])?, self.kind)?;
            }
            (_, FieldHeader::Length(length) | FieldHeader::Fixed(length)) => self.step_over(len, length),
            (_, FieldHeader::Varint(_)) => self.step_over(len, 0),
        }
        Ok(true)
    }

    /// One field of the list, of which `left` bytes are to come.
    fn inside(&mut self, left: u64) -> Result<ParseStep, DecodeError> {
        let Some((number, head, len)) = protobuf_wire::head(self.buffer.rest())? else {
            return Ok(ParseStep::Wait);
        };
        let body = match head {
            FieldHeader::Length(length) | FieldHeader::Fixed(length) => length,
            FieldHeader::Varint(_) => 0,
        };
        let after = left.checked_sub(len as u64).and_then(|left| left.checked_sub(body));
        let after = ProtobufPosition::Inside(
            after.ok_or_else(|| DecodeError::new("a field reaches beyond the list"))?,
        );
        let (1 | 2, FieldHeader::Length(length)) = (number, head) else {
            self.position = after;
            self.step_over(len, body);
            return Ok(ParseStep::Onward);
        };
        let Some(whole) = self.whole(len, length)? else { return Ok(ParseStep::Wait) };
        self.position = after;
        if number == 2 {
            self.buffer.take(len);
            return Ok(ParseStep::Item(whole - len));
        }
        let (version, onward) = protobuf::list_meta(&self.buffer.take(whole)[len..])?;
        Ok(ParseStep::Head(ListHead { version, onward }))
    }

    /// The length of a field with its head, if all of it has arrived.
    fn whole(&self, head: usize, length: u64) -> Result<Option<usize>, DecodeError> {
        let length = usize::try_from(length).ok().filter(|&length| length <= self.limit);
        let whole = head + length.ok_or_else(|| too_long(self.limit))?;
        Ok((self.buffer.rest().len() >= whole).then_some(whole))
    }

    fn step_over(&mut self, head: usize, length: u64) {
        self.buffer.take(head);
        self.skip = length;
    }
}

/// What one field of the list was.
enum ParseStep {
    Wait,
    Onward,
    Head(ListHead),
    Item(usize),
}
