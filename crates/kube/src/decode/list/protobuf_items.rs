//! Splits a protobuf list into items.
//!
//! - Invariant: a claimed length allocates nothing before the bytes arrive.

use super::{ListHead, ListPiece, ReceivedList, SplitItems};
use crate::decode::DecodeError;
use crate::decode::format::{FieldHeader, MAGIC, ObjectFormat as _, Protobuf, head, kind};

/// The position of the next byte.
#[derive(Clone, Copy, Default)]
enum ProtobufPosition {
    #[default]
    Magic,
    /// Among the fields of `Unknown`.
    Outside,
    /// Among the list's fields, with this many bytes left.
    Inside(u64),
}

#[derive(Default)]
pub(super) struct ProtobufItems {
    position: ProtobufPosition,
    /// Bytes of an ignored field that are still to come.
    skip: u64,
    seen_list: bool,
}

impl SplitItems for ProtobufItems {
    fn next<'r>(&mut self, received: &'r mut ReceivedList) -> Result<Option<ListPiece<'r>>, DecodeError> {
        loop {
            if self.skip > 0 {
                let skipped = self.skip.min(received.buffer.rest().len() as u64);
                received.buffer.take(skipped as usize);
                self.skip -= skipped;
                if self.skip > 0 {
                    return Ok(None);
                }
            }
            match self.position {
                ProtobufPosition::Magic => {
                    let Some(&magic) = received.buffer.rest().first_chunk() else { return Ok(None) };
                    if magic != MAGIC {
                        return Err(DecodeError::new("no Kubernetes protobuf"));
                    }
                    received.buffer.take(MAGIC.len());
                    self.position = ProtobufPosition::Outside;
                }
                ProtobufPosition::Inside(0) => self.position = ProtobufPosition::Outside,
                ProtobufPosition::Outside => {
                    if !self.outside(received)? {
                        return Ok(None);
                    }
                }
                ProtobufPosition::Inside(left) => match self.inside(received, left)? {
                    ParseStep::Wait => return Ok(None),
                    ParseStep::Onward => {}
                    ParseStep::Head(head) => return Ok(Some(ListPiece::Head(head))),
                    ParseStep::Item(length) => {
                        return Ok(Some(ListPiece::Item(received.buffer.take(length))));
                    }
                },
            }
        }
    }

    fn is_whole(&self, received: &ReceivedList) -> bool {
        matches!(self.position, ProtobufPosition::Outside)
            && self.skip == 0
            && received.buffer.rest().is_empty()
            && self.seen_list
    }
}

impl ProtobufItems {
    /// One field of `Unknown`; false if more bytes are needed.
    fn outside(&mut self, received: &mut ReceivedList) -> Result<bool, DecodeError> {
        let Some((number, header, len)) = head(received.buffer.rest())? else { return Ok(false) };
        match (number, header) {
            (2, FieldHeader::Length(length)) => {
                received.buffer.take(len);
                self.position = ProtobufPosition::Inside(length);
                self.seen_list = true;
            }
            (1, FieldHeader::Length(length)) => {
                let Some(whole) = whole(received, len, length)? else { return Ok(false) };
                let found = kind(&received.buffer.take(whole)[len..])?.to_owned();
                received.check_kind(&found)?;
            }
            (_, FieldHeader::Length(length) | FieldHeader::Fixed(length)) => {
                self.step_over(received, len, length)
            }
            (_, FieldHeader::Varint(_)) => self.step_over(received, len, 0),
        }
        Ok(true)
    }

    /// Reads one field of the list, with `left` bytes to come.
    fn inside(&mut self, received: &mut ReceivedList, left: u64) -> Result<ParseStep, DecodeError> {
        let Some((number, header, len)) = head(received.buffer.rest())? else {
            return Ok(ParseStep::Wait);
        };
        let body = match header {
            FieldHeader::Length(length) | FieldHeader::Fixed(length) => length,
            FieldHeader::Varint(_) => 0,
        };
        let after = left.checked_sub(len as u64).and_then(|left| left.checked_sub(body));
        let after = ProtobufPosition::Inside(
            after.ok_or_else(|| DecodeError::new("a field reaches beyond the list"))?,
        );
        let (1 | 2, FieldHeader::Length(length)) = (number, header) else {
            self.position = after;
            self.step_over(received, len, body);
            return Ok(ParseStep::Onward);
        };
        let Some(whole) = whole(received, len, length)? else { return Ok(ParseStep::Wait) };
        self.position = after;
        if number == 2 {
            received.buffer.take(len);
            return Ok(ParseStep::Item(whole - len));
        }
        Protobuf::list_head(&received.buffer.take(whole)[len..]).map(ParseStep::Head)
    }

    fn step_over(&mut self, received: &mut ReceivedList, head: usize, length: u64) {
        received.buffer.take(head);
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

/// The length of a field with its head, if all of it has arrived.
fn whole(received: &ReceivedList, head: usize, length: u64) -> Result<Option<usize>, DecodeError> {
    let length = usize::try_from(length).ok().filter(|&length| length <= received.limit);
    let whole = head + length.ok_or_else(|| received.too_long())?;
    Ok((received.buffer.rest().len() >= whole).then_some(whole))
}
