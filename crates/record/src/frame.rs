//! Defines a frame, the unit of a record: compressed and with a checksum.
//!
//! ```text
//! content: u8 | controller: u8 | unpacked length: u32 | packed length: u32 | CRC-32 of all but itself: u32 | packed bytes
//! ```
//!
//! - Numbers are little-endian.

use crate::error::RecordError;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use std::io::{Read, Write as _};

/// The controller whose engine is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecordedController {
    /// taint-eviction-controller.
    TaintEviction,
    /// node-lifecycle-controller.
    NodeLifecycle,
    /// The controllers that change the seconds of tolerations: hold, backfill and guard.
    TolerationSeconds,
}

impl RecordedController {
    const ALL: [Self; 3] = [Self::TaintEviction, Self::NodeLifecycle, Self::TolerationSeconds];

    /// The controller's name, as in logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TaintEviction => "taint-eviction-controller",
            Self::NodeLifecycle => "node-lifecycle-controller",
            Self::TolerationSeconds => "toleration-seconds",
        }
    }
}

/// What a frame contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameContent {
    /// The state of the engine at the begin of a segment.
    State,
    /// Calls of the engine.
    Calls,
}

impl FrameContent {
    const ALL: [Self; 2] = [Self::State, Self::Calls];

    /// Not 0: after a power failure, a file may end with zeros.
    const fn byte(self) -> u8 {
        match self {
            Self::State => 1,
            Self::Calls => 2,
        }
    }
}

/// A part of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// What it contains.
    pub content: FrameContent,
    /// Whose engine it is about.
    pub controller: RecordedController,
    /// The content, not compressed.
    pub bytes: Vec<u8>,
}

/// The bytes before the packed ones.
pub(crate) const HEAD: usize = 14;

/// The largest packed or unpacked length of a frame: the state of an engine with millions of pods fits.
const LENGTH_MAX: u32 = 1 << 30;

impl Frame {
    /// The frame as it is written; `None` if it is too large for a record.
    pub(crate) fn pack(&self) -> Option<Vec<u8>> {
        let length = u32::try_from(self.bytes.len()).ok().filter(|length| *length <= LENGTH_MAX)?;
        let mut packed = vec![self.content.byte(), self.controller as u8];
        packed.extend(length.to_le_bytes());
        packed.extend([0; 8]);
        let mut encoder = DeflateEncoder::new(packed, Compression::fast());
        // Writing to memory does not fail.
        encoder.write_all(&self.bytes).ok()?;
        let mut packed = encoder.finish().ok()?;
        let packed_length = u32::try_from(packed.len() - HEAD).ok()?;
        packed[6..10].copy_from_slice(&packed_length.to_le_bytes());
        let checksum = checksum(&packed[..HEAD], &packed[HEAD..]);
        packed[10..14].copy_from_slice(&checksum.to_le_bytes());
        Some(packed)
    }
}

fn checksum(head: &[u8], packed: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&head[..10]);
    hasher.update(packed);
    hasher.finalize()
}

/// The head of a frame.
pub(crate) struct FrameHead {
    bytes: [u8; HEAD],
}

impl FrameHead {
    pub(crate) const fn new(bytes: [u8; HEAD]) -> Self {
        Self { bytes }
    }

    fn number(&self, at: usize) -> u32 {
        let bytes = &self.bytes[at..at + 4];
        bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte))
    }

    /// Whether it was never written: a file system had allocated the space before it lost power.
    pub(crate) fn is_zero(&self) -> bool {
        self.bytes == [0; HEAD]
    }

    pub(crate) fn packed_length(&self) -> Result<u64, &'static str> {
        let length = self.number(6);
        if length > LENGTH_MAX { Err("the length of the frame is impossible") } else { Ok(length.into()) }
    }

    /// Unpacks a frame. Memory is allocated for what is there, not for what the head says.
    pub(crate) fn unpack(&self, packed: &[u8]) -> Result<Frame, &'static str> {
        if checksum(&self.bytes, packed) != self.number(10) {
            return Err("the checksum is wrong");
        }
        let content = FrameContent::ALL.into_iter().find(|content| content.byte() == self.bytes[0]);
        let content = content.ok_or("the kind of the frame is unknown")?;
        let controller = RecordedController::ALL.into_iter().find(|one| *one as u8 == self.bytes[1]);
        let controller = controller.ok_or("the controller is unknown")?;
        let length = u64::from(self.number(2).min(LENGTH_MAX));
        let mut bytes = Vec::new();
        let mut decoder = DeflateDecoder::new(packed).take(length + 1);
        decoder.read_to_end(&mut bytes).map_err(|_| "the content cannot be decompressed")?;
        if bytes.len() as u64 != length {
            return Err("the content has another length than the frame says");
        }
        Ok(Frame { content, controller, bytes })
    }
}

/// The error of a damaged frame.
pub(crate) fn damaged(at: u64) -> impl Fn(&'static str) -> RecordError {
    move |reason| RecordError::Damaged { at, reason }
}
