//! Writes frames as one record.

use crate::frame::Frame;
use crate::reader::RecordHeader;
use std::io::{self, Write};

/// A record that is being written.
pub struct FrameWriter<W> {
    sink: W,
}

impl<W: Write> FrameWriter<W> {
    /// Writes the header. `program`: its version.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn new(mut sink: W, program: &str) -> io::Result<Self> {
        sink.write_all(&RecordHeader::new(program).to_line())?;
        Ok(Self { sink })
    }

    /// Writes a frame.
    ///
    /// # Errors
    /// If it is too large for a record, or cannot be written.
    pub fn write(&mut self, frame: &Frame) -> io::Result<()> {
        let packed = frame.pack().ok_or_else(|| io::Error::other("an entry is too large for a record"))?;
        self.sink.write_all(&packed)
    }

    /// Returns the sink, flushed.
    ///
    /// # Errors
    /// If it cannot be flushed.
    pub fn finish(mut self) -> io::Result<W> {
        self.sink.flush()?;
        Ok(self.sink)
    }
}
