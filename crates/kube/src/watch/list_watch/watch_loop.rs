//! Runs the list and watch loop of one kind: sends one request after the other and receives the responses.
//!
//! - See `list_watch.rs` for what is requested next, `background_list.rs` for lists alongside a watch.

use super::ListWatchState;
use super::background_list::BackgroundList;
use super::revision_check::RevisionCheck;
use crate::clock::Clock;
use crate::decode::WatchedObject;
use crate::watch::backoff::WatchBackoff;
use crate::watch::event_sequence::ReceiverDropped;
use crate::watch::event_stream::{EventStream, StreamStage};
use crate::watch::health_reporter::HealthReporter;
use crate::watch::list_page::PageOutcome;
use crate::watch::lister_watcher::ListerWatcher;
use crate::watch::stream_health::{ListMode, StreamHealth, StreamPhase};
use crate::watch::watch_settings::WatchSettings;
use crate::watch::{NextPage, NextRequest, WatchError, WatchPosition};
use futures::FutureExt as _;
use kube::Client;
use std::time::Duration;
use taintward_core::object_event::ObjectEvent;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep};

/// How an attempt without an error ended.
enum AttemptEnd {
    /// The server closed the stream.
    Closed,
    /// The last list is old, or there is more to request immediately.
    Onward,
}

/// How an attempt was stopped.
enum AttemptError {
    Failed(WatchError),
    ReceiverDropped,
}

impl From<WatchError> for AttemptError {
    fn from(error: WatchError) -> Self {
        Self::Failed(error)
    }
}

impl From<ReceiverDropped> for AttemptError {
    fn from(_: ReceiverDropped) -> Self {
        Self::ReceiverDropped
    }
}

/// Lists and watches until the consumer has ended.
pub(in crate::watch) async fn run<F: WatchedObject>(
    client: Client,
    clock: Clock,
    settings: &WatchSettings,
    out: mpsc::Sender<Vec<ObjectEvent<F>>>,
    health: watch::Sender<StreamHealth>,
) {
    WatchLoop::new(client, clock, settings, out, health).run().await;
}

struct WatchLoop<F> {
    requests: ListerWatcher,
    state: ListWatchState<F>,
    /// A list that is being made alongside the watch.
    background: Option<BackgroundList>,
    /// The timeout of its silence.
    background_silence: Duration,
    /// Checks the store for the watch that continues after an interruption.
    check: Option<RevisionCheck>,
    backoff: WatchBackoff,
    health: HealthReporter,
}

impl<F: WatchedObject> WatchLoop<F> {
    fn new(
        client: Client,
        clock: Clock,
        settings: &WatchSettings,
        out: mpsc::Sender<Vec<ObjectEvent<F>>>,
        health: watch::Sender<StreamHealth>,
    ) -> Self {
        let health = HealthReporter::new::<F>(health);
        Self {
            requests: ListerWatcher::new(client, settings),
            state: ListWatchState::new(clock, settings, out, health.clone()),
            background: None,
            background_silence: settings.silence,
            check: None,
            backoff: WatchBackoff::new(settings.pause_first, settings.pause_longest, settings.seed),
            health,
        }
    }

    async fn run(mut self) {
        loop {
            let began = Instant::now();
            self.state.begin_attempt();
            if self.background.is_none() {
                self.state.relist_if_due();
            }
            let mode = self.state.mode();
            self.health.update(|health| (health.phase, health.mode) = (StreamPhase::Connecting, mode));
            let ended = match (self.state.events.next_request().clone(), mode) {
                (NextRequest::List, ListMode::WatchList) => self.watch(None).await,
                (NextRequest::List, ListMode::PagedList) => self.page(None).await,
                (NextRequest::Page { token, since }, _) => self.page(Some((token, since))).await,
                (NextRequest::Watch(from), _) => self.watch(Some(from)).await,
            };
            let error = match ended {
                Ok(AttemptEnd::Onward) => continue,
                Ok(AttemptEnd::Closed) => {
                    self.state.closed();
                    None
                }
                Err(AttemptError::Failed(error)) => Some(self.attribute(error).await),
                Err(AttemptError::ReceiverDropped) => return,
            };
            if let Some(pause) = self.conclude(error, mode, began) {
                sleep(pause).await;
            }
        }
    }

    /// Evaluates the end of an attempt for the next request and the health; returns the pause before.
    fn conclude(&mut self, error: Option<WatchError>, mode: ListMode, began: Instant) -> Option<Duration> {
        let retry_after = error.as_ref().and_then(WatchError::retry_after);
        let (took, lasted) = (began.elapsed(), self.state.time_in_step());
        let away = error.as_ref().filter(|_| !self.state.agreed).and_then(WatchError::retry_within);
        self.check = None;
        self.health.update(|health| {
            health.interrupted_since = health.interrupted_since.or_else(|| Some(Instant::now()));
        });
        if let Some(error) = &error {
            self.end_background_list();
            self.health.failed(error, false);
            if self.state.redirect(error, mode) {
                return None;
            }
        }
        self.state.interrupted = true;
        let why = error.map_or_else(|| "the server closed the stream".to_owned(), |error| error.to_string());
        // A relist must not be worse than the watch: watching continues immediately.
        if self.state.events.resume_watch() {
            self.state.relist_failed(retry_after, &why);
            return None;
        }
        let pause = self.backoff.pause(took, lasted, away, retry_after);
        let until = Instant::now() + pause;
        self.health.update(|health| health.phase = StreamPhase::Waiting { why, until });
        Some(pause)
    }

    /// Decides whether the API server itself reported that the resource does not exist. Proxies and balancers also
    /// respond 404 while no server is behind them; only an API server that lists all its resources can lack one, and
    /// never one that all servers have.
    async fn attribute(&mut self, error: WatchError) -> WatchError {
        let WatchError::Rejected(status) = &error else { return error };
        if status.code != 404 || self.health.is_absent() {
            return error;
        }
        if F::RESOURCE.is_optional && self.requests.lacks::<F>().await {
            return error;
        }
        WatchError::Foreign(F::RESOURCE.plural, status.clone())
    }

    /// Receives the first page, or the one after a token.
    async fn page(&mut self, after: NextPage) -> Result<AttemptEnd, AttemptError> {
        let silence = self.state.list_silence();
        let body = self.requests.page::<F>(self.state.lists_whole, &after, silence).await?;
        self.state.agreed(StreamPhase::Listing);
        let mut page = self.state.start_page(body, after);
        while page.receive().await? {
            let absorbed = self.state.absorb_page(&mut page);
            let counters = page.take_counters();
            self.state.received(&counters);
            self.state.events.flush().await?;
            absorbed?;
            if counters.items > 0 {
                page.restart_timeout(silence);
            }
        }
        match self.state.end_page(page)? {
            PageOutcome::Complete(since) => self.state.end_list(since),
            PageOutcome::Next(token, since) => {
                self.state.events.request_next(NextRequest::Page { token, since });
            }
        }
        self.state.events.flush().await?;
        Ok(AttemptEnd::Onward)
    }

    /// Watches from a position, or with a streamed list first.
    async fn watch(&mut self, from: Option<WatchPosition>) -> Result<AttemptEnd, AttemptError> {
        let body = self.requests.watch::<F>(from.as_ref()).await?;
        let mut stream = match from {
            Some(from) => {
                self.check = match self.state.interrupted {
                    true => RevisionCheck::start::<F>(&self.requests, &from, self.backoff.without_failures()),
                    false => None,
                };
                self.state.start_watch(body)
            }
            None => {
                self.state.agreed(StreamPhase::Listing);
                self.state.start_streamed_list(body)
            }
        };
        let ended = self.follow(&mut stream).await;
        let counters = stream.take_counters();
        self.state.received(&counters);
        // Events decoded before the error are sent first.
        self.state.events.flush().await?;
        ended
    }

    /// Handles the stream up to its end. Everything that has arrived is sent together: a streamed list has as many
    /// chunks as objects.
    async fn follow(&mut self, stream: &mut EventStream) -> Result<AttemptEnd, AttemptError> {
        loop {
            let arrived =
                if self.state.events.has_full_batch() { None } else { stream.receive().now_or_never() };
            let received = match arrived {
                Some(received) => received?,
                None => {
                    let counters = stream.take_counters();
                    self.state.received(&counters);
                    self.state.events.flush().await?;
                    // From here on: a slow consumer is not the server's silence.
                    if counters.items > 0 {
                        stream.restart_timeout(self.state.stream_silence(stream.stage()));
                    }
                    let may_relist = stream.stage() == StreamStage::InStep && self.background.is_none();
                    tokio::select! {
                        biased;
                        // A server or a proxy may keep a watch open indefinitely.
                        () = self.state.relist.comes_due(), if may_relist => match self.begin_background_list() {
                            true => continue,
                            false => return Ok(AttemptEnd::Onward),
                        },
                        // After the events that the watch has sent, before the next: neither delays the other.
                        received = BackgroundList::receive(&mut self.background) => {
                            let replacement = BackgroundList::advance(
                                &mut self.background,
                                received,
                                &mut self.state,
                                &self.requests,
                            )?;
                            if let Some(replacement) = replacement {
                                *stream = replacement;
                                self.check = None;
                            }
                            continue;
                        }
                        checked = RevisionCheck::finish(&mut self.check) => {
                            checked?;
                            self.state.interrupted = false;
                            continue;
                        }
                        received = stream.receive() => received?,
                    }
                }
            };
            if !received {
                return Ok(AttemptEnd::Closed);
            }
            self.state.absorb_events(stream)?;
            if self.state.events.is_background_list_overtaken() {
                // Too many changes to track: without the watch there is nothing to track.
                self.end_background_list();
                return Ok(AttemptEnd::Onward);
            }
        }
    }

    /// Requests a list alongside the watch; false if the watch's position cannot be compared with a list's.
    fn begin_background_list(&mut self) -> bool {
        let Some(mode) = self.state.begin_background_list() else { return false };
        let list = BackgroundList::start(mode, self.background_silence, &self.state, &self.requests);
        self.background = Some(list);
        true
    }

    fn end_background_list(&mut self) {
        self.background = None;
        self.state.events.end_background_list();
    }
}
