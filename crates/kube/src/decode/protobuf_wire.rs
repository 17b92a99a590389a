//! Reads the fields of one protobuf message without copying, each bounds-checked.

use super::DecodeError;

/// One field's value by wire type.
#[derive(Clone, Copy, Debug)]
pub(super) enum WireValue<'a> {
    /// An integer or a bool.
    Varint(u64),
    /// A string, bytes or a message.
    Bytes(&'a [u8]),
    /// Four or eight bytes; no field of interest has this type.
    Fixed,
}

impl<'a> WireValue<'a> {
    pub(super) fn bytes(self) -> Result<&'a [u8], DecodeError> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Varint(_) | Self::Fixed => {
                Err(DecodeError::new("a number where text or a message was expected"))
            }
        }
    }

    pub(super) fn text(self) -> Result<&'a str, DecodeError> {
        std::str::from_utf8(self.bytes()?).map_err(|_| DecodeError::new("not UTF-8"))
    }

    pub(super) fn integer(self) -> Result<i64, DecodeError> {
        match self {
            Self::Varint(bits) => Ok(bits.cast_signed()),
            Self::Bytes(_) | Self::Fixed => Err(DecodeError::new("not an integer of variable length")),
        }
    }

    /// A 32-bit integer; bits beyond are cut off, as every protobuf reader does.
    pub(super) fn integer32(self) -> Result<i32, DecodeError> {
        self.integer().map(|wide| wide as i32)
    }

    pub(super) fn flag(self) -> Result<bool, DecodeError> {
        self.integer().map(|bits| bits != 0)
    }
}

/// Where a field starts: its number, and what follows.
#[derive(Clone, Copy, Debug)]
pub(super) enum FieldHeader {
    /// The value itself was in the head.
    Varint(u64),
    /// So many bytes follow.
    Length(u64),
    /// So many bytes follow, of no interest.
    Fixed(u64),
}

/// Reads the head of a field: number, head, and its length in bytes. `None` if more bytes are needed.
pub(super) fn head(bytes: &[u8]) -> Result<Option<(u32, FieldHeader, usize)>, DecodeError> {
    let Some((tag, tag_len)) = varint(bytes)? else { return Ok(None) };
    let number = u32::try_from(tag >> 3).ok().filter(|&number| number != 0);
    let number = number.ok_or_else(|| DecodeError::new("an impossible field number"))?;
    let rest = &bytes[tag_len..];
    match tag & 7 {
        0 => Ok(varint(rest)?.map(|(value, len)| (number, FieldHeader::Varint(value), tag_len + len))),
        1 => Ok(Some((number, FieldHeader::Fixed(8), tag_len))),
        2 => Ok(varint(rest)?.map(|(value, len)| (number, FieldHeader::Length(value), tag_len + len))),
        5 => Ok(Some((number, FieldHeader::Fixed(4), tag_len))),
        _ => Err(DecodeError::new("an unknown wire type")),
    }
}

/// Reads a varint and says how long it was; `None` if it is cut off.
fn varint(bytes: &[u8]) -> Result<Option<(u64, usize)>, DecodeError> {
    let mut value = 0;
    for (at, &byte) in bytes.iter().take(10).enumerate() {
        let bits = u64::from(byte & 0x7f);
        if at == 9 && byte > 1 {
            break;
        }
        value |= bits << (7 * at);
        if byte < 0x80 {
            return Ok(Some((value, at + 1)));
        }
    }
    if bytes.len() < 10 { Ok(None) } else { Err(DecodeError::new("an integer longer than 64 bits")) }
}

/// The fields of one message, in the order of the bytes.
pub(super) struct ProtobufFields<'a>(&'a [u8]);

impl<'a> ProtobufFields<'a> {
    pub(super) fn of(message: &'a [u8]) -> Self {
        Self(message)
    }

    fn take(&mut self) -> Result<(u32, WireValue<'a>), DecodeError> {
        let cut_off = || DecodeError::new("cut off");
        let (number, head, len) = head(self.0)?.ok_or_else(cut_off)?;
        let rest = &self.0[len..];
        let (value, used) = match head {
            FieldHeader::Varint(value) => (WireValue::Varint(value), 0),
            FieldHeader::Length(length) | FieldHeader::Fixed(length) => {
                let length = usize::try_from(length).ok().filter(|&length| length <= rest.len());
                let length = length.ok_or_else(cut_off)?;
                match head {
                    FieldHeader::Length(_) => (WireValue::Bytes(&rest[..length]), length),
                    FieldHeader::Fixed(_) | FieldHeader::Varint(_) => (WireValue::Fixed, length),
                }
            }
        };
        self.0 = &rest[used..];
        Ok((number, value))
    }
}

impl<'a> Iterator for ProtobufFields<'a> {
    type Item = Result<(u32, WireValue<'a>), DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.take();
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_end_where_64_bits_end() {
        assert_eq!(varint(&[0x96, 0x01, 9]).unwrap(), Some((150, 2)));
        let mut longest = [0xff; 10];
        longest[9] = 1;
        assert_eq!(varint(&longest).unwrap(), Some((u64::MAX, 10)));
        longest[9] = 2;
        assert!(varint(&longest).is_err());
        assert!(varint(&[0x80; 11]).is_err());
        assert_eq!(varint(&[0x80; 9]).unwrap(), None);
        assert_eq!(varint(&[]).unwrap(), None);
    }

    #[test]
    fn a_length_beyond_the_end_is_a_fault_and_ends_the_walk() {
        let mut fields = ProtobufFields::of(&[0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f, 1, 2]);
        assert!(fields.next().is_some_and(|field| field.is_err()));
        assert!(fields.next().is_none());
    }

    #[test]
    fn groups_and_field_zero_are_refused() {
        assert!(head(&[0x0b]).is_err());
        assert!(head(&[0x0c]).is_err());
        assert!(head(&[0x00, 0x01]).is_err());
        assert!(head(&[0x0f]).is_err());
    }
}
