//! Stores the state of a watcher between and during its requests, and chooses the next one from it.
//!
//! - See `list_watch/watch_loop.rs` for the requests, `list_watch/background_list.rs` for lists alongside a watch,
//!   `event_sequence.rs` for the order of events.

use super::body_stream::BodyStream;
use super::event_sequence::EventSequence;
use super::event_stream::{EventStream, StreamStage};
use super::health_reporter::HealthReporter;
use super::list_page::{ListPage, PageOutcome};
use super::relist::RelistSchedule;
use super::stream_health::{ListMode, StreamCounters, StreamPhase};
use super::watch_settings::WatchSettings;
use super::{NextPage, NextRequest, WatchError, WatchPosition};
use crate::clock::Clock;
use crate::decode::WatchedObject;
use crate::decode::watch_event::DecodedWatchEvent;
use crate::list_progress::ListProgress;
use std::time::Duration;
use taintward_core::object_event::ObjectEvent;
use tokio::sync::mpsc;
use tokio::time::Instant;

mod background_list;
mod revision_check;
mod watch_loop;

pub(super) use watch_loop::run;

/// After a rejection, no streamed lists are requested for this long; servers are upgraded.
const WATCH_LIST_RETRY: Duration = Duration::from_secs(3600);
/// This many consecutive streamed lists that do not finish, or consecutive invalid responses, change the approach.
const ENOUGH: u32 = 3;
/// During a relist without a watch alongside it no change is received: the list gets no more than this for its first
/// item, and from one item to the next.
const RELIST_SILENCE_MAX: Duration = Duration::from_secs(20);
/// The maximum delay of a server in ending a watch.
const END_LATE_MAX: Duration = Duration::from_secs(10);

/// The state of a watcher.
struct ListWatchState<F> {
    events: EventSequence<F>,
    health: HealthReporter,
    relist: RelistSchedule,
    watch_list: bool,
    silence: Duration,
    watch_timeout: Duration,
    frame_limit: usize,
    /// Whether the list after an expired token is requested as a whole: it cannot expire half-way.
    lists_whole: bool,
    /// Whether the server has accepted the current attempt.
    agreed: bool,
    /// Since when the current stream is in sync with the server.
    in_step_since: Option<Instant>,
    /// The watch was interrupted since the last list, and the server's store is not known to be as new as the watch.
    interrupted: bool,
    /// Consecutive streamed lists that started and did not finish.
    unfinished: u32,
    /// Consecutive invalid responses.
    malformed: u32,
    /// Of the list that is being received.
    progress: ListProgress,
    watch_lists_rejected_at: Option<Instant>,
}

impl<F: WatchedObject> ListWatchState<F> {
    fn new(
        clock: Clock,
        settings: &WatchSettings,
        out: mpsc::Sender<Vec<ObjectEvent<F>>>,
        health: HealthReporter,
    ) -> Self {
        Self {
            events: EventSequence::new(out, clock, settings.batch_limit, health.clone()),
            health,
            relist: RelistSchedule::new(
                settings.relist_every,
                settings.pause_longest,
                settings.seed,
                &settings.relist_now,
            ),
            watch_list: settings.watch_list,
            silence: settings.silence,
            watch_timeout: settings.watch_timeout,
            frame_limit: settings.frame_limit,
            lists_whole: false,
            agreed: false,
            in_step_since: None,
            interrupted: false,
            unfinished: 0,
            malformed: 0,
            progress: ListProgress::default(),
            watch_lists_rejected_at: None,
        }
    }

    /// Starts a new attempt.
    fn begin_attempt(&mut self) {
        (self.agreed, self.in_step_since) = (false, None);
    }

    /// The server accepted the current attempt.
    fn agreed(&mut self, phase: StreamPhase) {
        self.agreed = true;
        self.health.agreed(phase);
    }

    /// For how long the current stream has been in sync with the server.
    fn time_in_step(&self) -> Duration {
        self.in_step_since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// How long to wait for a whole item of a list.
    fn list_silence(&self) -> Duration {
        // Requested as a whole, a list may take long to start.
        if self.events.is_relisting() && !self.lists_whole {
            self.silence.min(RELIST_SILENCE_MAX)
        } else {
            self.silence
        }
    }

    /// The timeout of silence. A watch may be silent: the server has to end it before.
    fn stream_silence(&self, stage: StreamStage) -> Duration {
        match stage {
            StreamStage::InStep => self.watch_timeout.saturating_add(END_LATE_MAX),
            StreamStage::Requested | StreamStage::Listing => self.list_silence(),
        }
    }

    /// The mode of the next list: some servers and proxies cannot stream one.
    fn mode(&mut self) -> ListMode {
        if self.unfinished >= ENOUGH {
            self.reject_watch_lists();
        }
        if self.watch_lists_rejected_at.is_some_and(|at| at.elapsed() >= WATCH_LIST_RETRY) {
            self.watch_lists_rejected_at = None;
        }
        if self.watch_list && self.watch_lists_rejected_at.is_none() {
            ListMode::WatchList
        } else {
            ListMode::PagedList
        }
    }

    fn reject_watch_lists(&mut self) {
        self.unfinished = 0;
        self.watch_lists_rejected_at = Some(Instant::now());
        self.health.update(|health| health.counters.watch_lists_rejected += 1);
        tracing::info!(
            resource = F::RESOURCE.plural,
            "the API server does not stream lists, listing by pages"
        );
    }

    /// Lists again, without a watch alongside it, if the last list is old (L4), or a list was requested.
    fn relist_if_due(&mut self) {
        let is_due = self.relist.is_due();
        if let NextRequest::Watch(position) = self.events.next_request()
            && is_due
        {
            let position = position.clone();
            self.events.begin_relist(position);
            self.health.update(|health| health.counters.relists_due += 1);
            tracing::debug!(
                resource = F::RESOURCE.plural,
                "listing again, because a list is due or was requested"
            );
        }
        if matches!(self.events.next_request(), NextRequest::List) {
            self.relist.begins();
        }
    }

    /// Prepares for a list alongside the watch; `None` if the watch's position cannot be compared with a list's.
    fn begin_background_list(&mut self) -> Option<ListMode> {
        if !self.events.begin_background_list() {
            return None;
        }
        self.relist.begins();
        let mode = self.mode();
        self.health.update(|health| {
            health.mode = mode;
            health.counters.relists_due += 1;
        });
        tracing::debug!(
            resource = F::RESOURCE.plural,
            "listing again, because a list is due or was requested"
        );
        Some(mode)
    }

    /// The list alongside the watch failed; the watch has continued all the while.
    fn background_list_failed(&mut self, error: &WatchError, is_stream: bool, is_later_page: bool) {
        self.events.end_background_list();
        self.events.abort_list();
        self.health.failed(error, true);
        let rejected = matches!(error, WatchError::Rejected(_)) && !error.is_absence();
        if rejected && is_stream {
            // It is still due: by pages.
            return self.reject_watch_lists();
        }
        self.malformed += u32::from(matches!(error, WatchError::Malformed(_)));
        if is_later_page && (rejected || matches!(error, WatchError::Expired(_))) {
            self.lists_whole = true;
        }
        self.relist_failed(error.retry_after(), &error.to_string());
    }

    /// A relist failed: watching continues where it was.
    fn relist_failed(&mut self, retry_after: Option<Duration>, why: &str) {
        let retry_seconds = self.relist.fails(retry_after).as_secs();
        tracing::warn!(
            resource = F::RESOURCE.plural,
            err = why,
            retry_seconds,
            "cannot list again, the watch continues"
        );
    }

    /// The server has accepted a page request.
    fn start_page(&mut self, body: BodyStream, after: NextPage) -> ListPage {
        self.health.update(|health| health.counters.pages += 1);
        if after.is_none() {
            self.begin_list();
        }
        ListPage::new::<F>(body, self.frame_limit, after)
    }

    /// The server has accepted a streamed list.
    fn start_streamed_list(&mut self, body: BodyStream) -> EventStream {
        self.unfinished += 1;
        self.start_stream(body, StreamStage::Requested)
    }

    /// The server has accepted a watch from a position: from here on, changes are received as they happen.
    fn start_watch(&mut self, body: BodyStream) -> EventStream {
        self.in_step();
        self.start_stream(body, StreamStage::InStep)
    }

    fn start_stream(&mut self, body: BodyStream, stage: StreamStage) -> EventStream {
        self.health.update(|health| health.counters.watches_started += 1);
        let mut stream = EventStream::new(body, self.frame_limit, stage);
        stream.restart_timeout(self.stream_silence(stage));
        stream
    }

    fn in_step(&mut self) {
        self.in_step_since = Some(Instant::now());
        self.agreed(StreamPhase::Watching);
    }

    fn begin_list(&mut self) {
        self.events.begin_list();
        self.progress = ListProgress::default();
    }

    /// The page was received completely.
    fn end_page(&mut self, page: ListPage) -> Result<PageOutcome, WatchError> {
        let outcome = page.finish()?;
        if let PageOutcome::Next(token, _) = &outcome {
            self.progress.page(0, token).map_err(|why| WatchError::Malformed(why.to_string()))?;
        }
        Ok(outcome)
    }

    /// Handles every whole item that has arrived.
    fn absorb_page(&mut self, page: &mut ListPage) -> Result<(), WatchError> {
        while let Some(item) = page.next_item::<F>()? {
            self.progress.objects(1).map_err(|why| WatchError::Malformed(why.to_string()))?;
            self.events.put_event(DecodedWatchEvent::Applied(item), true)?;
        }
        Ok(())
    }

    /// Handles every whole event that has arrived.
    fn absorb_events(&mut self, stream: &mut EventStream) -> Result<(), WatchError> {
        while let Some(event) = stream.next_event::<F>()? {
            if stream.stage() == StreamStage::Requested {
                stream.set_stage(StreamStage::Listing);
                self.begin_list();
            }
            let listed = stream.stage() != StreamStage::InStep;
            if listed {
                self.progress.objects(1).map_err(|why| WatchError::Malformed(why.to_string()))?;
            }
            match event {
                DecodedWatchEvent::Bookmark { version, ends_initial: true } if listed => {
                    let position = WatchPosition::of(&version).ok_or_else(|| {
                        WatchError::Malformed("the streamed list ends without a version".to_owned())
                    })?;
                    self.end_list(position);
                    stream.set_stage(StreamStage::InStep);
                    self.in_step();
                }
                event => self.events.put_event(event, listed)?,
            }
        }
        Ok(())
    }

    /// A list is complete as of `position`.
    fn end_list(&mut self, position: WatchPosition) {
        self.events.end_list(position);
        (self.interrupted, self.unfinished, self.lists_whole) = (false, 0, false);
        self.relist.ends();
    }

    /// Records what was received in the current attempt.
    fn received(&mut self, received: &StreamCounters) {
        if received.items > 0 && self.in_step_since.is_some() {
            self.events.mark_complete();
        }
        self.received_beside(received);
    }

    /// Records what was received of a list alongside the watch.
    fn received_beside(&mut self, received: &StreamCounters) {
        if received.items > 0 {
            self.malformed = 0;
        }
        self.health.received(received);
    }

    /// The server ended a watch cleanly: it has sent everything up to this moment.
    fn closed(&mut self) {
        if self.in_step_since.is_some() {
            self.events.mark_complete();
        }
        self.health.update(|health| health.counters.watches_closed += 1);
    }

    /// Chooses the next request after an error. True if the next attempt needs no pause, because it is another request.
    fn redirect(&mut self, error: &WatchError, mode: ListMode) -> bool {
        let expired = matches!(error, WatchError::Expired(_) | WatchError::ResourceVersionWentBack { .. });
        let rejected = matches!(error, WatchError::Rejected(_));
        // A response that is not from an API server says nothing about the position.
        if self.agreed && matches!(error, WatchError::Malformed(_)) {
            self.malformed += 1;
        }
        if expired {
            self.health.update(|health| health.counters.relists_410 += 1);
        }
        let gives_up = expired || rejected || self.malformed >= ENOUGH;
        match self.events.next_request() {
            // A missing resource says nothing about the mode of the request.
            NextRequest::List if rejected && mode == ListMode::WatchList && !error.is_absence() => {
                self.reject_watch_lists();
                return true;
            }
            NextRequest::Page { .. } if gives_up => {
                self.lists_whole = true;
                self.events.request_next(NextRequest::List);
            }
            NextRequest::Watch(_) if gives_up => {
                self.events.request_next(NextRequest::List);
                // The pause was before the watch.
                return self.interrupted && matches!(error, WatchError::ResourceVersionWentBack { .. });
            }
            NextRequest::List | NextRequest::Page { .. } | NextRequest::Watch(_) => {}
        }
        false
    }
}
