//! Splits the bytes of a watch into events: length-prefixed protobuf frames or JSON lines, of bounded length (S12).

use super::byte_buffer::ByteBuffer;
use super::{DecodeError, Encoding};

/// Bytes of the length before a protobuf frame.
const PREFIX: usize = 4;

/// The splitter.
pub(crate) struct FrameDecoder {
    encoding: Encoding,
    limit: usize,
    buffer: ByteBuffer,
    /// How far the unconsumed bytes are known to contain no line end.
    searched: usize,
}

impl FrameDecoder {
    pub(crate) fn new(encoding: Encoding, limit: usize) -> Self {
        Self { encoding, limit, buffer: ByteBuffer::default(), searched: 0 }
    }

    pub(crate) fn push(&mut self, chunk: &[u8]) {
        self.buffer.push(chunk);
    }

    /// Returns the next complete event, if it has arrived. After an error the stream cannot be used any more.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>, DecodeError> {
        match self.encoding {
            Encoding::Protobuf => self.next_frame(),
            Encoding::Json => self.next_line(),
        }
    }

    fn next_frame(&mut self) -> Result<Option<&[u8]>, DecodeError> {
        let Some(&prefix) = self.buffer.rest().first_chunk::<PREFIX>() else { return Ok(None) };
        let length = usize::try_from(u32::from_be_bytes(prefix)).unwrap_or(usize::MAX);
        if length > self.limit {
            return Err(self.too_long());
        }
        if self.buffer.rest().len() < PREFIX + length {
            return Ok(None);
        }
        Ok(Some(&self.buffer.take(PREFIX + length)[PREFIX..]))
    }

    fn next_line(&mut self) -> Result<Option<&[u8]>, DecodeError> {
        loop {
            let rest = self.buffer.rest();
            let Some(end) = rest[self.searched..].iter().position(|&byte| byte == b'\n') else {
                self.searched = rest.len();
                return if rest.len() > self.limit { Err(self.too_long()) } else { Ok(None) };
            };
            let length = self.searched + end;
            self.searched = 0;
            if length > self.limit {
                return Err(self.too_long());
            }
            if rest[..length].trim_ascii().is_empty() {
                self.buffer.take(length + 1);
                continue;
            }
            return Ok(Some(&self.buffer.take(length + 1)[..length]));
        }
    }

    fn too_long(&self) -> DecodeError {
        DecodeError::new(format!("an event longer than {} bytes", self.limit))
    }
}
