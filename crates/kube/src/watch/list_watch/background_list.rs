//! Lists everything again alongside a running watch, and then replaces the watch.
//!
//! - Invariant: the watch continues and is not affected if the list fails; `event_sequence.rs` keeps both in order. At
//!   most one more connection is open.

use super::ListWatchState;
use crate::decode::WatchedObject;
use crate::watch::body_stream::BodyStream;
use crate::watch::event_stream::{EventStream, StreamStage};
use crate::watch::list_page::{ListPage, PageOutcome};
use crate::watch::lister_watcher::{ListerWatcher, PendingResponse};
use crate::watch::stream_health::ListMode;
use crate::watch::{NextPage, WatchError, WatchPosition};
use std::time::Duration;

/// A list that runs alongside the watch.
///
/// The list counts as started before the first watch event that it may not include, so that no object that was added or
/// deleted meanwhile is lost or comes back.
///
/// The new watch continues at the list's version. If the old watch was ahead of that, its events arrive again and are
/// dropped. If the list has an older version than the watch had when the list was requested, the server's store was
/// replaced by an older one: then only the list counts.
pub(super) struct BackgroundList {
    /// The timeout of silence of a page.
    silence: Duration,
    step: BackgroundStep,
}

enum BackgroundStep {
    /// A request was sent.
    Requested(PendingResponse, BackgroundRequest),
    /// A page is received.
    Page(ListPage),
    /// A streamed list is received.
    Stream(EventStream),
}

/// What was requested.
enum BackgroundRequest {
    /// A streamed list, and the watch that follows it.
    Stream,
    /// A page.
    Page(NextPage),
    /// The watch after the last page.
    Watch(WatchPosition),
}

/// What was received.
pub(super) enum ReceivedPart {
    Response(BodyStream),
    /// Bytes; false at the clean end.
    Bytes(bool),
}

/// The result.
enum BackgroundListOutcome {
    Continue(BackgroundStep),
    /// The list is complete, and this watch follows it.
    Watch(EventStream),
}

impl BackgroundList {
    /// Requests a list.
    pub(super) fn start<F: WatchedObject>(
        mode: ListMode,
        silence: Duration,
        state: &ListWatchState<F>,
        requests: &ListerWatcher,
    ) -> Self {
        let request = match mode {
            ListMode::WatchList => BackgroundRequest::Stream,
            ListMode::PagedList => BackgroundRequest::Page(None),
        };
        Self { silence, step: BackgroundStep::request(request, silence, state, requests) }
    }

    /// Receives the next part; pends if there is no list. Cancel safe.
    pub(super) async fn receive(list: &mut Option<Self>) -> Result<ReceivedPart, WatchError> {
        match list.as_mut().map(|list| &mut list.step) {
            None => std::future::pending().await,
            Some(BackgroundStep::Requested(response, _)) => response.await.map(ReceivedPart::Response),
            Some(BackgroundStep::Page(page)) => page.receive().await.map(ReceivedPart::Bytes),
            Some(BackgroundStep::Stream(stream)) => stream.receive().await.map(ReceivedPart::Bytes),
        }
    }

    /// Handles what was received. Returns the watch that replaces the current one; an error is that watch's own.
    pub(super) fn advance<F: WatchedObject>(
        list: &mut Option<Self>,
        received: Result<ReceivedPart, WatchError>,
        state: &mut ListWatchState<F>,
        requests: &ListerWatcher,
    ) -> Result<Option<EventStream>, WatchError> {
        let Some(Self { silence, step }) = list.take() else { return Ok(None) };
        let (is_stream, is_later_page) = match &step {
            BackgroundStep::Requested(_, request) => (
                matches!(request, BackgroundRequest::Stream),
                matches!(request, BackgroundRequest::Page(Some(_)) | BackgroundRequest::Watch(_)),
            ),
            BackgroundStep::Stream(_) => (true, false),
            BackgroundStep::Page(page) => (false, !page.is_first()),
        };
        match received.and_then(|received| step.advance(received, silence, state, requests)) {
            Ok(BackgroundListOutcome::Continue(step)) => {
                *list = Some(Self { silence, step });
                Ok(None)
            }
            Ok(BackgroundListOutcome::Watch(stream)) => Ok(Some(stream)),
            Err(error) if !state.events.has_background_list() => Err(error),
            Err(error) => {
                state.background_list_failed(&error, is_stream, is_later_page);
                Ok(None)
            }
        }
    }
}

impl BackgroundStep {
    fn request<F: WatchedObject>(
        request: BackgroundRequest,
        silence: Duration,
        state: &ListWatchState<F>,
        requests: &ListerWatcher,
    ) -> Self {
        let response = match &request {
            BackgroundRequest::Stream => requests.watch::<F>(None),
            BackgroundRequest::Page(after) => requests.page::<F>(state.lists_whole, after, silence),
            BackgroundRequest::Watch(from) => requests.watch::<F>(Some(from)),
        };
        Self::Requested(response, request)
    }

    fn advance<F: WatchedObject>(
        self,
        received: ReceivedPart,
        silence: Duration,
        state: &mut ListWatchState<F>,
        requests: &ListerWatcher,
    ) -> Result<BackgroundListOutcome, WatchError> {
        let step = match (self, received) {
            (Self::Requested(_, BackgroundRequest::Page(after)), ReceivedPart::Response(body)) => {
                Self::Page(state.start_page(body, after))
            }
            (Self::Requested(_, BackgroundRequest::Stream), ReceivedPart::Response(body)) => {
                Self::Stream(state.start_streamed_list(body))
            }
            (Self::Requested(_, BackgroundRequest::Watch(from)), ReceivedPart::Response(body)) => {
                state.end_list(from);
                return Ok(BackgroundListOutcome::Watch(state.start_watch(body)));
            }
            (Self::Page(mut page), ReceivedPart::Bytes(true)) => {
                let absorbed = state.absorb_page(&mut page);
                let counters = page.take_counters();
                state.received_beside(&counters);
                absorbed?;
                if counters.items > 0 {
                    page.restart_timeout(silence);
                }
                Self::Page(page)
            }
            (Self::Page(page), ReceivedPart::Bytes(false)) => {
                let request = match state.end_page(page)? {
                    PageOutcome::Next(token, since) => BackgroundRequest::Page(Some((token, since))),
                    PageOutcome::Complete(since) => BackgroundRequest::Watch(since),
                };
                Self::request(request, silence, state, requests)
            }
            (Self::Stream(mut stream), ReceivedPart::Bytes(true)) => {
                let absorbed = state.absorb_events(&mut stream);
                let counters = stream.take_counters();
                state.received_beside(&counters);
                absorbed?;
                if counters.items > 0 {
                    stream.restart_timeout(state.stream_silence(stream.stage()));
                }
                if stream.stage() == StreamStage::InStep {
                    return Ok(BackgroundListOutcome::Watch(stream));
                }
                Self::Stream(stream)
            }
            (Self::Stream(_), ReceivedPart::Bytes(false)) => {
                return Err(WatchError::ConnectionLost(
                    "the server closed the stream before the list was complete".into(),
                ));
            }
            // A request gets a response, a response gets bytes.
            (step, _) => step,
        };
        Ok(BackgroundListOutcome::Continue(step))
    }
}
