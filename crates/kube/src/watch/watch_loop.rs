//! Runs the list and watch loop of one kind: what to request next after each way of ending.
//!
//! - See `watch_stream.rs` and `list_pages.rs` for single attempts, `background_list.rs` for lists beside a watch.

use super::attempt::{AttemptEnd, AttemptError, NextRequest, ReceivedCounts, WatchPosition};
use super::background_list::BackgroundList;
use super::backoff::{EndedAttempt, WatchBackoff};
use super::batcher::Batcher;
use super::delivered_objects::DeliveredObjects;
use super::relist::RelistSchedule;
use super::stream_health::{ListMode, StreamHealth, StreamPhase};
use super::watch_error::{WatchError, WatchedResource};
use super::watch_event::WatchEvent;
use super::watch_settings::WatchSettings;
use crate::decode::WatchedObject;
use kube::Client;
use std::time::Duration;
use taintward_core::identity::ResourceVersion;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep};

/// After a refusal, streamed lists are left alone for this long; servers are upgraded.
const REFUSAL_HOLDS: Duration = Duration::from_secs(3600);
/// So many streamed lists in a row that don't finish, or answers in a row that make no sense, change the approach.
const ENOUGH: u32 = 3;
/// While a list is made that only checks what is known, and no watch goes on beside it, nothing is heard of changes: it
/// gets no more than this for its first word, and from one item to the next. A watch gets as much to begin.
const CHECKING_PATIENCE: Duration = Duration::from_secs(20);
/// A server may be this late in ending a watch.
const END_LATE_MAX: Duration = Duration::from_secs(10);

pub(super) struct WatchLoop<F> {
    pub(super) client: Client,
    pub(super) settings: WatchSettings,
    pub(super) outbox: Batcher<F>,
    pub(super) next: NextRequest,
    /// While a list is made though the position is known: where watching goes on if the list fails.
    pub(super) fallback: Option<WatchPosition>,
    /// A list was begun, and not ended.
    pub(super) listing: bool,
    /// A list that is being made beside the watch, and where that stood when it was asked for.
    pub(super) check: Option<BackgroundList>,
    pub(super) checking: Option<ResourceVersion>,
    pub(super) told: DeliveredObjects,
    pub(super) relist: RelistSchedule,
    /// Changed while somebody waits for a list.
    pub(super) asked: watch::Receiver<()>,
    /// Whether the list after an expired token is asked for in one go: it can't expire half-way.
    pub(super) in_one_go: bool,
    /// When the present attempt began.
    began: Instant,
    /// Whether the server has agreed to it.
    agreed: bool,
    /// Since when the present stream is in step with the server.
    pub(super) in_step_since: Option<Instant>,
    /// When the stream was last known to be complete.
    pub(super) complete_at: Option<Instant>,
    /// Streamed lists in a row that began and did not finish.
    pub(super) unfinished: u32,
    /// Answers in a row that made no sense.
    pub(super) malformed: u32,
    refused_at: Option<Instant>,
    pace: WatchBackoff,
    health: watch::Sender<StreamHealth>,
}

impl<F: WatchedObject> WatchLoop<F> {
    pub(super) fn new(
        client: Client,
        settings: WatchSettings,
        out: mpsc::Sender<Vec<WatchEvent<F>>>,
        health: watch::Sender<StreamHealth>,
    ) -> Self {
        Self {
            outbox: Batcher::new(out, settings.batch_limit),
            pace: WatchBackoff::new(settings.pause_first, settings.pause_longest, settings.seed),
            relist: RelistSchedule::new(settings.relist_every, settings.pause_longest, settings.seed),
            asked: settings.relist_now.subscribe(),
            client,
            settings,
            next: NextRequest::List,
            fallback: None,
            listing: false,
            check: None,
            checking: None,
            told: DeliveredObjects::default(),
            in_one_go: false,
            began: Instant::now(),
            agreed: false,
            in_step_since: None,
            complete_at: None,
            unfinished: 0,
            malformed: 0,
            refused_at: None,
            health,
        }
    }

    /// Listens until the consumer is gone.
    pub(super) async fn run(mut self) {
        loop {
            (self.began, self.agreed, self.in_step_since) = (Instant::now(), false, None);
            self.list_if_due();
            let mode = self.mode();
            self.note(|health| (health.phase, health.mode) = (StreamPhase::Connecting, mode));
            let ended = match (self.next.clone(), mode) {
                (NextRequest::List, ListMode::WatchList) => self.watch(None).await,
                (NextRequest::List, ListMode::PagedList) => self.page(None).await,
                (NextRequest::Page { onward, since }, _) => self.page(Some((onward, since))).await,
                (NextRequest::Watch(from), _) => self.watch(Some(from)).await,
            };
            let trouble = match ended {
                Ok(AttemptEnd::Onward | AttemptEnd::Due) => continue,
                Ok(AttemptEnd::Closed) => {
                    self.closed();
                    None
                }
                Err(AttemptError::Trouble(trouble)) => Some(self.whose(trouble).await),
                Err(AttemptError::HungUp) => return,
            };
            if let Some(pause) = self.conclude(trouble, mode) {
                sleep(pause).await;
            }
        }
    }

    /// Lists again what a watch that is not open has told of, if the last list is old (L4), or somebody asks for it.
    fn list_if_due(&mut self) {
        if self.check.is_some() {
            return;
        }
        if self.asked.has_changed().unwrap_or(false) {
            self.asked.mark_unchanged();
            self.relist.ask();
        }
        if let NextRequest::Watch(position) = &self.next
            && self.relist.is_due()
        {
            self.fallback = Some(position.clone());
            self.next = NextRequest::List;
            self.note(|health| health.counters.relists_due += 1);
            tracing::debug!(resource = F::RESOURCE, "the last list is old, or void: listing again");
        }
        if matches!(self.next, NextRequest::List) {
            self.asked.mark_unchanged();
            self.relist.begins();
        }
    }

    /// What the end of an attempt means: for what is asked next, for the health, and for the pause before.
    fn conclude(&mut self, trouble: Option<WatchError>, mode: ListMode) -> Option<Duration> {
        let ended = self.ended(trouble.as_ref());
        self.note(|health| {
            health.interrupted_since = health.interrupted_since.or_else(|| Some(Instant::now()));
        });
        if let Some(trouble) = &trouble {
            self.give_up_check();
            self.record(trouble, false);
            if self.redirect(trouble, mode) {
                return None;
            }
        }
        let why =
            trouble.map_or_else(|| "the server closed the stream".to_owned(), |trouble| trouble.to_string());
        if let Some(position) = self.fallback.take() {
            self.watch_on(position, ended.asked, &why);
            return None;
        }
        let pause = self.pace.pause(ended);
        let until = Instant::now() + pause;
        self.note(|health| health.phase = StreamPhase::Waiting { why, until });
        Some(pause)
    }

    /// Whose word it is that there is no such resource. Proxies and balancers say 404 too, for as long as they have no
    /// server to ask; only an API server that tells all it has can lack something, and never what all have.
    async fn whose(&mut self, trouble: WatchError) -> WatchError {
        let WatchError::Refused(status) = &trouble else { return trouble };
        if status.code != 404 || self.health.borrow().absent {
            return trouble;
        }
        let client = self.client.clone();
        if F::OPTIONAL && super::served_resources::lacks::<F>(&client).await {
            return trouble;
        }
        WatchError::Foreign(Self::source(""), status.clone())
    }

    /// How the present attempt ended, as far as the next pause depends on it.
    fn ended(&self, trouble: Option<&WatchError>) -> EndedAttempt {
        EndedAttempt {
            took: self.began.elapsed(),
            lasted: self.in_step_since.map_or(Duration::ZERO, |since| since.elapsed()),
            away: !self.agreed && trouble.is_some_and(WatchError::is_away),
            asked: trouble.and_then(WatchError::asked_wait),
        }
    }

    /// The server ended a watch in good order: it has told everything up to this moment.
    fn closed(&mut self) {
        if self.in_step_since.is_some() {
            self.complete_at = Some(Instant::now());
        }
        self.note(|health| health.counters.watches_closed += 1);
    }

    /// A list that only checks what is known must not be worse than the watch: watching goes on at once where it stood.
    fn watch_on(&mut self, position: WatchPosition, asked: Option<Duration>, why: &str) {
        self.next = NextRequest::Watch(position);
        if std::mem::take(&mut self.listing) {
            // Before all that the watch tells, and handed over with it.
            self.outbox.put(WatchEvent::ListAborted);
        }
        self.list_failed(asked, why);
    }

    pub(super) fn list_failed(&mut self, asked: Option<Duration>, why: &str) {
        let again = self.relist.fails(asked).as_secs();
        tracing::warn!(
            resource = F::RESOURCE,
            err = why,
            "listing again failed: watching goes on where it stood, the list is tried again in {again} s"
        );
    }

    /// How long to wait for a whole item of a list.
    pub(super) fn patience(&self) -> Duration {
        let silence = self.settings.silence;
        // Made in one go, a list may take long to begin.
        if self.fallback.is_some() && !self.in_one_go { silence.min(CHECKING_PATIENCE) } else { silence }
    }

    /// How long to wait for the server to agree to a watch.
    pub(super) fn opening_patience(&self) -> Duration {
        self.settings.silence.min(CHECKING_PATIENCE)
    }

    /// How long a watch may be silent: it is to be ended by the server before.
    pub(super) fn watching_patience(&self) -> Duration {
        self.settings.watch_timeout.saturating_add(END_LATE_MAX)
    }

    /// Chooses what to ask for next. True if the next attempt needs no pause, because it is another request.
    fn redirect(&mut self, trouble: &WatchError, mode: ListMode) -> bool {
        let expired = matches!(trouble, WatchError::Expired(_) | WatchError::ResourceVersionWentBack { .. });
        let refused = matches!(trouble, WatchError::Refused(_));
        // An answer that is no API server's says nothing of the position.
        if self.agreed && matches!(trouble, WatchError::Malformed(_)) {
            self.malformed += 1;
        }
        if expired {
            self.note(|health| health.counters.relists_410 += 1);
        }
        match &self.next {
            // A resource that is not there is no opinion on how it is asked for.
            NextRequest::List if refused && mode == ListMode::WatchList && !trouble.is_absence() => {
                self.refuse_watch_lists();
                return true;
            }
            NextRequest::List => {}
            NextRequest::Page { .. } if expired || refused || self.malformed >= ENOUGH => {
                self.in_one_go = true;
                self.next = NextRequest::List;
            }
            NextRequest::Watch(_) if expired || refused || self.malformed >= ENOUGH => {
                self.next = NextRequest::List;
            }
            NextRequest::Page { .. } | NextRequest::Watch(_) => {}
        }
        false
    }

    /// How the next list is made (issue of servers and proxies that can't stream one).
    pub(super) fn mode(&mut self) -> ListMode {
        if self.unfinished >= ENOUGH {
            self.refuse_watch_lists();
        }
        if self.refused_at.is_some_and(|at| at.elapsed() >= REFUSAL_HOLDS) {
            self.refused_at = None;
        }
        if self.settings.watch_list && self.refused_at.is_none() {
            ListMode::WatchList
        } else {
            ListMode::PagedList
        }
    }

    pub(super) fn refuse_watch_lists(&mut self) {
        self.unfinished = 0;
        self.refused_at = Some(Instant::now());
        self.note(|health| health.counters.watch_lists_refused += 1);
        tracing::info!(
            resource = F::RESOURCE,
            "streamed lists don't work with this server: listing by pages"
        );
    }

    /// Trouble of the stream, or of a list beside it that goes on.
    pub(super) fn record(&self, trouble: &WatchError, beside: bool) {
        let text = trouble.to_string();
        tracing::debug!(resource = F::RESOURCE, trouble = text, "listening was interrupted");
        self.note(|health| {
            health.last_error = Some(text);
            health.counters.failures += 1;
            match beside {
                true => health.counters.failures_beside += 1,
                false => {
                    health.missing = None;
                    health.absent = F::OPTIONAL && trouble.is_absence();
                }
            }
            match trouble {
                WatchError::Throttled(_) => health.counters.throttled += 1,
                WatchError::IdleTimeout(_) => health.counters.stalls += 1,
                WatchError::Forbidden(missing, _) | WatchError::Unauthenticated(missing, _) => {
                    health.counters.forbidden += 1;
                    health.missing = Some(*missing).filter(|_| !beside).or(health.missing);
                }
                _ => {}
            }
        });
    }

    /// The server agreed to a request.
    pub(super) fn agreed(&mut self, phase: StreamPhase) {
        self.agreed = true;
        self.note(|health| {
            health.last_heard = Some(Instant::now());
            if phase == StreamPhase::Watching {
                health.interrupted_since = None;
            }
            health.phase = phase;
            health.missing = None;
            health.absent = false;
        });
    }

    /// A list begins; one beside the watch may have begun with a word of that.
    pub(super) fn begin_list(&mut self) {
        match self.checking {
            Some(_) if self.listing => return,
            // The watch goes on if the list fails.
            None if self.fallback.is_none() => self.told.clear(),
            _ => {}
        }
        let silent_for = self.complete_at.map(|at| at.elapsed());
        self.outbox.put(WatchEvent::ListStarted { silent_for });
        self.listing = true;
        self.note(|health| health.counters.lists += 1);
    }

    /// A list is complete as of `position`.
    pub(super) fn end_list(&mut self, position: WatchPosition) {
        self.outbox.put(WatchEvent::ListCompleted);
        self.listing = false;
        (self.unfinished, self.in_one_go) = (0, false);
        self.fallback = None;
        self.relist.ends();
        self.complete_at = Some(Instant::now());
        self.next = NextRequest::Watch(self.position_after(position));
        self.note(|health| {
            health.last_heard = Some(Instant::now());
            health.synced_once = true;
            health.counters.syncs += 1;
        });
    }

    /// So much was received.
    pub(super) fn received(&mut self, tally: &ReceivedCounts) {
        if tally.items > 0 && self.in_step_since.is_some() {
            self.complete_at = Some(Instant::now());
        }
        self.received_beside(tally);
    }

    /// So much was received of a list: no word of the watch beside it.
    pub(super) fn received_beside(&mut self, &ReceivedCounts { bytes, items, unreadable }: &ReceivedCounts) {
        let at = Instant::now();
        if items > 0 {
            self.malformed = 0;
        }
        self.note(|health| {
            health.counters.bytes += bytes;
            health.counters.items += items;
            health.counters.undecodable += unreadable;
            if items > 0 {
                health.last_heard = Some(at);
            }
        });
    }

    pub(super) fn source(verb: &'static str) -> WatchedResource {
        WatchedResource { verb, group: F::GROUP, resource: F::RESOURCE }
    }

    pub(super) fn note(&self, change: impl FnOnce(&mut StreamHealth)) {
        self.health.send_modify(change);
    }
}
