//! # Held: the bytes that have arrived and are not used yet
//! Room:     one growing buffer, used up from the front.
//! Comes in: chunks as the network cut them.
//! Goes out: what is left, as one slice.
//! Keeps:    at most one unfinished piece and the chunk that came last; memory of a huge piece is given back.
//! Not here: where a piece ends (`frames.rs`, `list.rs`), and how long one may get.

/// An empty buffer larger than this is given back.
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

    /// What is left.
    pub(super) fn rest(&self) -> &[u8] {
        &self.bytes[self.used..]
    }

    /// Uses up the first `length` bytes of the rest, and returns them.
    pub(super) fn take(&mut self, length: usize) -> &[u8] {
        let start = self.used;
        self.used = (start + length).min(self.bytes.len());
        &self.bytes[start..self.used]
    }
}
