//! Reads a watch event by event, as JSON lines or protobuf frames.
//!
//! - Invariant: no read takes longer than `STARTUP_TIMEOUT`; the absence of an event is proved by the next one.

use super::harness::{ConformanceHarness, RecordedResponse, STARTUP_TIMEOUT};
use super::wire;
use http_body_util::BodyExt as _;
use hyper::body::{Bytes, Incoming};
use serde_json::Value;

/// A running watch.
pub(crate) struct Watch {
    body: Incoming,
    buffer: Vec<u8>,
    protobuf: bool,
}

/// The annotation of the bookmark after the initial events.
pub(crate) const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// An event: its type and its object.
pub(crate) struct WatchedEvent {
    pub(crate) kind: String,
    pub(crate) object: Value,
}

impl WatchedEvent {
    /// An event that becomes part of the record.
    fn kept(harness: &mut ConformanceHarness, event: &Value) -> Self {
        harness.note("EVENT", "", &RecordedResponse::bare(event.clone()));
        Self { kind: event["type"].as_str().unwrap_or_default().to_owned(), object: event["object"].clone() }
    }
}

impl ConformanceHarness {
    /// Opens a watch of JSON.
    #[track_caller]
    pub(crate) fn watch(&mut self, path: &str) -> Watch {
        self.watch_as(path, "application/json")
    }

    /// Opens a watch, and expects it to be accepted.
    #[track_caller]
    pub(crate) fn watch_as(&mut self, path: &str, accept: &str) -> Watch {
        let headers = [("accept".to_owned(), accept.to_owned())];
        let opened = async {
            tokio::time::timeout(STARTUP_TIMEOUT, self.wire.send("GET", path, &headers, Bytes::new())).await
        };
        let response = self.runtime.block_on(opened).unwrap_or_else(|_| panic!("{path}: no answer"));
        let (head, body) = response.into_parts();
        let response = RecordedResponse::head(&head);
        self.note("WATCH", path, &response);
        assert_eq!(response.code, 200, "{path}");
        Watch { body, buffer: Vec::new(), protobuf: response.kind().contains("protobuf") }
    }
}

impl Watch {
    /// The next event. Skips bookmarks for progress, which the server sends at any time.
    #[track_caller]
    pub(crate) fn next(&mut self, harness: &mut ConformanceHarness) -> WatchedEvent {
        loop {
            let event = self.read(harness);
            if event["type"] != "BOOKMARK" || event.to_string().contains(INITIAL_EVENTS_END) {
                return WatchedEvent::kept(harness, &event);
            }
        }
    }

    /// Expects the next event to be a bookmark.
    #[track_caller]
    pub(crate) fn bookmark(&mut self, harness: &mut ConformanceHarness) -> WatchedEvent {
        let event = self.read(harness);
        assert_eq!(event["type"], "BOOKMARK", "{event}");
        WatchedEvent::kept(harness, &event)
    }

    #[track_caller]
    fn read(&mut self, harness: &ConformanceHarness) -> Value {
        let read = async { tokio::time::timeout(STARTUP_TIMEOUT, self.piece()).await };
        let piece =
            harness.runtime.block_on(read).unwrap_or_else(|_| panic!("no event within {STARTUP_TIMEOUT:?}"));
        let piece = piece.unwrap_or_else(|| panic!("the watch ended"));
        if self.protobuf {
            return wire::event(&piece);
        }
        serde_json::from_slice(&piece).unwrap_or_else(|error| panic!("{error}: {piece:?}"))
    }

    /// Expects the next event to be of this type and about this object.
    #[track_caller]
    pub(crate) fn reports(
        &mut self,
        harness: &mut ConformanceHarness,
        kind: &str,
        name: &str,
    ) -> WatchedEvent {
        let event = self.next(harness);
        let found = (event.kind.as_str(), event.object["metadata"]["name"].as_str().unwrap_or_default());
        assert_eq!(found, (kind, name), "{}", event.object);
        event
    }

    /// Expects the end, with no further event.
    #[track_caller]
    pub(crate) fn ends(&mut self, harness: &ConformanceHarness) {
        let read = async { tokio::time::timeout(STARTUP_TIMEOUT, self.piece()).await };
        let piece =
            harness.runtime.block_on(read).unwrap_or_else(|_| panic!("no end within {STARTUP_TIMEOUT:?}"));
        assert_eq!(piece.map(|piece| String::from_utf8_lossy(&piece).into_owned()), None);
    }

    /// One line, or one frame without its length; `None` at the end.
    async fn piece(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some((skip, end)) = self.bounds() {
                let piece = self.buffer[skip..end].to_vec();
                self.buffer.drain(..end);
                return Some(piece);
            }
            let frame = self.body.frame().await?.unwrap();
            self.buffer.extend_from_slice(frame.data_ref().map_or(&[][..], |data| &data[..]));
        }
    }

    fn bounds(&self) -> Option<(usize, usize)> {
        if !self.protobuf {
            return self.buffer.iter().position(|byte| *byte == b'\n').map(|at| (0, at + 1));
        }
        let length = u32::from_be_bytes(*self.buffer.first_chunk::<4>()?);
        let end = 4 + usize::try_from(length).unwrap();
        (self.buffer.len() >= end).then_some((4, end))
    }
}
