//! Reads the frames of a record, one at a time, so that a record may be larger than the memory.

use crate::error::RecordError;
use crate::frame::{Frame, FrameHead, HEAD, damaged};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, ErrorKind, Read as _};

/// The format of states and calls. It changes with each change of a recorded type: `tests/format.rs` compares a stored
/// record.
pub(crate) const FORMAT: u32 = 1;

/// The longest first line.
const LINE_MAX: u64 = 4096;

/// The first line of a record, as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordHeader {
    /// The format, by which other files are told apart too.
    #[serde(rename = "taintwardRecord")]
    pub format: u32,
    /// The version of the program that wrote it.
    pub program: String,
}

impl RecordHeader {
    /// The header of a record that this program writes. `program`: its version.
    pub fn new(program: &str) -> Self {
        Self { format: FORMAT, program: program.to_owned() }
    }

    pub(crate) fn to_line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

/// A record that is being read.
pub struct RecordReader<R> {
    source: R,
    header: RecordHeader,
    /// The position of the next frame.
    at: u64,
    is_cut_off: bool,
}

impl<R: BufRead> RecordReader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// If it is no record, of another format, or cannot be read.
    pub fn open(mut source: R) -> Result<Self, RecordError> {
        let mut line = Vec::new();
        source.by_ref().take(LINE_MAX).read_until(b'\n', &mut line)?;
        let header: RecordHeader = serde_json::from_slice(&line).map_err(|_| RecordError::NotARecord)?;
        if header.format != FORMAT {
            let RecordHeader { format, program } = header;
            return Err(RecordError::OtherFormat { program, format, own: FORMAT });
        }
        Ok(Self { source, header, at: line.len() as u64, is_cut_off: false })
    }

    /// The header.
    pub const fn header(&self) -> &RecordHeader {
        &self.header
    }

    /// Whether the last frame was incomplete: the process that wrote it ended, or the copy was cut off.
    pub const fn is_cut_off(&self) -> bool {
        self.is_cut_off
    }

    /// Returns the next frame; `None` at the end. An incomplete last frame is left out.
    ///
    /// # Errors
    /// If a frame is damaged, or cannot be read.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, RecordError> {
        if self.is_cut_off || self.source.fill_buf()?.is_empty() {
            return Ok(None);
        }
        let mut head = [0; HEAD];
        match self.source.read_exact(&mut head) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return self.cut_off(),
            read => read?,
        }
        let head = FrameHead::new(head);
        if head.is_zero() {
            return self.cut_off();
        }
        let length = head.packed_length().map_err(damaged(self.at))?;
        let mut packed = Vec::new();
        self.source.by_ref().take(length).read_to_end(&mut packed)?;
        if (packed.len() as u64) < length {
            return self.cut_off();
        }
        let frame = match head.unpack(&packed) {
            // The last one may have been written in part.
            Err(_) if self.source.fill_buf()?.is_empty() => return self.cut_off(),
            unpacked => unpacked.map_err(damaged(self.at))?,
        };
        self.at += HEAD as u64 + length;
        Ok(Some(frame))
    }

    fn cut_off(&mut self) -> Result<Option<Frame>, RecordError> {
        self.is_cut_off = true;
        Ok(None)
    }
}
