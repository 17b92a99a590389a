//! Lists everything again beside a running watch, and then replaces the watch.
//!
//! - Invariant: the watch goes on and is not affected if the list fails; `delivered_objects.rs` keeps both in order. At
//!   most one more connection is open.

use super::attempt::{NextRequest, ReceivedCounts, WatchPosition};
use super::body_stream::{self, BodyStream};
use super::list_pages::{ListPage, NextPage, PageOutcome};
use super::stream_health::{ListMode, StreamPhase};
use super::watch_error::WatchError;
use super::watch_event::WatchEvent;
use super::watch_loop::WatchLoop;
use super::watch_query;
use super::watch_stream::StreamStage;
use crate::decode::WatchedObject;
use crate::decode::frames::FrameDecoder;
use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use taintward_core::identity::ResourceVersion;

/// A list that is being made beside the watch.
///
/// The list counts as started before the first watch event that it may not include, so that no object that came or went
/// meanwhile is lost or comes back.
///
/// The new watch continues at the list's version. If the old watch was ahead of that, its events come again and are not
/// news. If the list has an older version than the watch had when the list was requested, the server's store was
/// replaced by an older one: then only the list counts.
pub(super) enum BackgroundList {
    /// A request was sent.
    Asked(BoxFuture<'static, Result<BodyStream, WatchError>>, RequestedList),
    /// A page is received.
    Paged(BodyStream, ListPage),
    /// A streamed list is received.
    Streamed(BodyStream, FrameDecoder, StreamStage),
}

/// What was asked for.
pub(super) enum RequestedList {
    /// A streamed list, and the watch that follows it.
    Stream,
    /// A page.
    Page(NextPage),
    /// The watch after the last page.
    Watch(WatchPosition),
}

/// What came.
pub(super) enum ReceivedPart {
    Answer(BodyStream),
    Bytes(Option<Bytes>),
}

/// What follows.
enum BackgroundListOutcome {
    Check(BackgroundList),
    /// The list is complete, and this watch follows it.
    Watch(BodyStream, FrameDecoder),
}

/// What comes next of it; never, if there is none. Dropped, it loses nothing.
pub(super) async fn next(check: &mut Option<BackgroundList>) -> Result<ReceivedPart, WatchError> {
    match check {
        None => std::future::pending().await,
        Some(BackgroundList::Asked(answer, _)) => answer.await.map(ReceivedPart::Answer),
        Some(BackgroundList::Paged(incoming, _) | BackgroundList::Streamed(incoming, ..)) => {
            incoming.chunk().await.map(ReceivedPart::Bytes)
        }
    }
}

impl<F: WatchedObject> WatchLoop<F> {
    /// Asks for a list beside the watch; false if the watch's position can't be compared with a list's.
    pub(super) fn begin_check(&mut self) -> bool {
        let NextRequest::Watch(WatchPosition::Number(position)) = self.next else { return false };
        self.asked.mark_unchanged();
        self.relist.begins();
        self.told.clear();
        self.checking = Some(position);
        let mode = self.mode();
        self.note(|health| {
            health.mode = mode;
            health.counters.relists_due += 1;
        });
        tracing::debug!(resource = F::RESOURCE, "the last list is old, or void: listing again");
        self.check = Some(self.ask(match mode {
            ListMode::WatchList => RequestedList::Stream,
            ListMode::PagedList => RequestedList::Page(None),
        }));
        true
    }

    fn ask(&self, wanted: RequestedList) -> BackgroundList {
        let (request, patience, verb) = match &wanted {
            RequestedList::Stream => {
                (watch_query::watch_list::<F>(&self.settings), self.opening_patience(), "watch")
            }
            RequestedList::Page(after) => (self.page_request(after), self.settings.silence, "list"),
            RequestedList::Watch(from) => {
                (watch_query::watch_from::<F>(&self.settings, from), self.opening_patience(), "watch")
            }
        };
        let client = self.client.clone();
        let answer = async move { body_stream::open(&client, request?, patience, Self::source(verb)).await };
        BackgroundList::Asked(answer.boxed(), wanted)
    }

    /// Takes in what came. Goes out: the watch that takes the place of the present one. Trouble is that watch's own.
    pub(super) fn checked(
        &mut self,
        arrived: Result<ReceivedPart, WatchError>,
    ) -> Result<Option<(BodyStream, FrameDecoder)>, WatchError> {
        let Some(check) = self.check.take() else { return Ok(None) };
        let (of_stream, of_later_page) = match &check {
            BackgroundList::Asked(_, wanted) => (
                matches!(wanted, RequestedList::Stream),
                matches!(wanted, RequestedList::Page(Some(_)) | RequestedList::Watch(_)),
            ),
            BackgroundList::Streamed(..) => (true, false),
            BackgroundList::Paged(_, page) => (false, !page.is_first()),
        };
        match arrived.and_then(|arrived| self.go_on(check, arrived)) {
            Ok(BackgroundListOutcome::Check(check)) => {
                self.check = Some(check);
                Ok(None)
            }
            Ok(BackgroundListOutcome::Watch(incoming, frames)) => Ok(Some((incoming, frames))),
            Err(trouble) if self.checking.is_none() => Err(trouble),
            Err(trouble) => {
                self.check_failed(&trouble, of_stream, of_later_page);
                Ok(None)
            }
        }
    }

    fn go_on(
        &mut self,
        check: BackgroundList,
        arrived: ReceivedPart,
    ) -> Result<BackgroundListOutcome, WatchError> {
        let limit = self.settings.frame_limit;
        let check = match (check, arrived) {
            (BackgroundList::Asked(_, RequestedList::Page(after)), ReceivedPart::Answer(incoming)) => {
                let page = self.page_begins(incoming.encoding, after);
                BackgroundList::Paged(incoming, page)
            }
            (BackgroundList::Asked(_, RequestedList::Stream), ReceivedPart::Answer(mut incoming)) => {
                self.note(|health| health.counters.watches_started += 1);
                self.unfinished += 1;
                incoming.progress(self.settings.silence);
                let frames = FrameDecoder::new(incoming.encoding, limit);
                BackgroundList::Streamed(incoming, frames, StreamStage::Asked)
            }
            (BackgroundList::Asked(_, RequestedList::Watch(from)), ReceivedPart::Answer(mut incoming)) => {
                self.note(|health| health.counters.watches_started += 1);
                self.end_list(from);
                self.in_step();
                incoming.progress(self.watching_patience());
                let frames = FrameDecoder::new(incoming.encoding, limit);
                return Ok(BackgroundListOutcome::Watch(incoming, frames));
            }
            (BackgroundList::Paged(mut incoming, mut page), ReceivedPart::Bytes(Some(chunk))) => {
                let mut tally = ReceivedCounts::default();
                let understood = self.take_in_page(&mut page, &chunk, &mut tally);
                self.received_beside(&tally);
                understood?;
                if tally.items > 0 {
                    incoming.progress(self.settings.silence);
                }
                BackgroundList::Paged(incoming, page)
            }
            (BackgroundList::Paged(_, page), ReceivedPart::Bytes(None)) => self.ask(match page.turn()? {
                PageOutcome::Onward(onward, since) => RequestedList::Page(Some((onward, since))),
                PageOutcome::Complete(since) => RequestedList::Watch(since),
            }),
            (
                BackgroundList::Streamed(mut incoming, mut frames, mut stage),
                ReceivedPart::Bytes(Some(chunk)),
            ) => {
                let mut tally = ReceivedCounts { bytes: chunk.len() as u64, ..ReceivedCounts::default() };
                frames.push(&chunk);
                let understood = self.absorb(&mut frames, incoming.encoding, &mut stage, &mut tally);
                self.received_beside(&tally);
                understood?;
                if tally.items > 0 {
                    incoming.progress(self.silence_max(stage));
                }
                if stage == StreamStage::InStep {
                    return Ok(BackgroundListOutcome::Watch(incoming, frames));
                }
                BackgroundList::Streamed(incoming, frames, stage)
            }
            (BackgroundList::Streamed(..), ReceivedPart::Bytes(None)) => {
                return Err(WatchError::ConnectionLost(
                    "the server closed the stream before the list was complete".into(),
                ));
            }
            // An answer comes to a request, bytes come of an answer.
            (check, _) => check,
        };
        Ok(BackgroundListOutcome::Check(check))
    }

    /// The list is given up; the watch has gone on all the while.
    fn check_failed(&mut self, trouble: &WatchError, of_stream: bool, of_later_page: bool) {
        self.give_up_check();
        if std::mem::take(&mut self.listing) {
            self.outbox.put(WatchEvent::ListAborted);
        }
        self.record(trouble, true);
        let refused = matches!(trouble, WatchError::Refused(_)) && !trouble.is_absence();
        if refused && of_stream {
            // It is due all the same: by pages.
            return self.refuse_watch_lists();
        }
        self.malformed += u32::from(matches!(trouble, WatchError::Malformed(_)));
        if of_later_page && (refused || matches!(trouble, WatchError::Expired(_))) {
            self.in_one_go = true;
        }
        self.list_failed(trouble.asked_wait(), &trouble.to_string());
    }

    /// The list beside the watch ends here, whatever it has told.
    pub(super) fn give_up_check(&mut self) {
        (self.check, self.checking) = (None, None);
        if let NextRequest::Watch(WatchPosition::Number(position)) = self.next {
            self.told.passed(position);
        }
    }

    /// Where watching goes on after a list. What the watch told since the list's own version will come once more.
    pub(super) fn position_after(&mut self, listed: WatchPosition) -> WatchPosition {
        if let (Some(since), NextRequest::Watch(WatchPosition::Number(at)), WatchPosition::Number(version)) =
            (self.checking.take(), &self.next, &listed)
            && (since..*at).contains(version)
        {
            return WatchPosition::Number(*at);
        }
        self.told.clear();
        listed
    }

    /// The version that the watch has told up to, of whatever is listed at present.
    pub(super) fn watched_up_to(&self) -> Option<ResourceVersion> {
        match (&self.next, &self.fallback) {
            (NextRequest::Watch(WatchPosition::Number(version)), _)
            | (_, Some(WatchPosition::Number(version))) => Some(*version),
            _ => None,
        }
    }

    /// From here on, changes are told as they happen.
    pub(super) fn in_step(&mut self) {
        self.in_step_since = Some(tokio::time::Instant::now());
        self.agreed(StreamPhase::Watching);
    }
}
