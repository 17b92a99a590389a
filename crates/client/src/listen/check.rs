//! # Check: a list beside the watch
//! Room:     everything is listed again while the watch goes on; the watch that follows the list then takes its place.
//! Comes in: answers to the list, one at a time, whenever the watch has nothing to tell.
//! Goes out: things heard, as of any list; the new watch.
//! Keeps:    the watch is heard all the while, and is not touched if the list fails. What both tell is told in order
//!           (`told.rs`): of what the watch told since the list was asked for, only a later state is news. The list
//!           counts as begun (`SyncBegins`) before the first word of the watch that it may not know of, so that nothing
//!           that came, or is gone, meanwhile is swept or comes back. At most one connection more.
//! Not here: when it is due (`relist.rs`); lists without a watch beside them (`watching.rs`, `pages.rs`).
//!
//! The new watch goes on from the list's own version. If the old one was ahead of that, what it told comes once more, and
//! is no news. If the list stands for an earlier version than the watch did when the list was asked for, the server's
//! store was replaced by an older one: then the list's word is the only one that counts.

use super::Heard;
use super::health::{Mode, Phase};
use super::pages::{After, Page, Turn};
use super::query;
use super::session::Session;
use super::step::{Next, Position, Tally};
use super::talk::{self, Incoming};
use super::trouble::Trouble;
use super::watching::Stage;
use crate::decode::Fact;
use crate::decode::frames::Frames;
use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use taintward_core::identity::ResourceVersion;

/// A list that is being made beside the watch.
pub(super) enum Check {
    /// A request was sent.
    Asked(BoxFuture<'static, Result<Incoming, Trouble>>, Wanted),
    /// A page is received.
    Paged(Incoming, Page),
    /// A streamed list is received.
    Streamed(Incoming, Frames, Stage),
}

/// What was asked for.
pub(super) enum Wanted {
    /// A streamed list, and the watch that follows it.
    Stream,
    /// A page.
    Page(After),
    /// The watch after the last page.
    Watch(Position),
}

/// What came.
pub(super) enum Arrived {
    Answer(Incoming),
    Bytes(Option<Bytes>),
}

/// What follows.
enum Onward {
    Check(Check),
    /// The list is complete, and this watch follows it.
    Watch(Incoming, Frames),
}

/// What comes next of it; never, if there is none. Dropped, it loses nothing.
pub(super) async fn next(check: &mut Option<Check>) -> Result<Arrived, Trouble> {
    match check {
        None => std::future::pending().await,
        Some(Check::Asked(answer, _)) => answer.await.map(Arrived::Answer),
        Some(Check::Paged(incoming, _) | Check::Streamed(incoming, ..)) => {
            incoming.chunk().await.map(Arrived::Bytes)
        }
    }
}

impl<F: Fact> Session<F> {
    /// Asks for a list beside the watch; false if the watch's position can't be compared with a list's.
    pub(super) fn begin_check(&mut self) -> bool {
        let Next::Watch(Position::Number(position)) = self.next else { return false };
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
            Mode::WatchList => Wanted::Stream,
            Mode::PagedList => Wanted::Page(None),
        }));
        true
    }

    fn ask(&self, wanted: Wanted) -> Check {
        let (request, patience, verb) = match &wanted {
            Wanted::Stream => (query::watch_list::<F>(&self.settings), self.opening_patience(), "watch"),
            Wanted::Page(after) => (self.page_request(after), self.settings.silence, "list"),
            Wanted::Watch(from) => {
                (query::watch_from::<F>(&self.settings, from), self.opening_patience(), "watch")
            }
        };
        let client = self.client.clone();
        let answer = async move { talk::open(&client, request?, patience, Self::source(verb)).await };
        Check::Asked(answer.boxed(), wanted)
    }

    /// Takes in what came. Goes out: the watch that takes the place of the present one. Trouble is that watch's own.
    pub(super) fn checked(
        &mut self,
        arrived: Result<Arrived, Trouble>,
    ) -> Result<Option<(Incoming, Frames)>, Trouble> {
        let Some(check) = self.check.take() else { return Ok(None) };
        let (of_stream, of_later_page) = match &check {
            Check::Asked(_, wanted) => {
                (matches!(wanted, Wanted::Stream), matches!(wanted, Wanted::Page(Some(_)) | Wanted::Watch(_)))
            }
            Check::Streamed(..) => (true, false),
            Check::Paged(_, page) => (false, !page.is_first()),
        };
        match arrived.and_then(|arrived| self.go_on(check, arrived)) {
            Ok(Onward::Check(check)) => {
                self.check = Some(check);
                Ok(None)
            }
            Ok(Onward::Watch(incoming, frames)) => Ok(Some((incoming, frames))),
            Err(trouble) if self.checking.is_none() => Err(trouble),
            Err(trouble) => {
                self.check_failed(&trouble, of_stream, of_later_page);
                Ok(None)
            }
        }
    }

    fn go_on(&mut self, check: Check, arrived: Arrived) -> Result<Onward, Trouble> {
        let limit = self.settings.frame_limit;
        let check = match (check, arrived) {
            (Check::Asked(_, Wanted::Page(after)), Arrived::Answer(incoming)) => {
                let page = self.page_begins(incoming.encoding, after);
                Check::Paged(incoming, page)
            }
            (Check::Asked(_, Wanted::Stream), Arrived::Answer(mut incoming)) => {
                self.note(|health| health.counters.watches_started += 1);
                self.unfinished += 1;
                incoming.progress(self.settings.silence);
                let frames = Frames::new(incoming.encoding, limit);
                Check::Streamed(incoming, frames, Stage::Asked)
            }
            (Check::Asked(_, Wanted::Watch(from)), Arrived::Answer(mut incoming)) => {
                self.note(|health| health.counters.watches_started += 1);
                self.end_list(from);
                self.in_step();
                incoming.progress(self.watching_patience());
                let frames = Frames::new(incoming.encoding, limit);
                return Ok(Onward::Watch(incoming, frames));
            }
            (Check::Paged(mut incoming, mut page), Arrived::Bytes(Some(chunk))) => {
                let mut tally = Tally::default();
                let understood = self.take_in_page(&mut page, &chunk, &mut tally);
                self.received_beside(&tally);
                understood?;
                if tally.items > 0 {
                    incoming.progress(self.settings.silence);
                }
                Check::Paged(incoming, page)
            }
            (Check::Paged(_, page), Arrived::Bytes(None)) => self.ask(match page.turn()? {
                Turn::Onward(onward, since) => Wanted::Page(Some((onward, since))),
                Turn::Complete(since) => Wanted::Watch(since),
            }),
            (Check::Streamed(mut incoming, mut frames, mut stage), Arrived::Bytes(Some(chunk))) => {
                let mut tally = Tally { bytes: chunk.len() as u64, ..Tally::default() };
                frames.push(&chunk);
                let understood = self.absorb(&mut frames, incoming.encoding, &mut stage, &mut tally);
                self.received_beside(&tally);
                understood?;
                if tally.items > 0 {
                    incoming.progress(self.silence_max(stage));
                }
                if stage == Stage::InStep {
                    return Ok(Onward::Watch(incoming, frames));
                }
                Check::Streamed(incoming, frames, stage)
            }
            (Check::Streamed(..), Arrived::Bytes(None)) => {
                return Err(Trouble::Broken(
                    "the server closed the stream before the list was complete".into(),
                ));
            }
            // An answer comes to a request, bytes come of an answer.
            (check, _) => check,
        };
        Ok(Onward::Check(check))
    }

    /// The list is given up; the watch has gone on all the while.
    fn check_failed(&mut self, trouble: &Trouble, of_stream: bool, of_later_page: bool) {
        self.give_up_check();
        if std::mem::take(&mut self.listing) {
            self.outbox.put(Heard::SyncAborted);
        }
        self.record(trouble, true);
        let refused = matches!(trouble, Trouble::Refused(_)) && !trouble.is_absence();
        if refused && of_stream {
            // It is due all the same: by pages.
            return self.refuse_watch_lists();
        }
        self.malformed += u32::from(matches!(trouble, Trouble::Malformed(_)));
        if of_later_page && (refused || matches!(trouble, Trouble::Expired(_))) {
            self.in_one_go = true;
        }
        self.list_failed(trouble.asked_wait(), &trouble.to_string());
    }

    /// The list beside the watch ends here, whatever it has told.
    pub(super) fn give_up_check(&mut self) {
        (self.check, self.checking) = (None, None);
        if let Next::Watch(Position::Number(position)) = self.next {
            self.told.passed(position);
        }
    }

    /// Where watching goes on after a list. What the watch told since the list's own version will come once more.
    pub(super) fn position_after(&mut self, listed: Position) -> Position {
        if let (Some(since), Next::Watch(Position::Number(at)), Position::Number(version)) =
            (self.checking.take(), &self.next, &listed)
            && (since..*at).contains(version)
        {
            return Position::Number(*at);
        }
        self.told.clear();
        listed
    }

    /// The version that the watch has told up to, of whatever is listed at present.
    pub(super) fn watched_up_to(&self) -> Option<ResourceVersion> {
        match (&self.next, &self.fallback) {
            (Next::Watch(Position::Number(version)), _) | (_, Some(Position::Number(version))) => {
                Some(*version)
            }
            _ => None,
        }
    }

    /// From here on, changes are told as they happen.
    pub(super) fn in_step(&mut self) {
        self.in_step_since = Some(tokio::time::Instant::now());
        self.agreed(Phase::Watching);
    }
}
