//! Receives and decodes one watch: a streamed list and its changes, or the changes after a version.

use super::WatchError;
use super::body_stream::BodyStream;
use super::stream_health::StreamCounters;
use crate::decode::frames::FrameDecoder;
use crate::decode::watch_event::{self, DecodedWatchEvent};
use crate::decode::{Encoding, WatchedObject};
use std::time::Duration;

/// The stage of the current event.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamStage {
    /// A streamed list was requested; none of it has arrived.
    Requested,
    /// Inside a streamed list.
    Listing,
    /// In sync with the server.
    InStep,
}

/// A watch that is being received.
pub(super) struct EventStream {
    body: BodyStream,
    encoding: Encoding,
    frames: FrameDecoder,
    stage: StreamStage,
    counters: StreamCounters,
}

impl EventStream {
    /// A watch whose response has begun.
    pub(super) fn new(body: BodyStream, frame_limit: usize, stage: StreamStage) -> Self {
        let encoding = body.encoding();
        let frames = FrameDecoder::new(encoding, frame_limit);
        Self { body, encoding, frames, stage, counters: StreamCounters::default() }
    }

    pub(super) fn stage(&self) -> StreamStage {
        self.stage
    }

    pub(super) fn set_stage(&mut self, stage: StreamStage) {
        self.stage = stage;
    }

    /// Receives the next bytes; false at the clean end. Cancel safe.
    pub(super) async fn receive(&mut self) -> Result<bool, WatchError> {
        let Some(chunk) = self.body.chunk().await? else { return Ok(false) };
        self.counters.bytes += chunk.len() as u64;
        self.frames.push(&chunk);
        Ok(true)
    }

    /// Returns the next event that has arrived completely.
    pub(super) fn next_event<F: WatchedObject>(
        &mut self,
    ) -> Result<Option<DecodedWatchEvent<F>>, WatchError> {
        let frame = self.frames.next().map_err(|error| WatchError::Malformed(error.to_string()))?;
        let Some(frame) = frame else { return Ok(None) };
        let event = watch_event::read::<F>(self.encoding, frame);
        let event = event.map_err(|error| WatchError::Malformed(format!("a watch event: {error}")))?;
        if let DecodedWatchEvent::Error(status) = &event {
            // Before a streamed list ends, any error that is not about time, load or permission means that the server
            // cannot stream lists.
            return Err(match WatchError::of_status::<F>(status.clone(), "watch") {
                WatchError::Unavailable(status) if self.stage != StreamStage::InStep => {
                    WatchError::Rejected(status)
                }
                error => error,
            });
        }
        self.counters.items += 1;
        Ok(Some(event))
    }

    /// Returns what was received since the last call.
    pub(super) fn take_counters(&mut self) -> StreamCounters {
        std::mem::take(&mut self.counters)
    }

    /// A whole event was received, or the stage changed: the timeout restarts.
    pub(super) fn restart_timeout(&mut self, silence: Duration) {
        self.body.progress(silence);
    }
}
