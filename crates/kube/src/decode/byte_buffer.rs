//! Buffers received bytes until they are consumed.
//!
//! - Invariant: it holds at most one incomplete piece and the last chunk, and releases the memory of a huge piece.

/// An empty buffer larger than this is freed.
const KEPT: usize = 256 << 10;

/// The buffer.
#[derive(Default)]
pub(super) struct ByteBuffer {
    bytes: Vec<u8>,
    used: usize,
}

impl ByteBuffer {
    pub(super) fn push(&mut self, chunk: &[u8]) {
        if self.used == self.bytes.len() {
            self.bytes.clear();
            if self.bytes.capacity() > KEPT {
                self.bytes = Vec::new();
            }
        } else {
            self.bytes.drain(..self.used);
        }
        self.used = 0;
        self.bytes.extend_from_slice(chunk);
    }

    /// The unconsumed bytes.
    pub(super) fn rest(&self) -> &[u8] {
        &self.bytes[self.used..]
    }

    /// Consumes the first `length` unconsumed bytes, and returns them.
    pub(super) fn take(&mut self, length: usize) -> &[u8] {
        let start = self.used;
        self.used = (start + length).min(self.bytes.len());
        &self.bytes[start..self.used]
    }
}
