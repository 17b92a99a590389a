//! Reads varints, fixed numbers and length-delimited fields from bytes.

use super::plan::{BYTES, FIXED32, FIXED64, GROUP, GROUP_END, VARINT};
use super::{MAX_DEPTH, ProtobufError};

/// What is left to read.
pub(super) struct WireCursor<'a>(pub(super) &'a [u8]);

impl<'a> WireCursor<'a> {
    /// The number and the wire type of the next field; `None` at the end.
    pub(super) fn tag(&mut self) -> Result<Option<(u32, u8)>, ProtobufError> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        match u32::try_from(tag >> 3) {
            Ok(number) if number != 0 => Ok(Some((number, (tag & 7) as u8))),
            _ => Err(ProtobufError::BadTag(tag)),
        }
    }

    pub(super) fn varint(&mut self) -> Result<u64, ProtobufError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first().ok_or(ProtobufError::Truncated)?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(ProtobufError::Overflow)
    }

    /// Eight bytes, the lowest first.
    pub(super) fn fixed64(&mut self) -> Result<u64, ProtobufError> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or(ProtobufError::Truncated)?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*bytes))
    }

    /// A length, and that many bytes.
    pub(super) fn piece(&mut self) -> Result<&'a [u8], ProtobufError> {
        let length = usize::try_from(self.varint()?).map_err(|_| ProtobufError::Truncated)?;
        let (piece, rest) = self.0.split_at_checked(length).ok_or(ProtobufError::Truncated)?;
        self.0 = rest;
        Ok(piece)
    }

    /// Steps over a field of this wire type, groups and all.
    pub(super) fn skip(&mut self, number: u32, wire: u8) -> Result<(), ProtobufError> {
        let mut open = 0;
        let mut wire = wire;
        loop {
            match wire {
                VARINT => drop(self.varint()?),
                FIXED64 => drop(self.fixed64()?),
                BYTES => drop(self.piece()?),
                FIXED32 => self.0 = self.0.get(4..).ok_or(ProtobufError::Truncated)?,
                GROUP if open == MAX_DEPTH => return Err(ProtobufError::TooDeep),
                GROUP => open += 1,
                GROUP_END if open > 0 => open -= 1,
                _ => return Err(ProtobufError::BadTag(u64::from(number) << 3 | u64::from(wire))),
            }
            if open == 0 {
                return Ok(());
            }
            wire = self.tag()?.ok_or(ProtobufError::Truncated)?.1;
        }
    }
}
