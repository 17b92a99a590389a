//! Records the calls of an engine, and replays them.
//!
//! ```text
//! control loop ─ calls ─> EngineTap ─ frames ─> EngineRecorder ─> memory, or a folder
//!                                                              │
//!              the same effects, or the first difference <─ replay
//! ```
//!
//! - Invariant: a segment begins with the engine's state, so that every segment can be replayed without those before.
//! - Invariant: recording never changes what the engine does, and an engine waits for no disk: what cannot be written is
//!   left out, and the next segment begins with a new state.

#![forbid(unsafe_code)]

mod call;
mod check;
mod error;
mod folder;
mod follower;
mod frame;
mod frame_writer;
mod open_block;
mod policy_replay;
mod reader;
mod recorder;
mod redact;
mod replay;
mod ring;
mod tap;
#[cfg(any(test, feature = "testkit"))]
pub mod testkit;
#[cfg(test)]
mod tests;

pub use call::{EngineCall, RecordedCall, RecordedEngine};
pub use check::CheckSummary;
pub use error::RecordError;
pub use folder::{FolderLimits, record_files};
pub use follower::{CallVisitor, EngineFollower};
pub use frame::{Frame, FrameContent, RecordedController};
pub use frame_writer::FrameWriter;
pub use open_block::OpenBlock;
pub use policy_replay::{PolicyPrediction, PolicyReplay, RecordedProcess};
pub use reader::{RecordHeader, RecordReader};
pub use recorder::{EngineRecorder, FrameSink};
pub use redact::{RecordedNames, Redaction};
pub use replay::{Difference, Replay, ReplayError, ReplaySummary};
pub use ring::RingLimits;
pub use tap::{CallTap, EngineTap, SegmentLimits};
