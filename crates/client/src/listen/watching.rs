//! # Watching: one watch, from request to end
//! Room:     a streamed list and what follows it, or what follows a known position.
//! Comes in: events of one stream.
//! Goes out: things heard; where the watch stands; how it ended.
//! Not here: what to do next (`session.rs`).

use super::Heard;
use super::check;
use super::health::Phase;
use super::query;
use super::session::Session;
use super::step::{Done, Next, Position, Stop, Tally};
use super::talk::{self, Incoming};
use super::trouble::Trouble;
use crate::decode::event::{self, Event};
use crate::decode::frames::Frames;
use crate::decode::{ApiStatus, Decoded, Encoding, Fact, Identity, Unreadable};
use std::time::Duration;
use taintward_core::identity::ResourceVersion;
use tokio::time::{Instant, sleep_until};

/// What the present event belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// A streamed list was asked for; nothing of it has come.
    Asked,
    /// Inside a streamed list.
    Listing,
    /// In step with the server.
    InStep,
}

impl<F: Fact> Session<F> {
    /// Watches from a position, or with a streamed list first.
    pub(super) async fn watch(&mut self, from: Option<Position>) -> Result<Done, Stop> {
        let request = match &from {
            Some(from) => query::watch_from::<F>(&self.settings, from),
            None => query::watch_list::<F>(&self.settings),
        }?;
        let patience = self.opening_patience();
        let mut incoming = talk::open(&self.client, request, patience, Self::source("watch")).await?;
        let stage = self.opened(from.is_some());
        incoming.progress(self.silence_max(stage));
        let mut tally = Tally::default();
        let ended = self.follow(incoming, stage, &mut tally).await;
        self.received(&tally);
        // What was understood before the trouble goes out first.
        self.outbox.flush().await?;
        ended
    }

    /// Takes in the stream up to its end. All that has arrived is handed over together: a streamed list comes in as
    /// many chunks as it has objects.
    async fn follow(
        &mut self,
        mut incoming: Incoming,
        mut stage: Stage,
        tally: &mut Tally,
    ) -> Result<Done, Stop> {
        let mut frames = Frames::new(incoming.encoding, self.settings.frame_limit);
        loop {
            let arrived = if self.outbox.is_full() { None } else { incoming.arrived() };
            let chunk = match arrived {
                Some(chunk) => chunk?,
                None => {
                    self.received(tally);
                    self.outbox.flush().await?;
                    // From here on: a slow consumer is not the server's silence.
                    if std::mem::take(tally).items > 0 {
                        incoming.progress(self.silence_max(stage));
                    }
                    let due_may_change = stage == Stage::InStep && self.check.is_none();
                    let due = if due_may_change { self.relist.due() } else { None };
                    tokio::select! {
                        biased;
                        // A server or a proxy may keep a watch open for ever.
                        () = reached(due) => match self.begin_check() {
                            true => continue,
                            false => return Ok(Done::Due),
                        },
                        Ok(()) = self.asked.changed(), if due_may_change => {
                            self.relist.ask();
                            continue;
                        }
                        // After what the watch had to tell, before what it will: neither keeps the other waiting.
                        arrived = check::next(&mut self.check) => {
                            if let Some(stream) = self.checked(arrived)? {
                                (incoming, frames) = stream;
                            }
                            continue;
                        }
                        chunk = incoming.chunk() => chunk?,
                    }
                }
            };
            let Some(chunk) = chunk else { return Ok(Done::Closed) };
            tally.bytes += chunk.len() as u64;
            frames.push(&chunk);
            self.absorb(&mut frames, incoming.encoding, &mut stage, tally)?;
            if self.checking.is_some() && self.told.is_full() {
                // Too much happens to remember it all: without the watch there is nothing to remember.
                self.give_up_check();
                return Ok(Done::Due);
            }
        }
    }

    /// How long nothing need come.
    pub(super) fn silence_max(&self, stage: Stage) -> Duration {
        if stage == Stage::InStep { self.watching_patience() } else { self.patience() }
    }

    fn opened(&mut self, in_step: bool) -> Stage {
        self.note(|health| health.counters.watches_started += 1);
        if in_step {
            self.in_step();
            Stage::InStep
        } else {
            self.unfinished += 1;
            self.agreed(Phase::Listing);
            Stage::Asked
        }
    }

    /// Takes in every whole event that has arrived.
    pub(super) fn absorb(
        &mut self,
        frames: &mut Frames,
        encoding: Encoding,
        stage: &mut Stage,
        tally: &mut Tally,
    ) -> Result<(), Trouble> {
        while let Some(frame) = frames.next().map_err(|fault| Trouble::Malformed(fault.to_string()))? {
            let event = event::read::<F>(encoding, frame);
            let event = event.map_err(|fault| Trouble::Malformed(format!("a watch event: {fault}")))?;
            if let Event::Error(status) = event {
                return Err(Self::gave_up(status, *stage));
            }
            if *stage == Stage::Asked {
                *stage = Stage::Listing;
                self.begin_list();
            }
            tally.items += 1;
            self.take_in(event, stage, tally)?;
        }
        Ok(())
    }

    fn take_in(&mut self, event: Event<F>, stage: &mut Stage, tally: &mut Tally) -> Result<(), Trouble> {
        let listed = *stage != Stage::InStep;
        let version = match &event {
            Event::Seen(Decoded::Fact(fact)) => fact.version(),
            Event::Seen(Decoded::Unbound(identity)) | Event::Gone(identity) => identity.version,
            Event::Seen(Decoded::Unreadable(unreadable)) | Event::GoneUnknown(unreadable) => {
                tally.unreadable += 1;
                unreadable.identity.as_ref().and_then(|identity| identity.version)
            }
            Event::Bookmark { version, ends_initial } => {
                return self.bookmark(version, *ends_initial, stage);
            }
            Event::Error(_) => None,
        };
        if let (false, Some(version)) = (listed, version) {
            self.advance(version)?;
        }
        if self.checking.is_some() {
            // The list may not know of this.
            self.begin_list();
        }
        match event {
            Event::Seen(decoded) => self.put_decoded(decoded, listed),
            Event::Gone(identity) => self.put_gone(identity, listed),
            Event::GoneUnknown(unreadable) => self.put_unreadable(unreadable, listed),
            Event::Bookmark { .. } | Event::Error(_) => {}
        }
        Ok(())
    }

    /// Hands over one object.
    pub(super) fn put_decoded(&mut self, decoded: Decoded<F>, listed: bool) {
        match decoded {
            Decoded::Fact(fact) => {
                if !self.compares() || self.is_news(&fact.identity(), false, listed) {
                    self.outbox.put(Heard::Seen { fact, listed });
                }
            }
            Decoded::Unbound(identity) => self.put_gone(identity, listed),
            Decoded::Unreadable(unreadable) => self.put_unreadable(unreadable, listed),
        }
    }

    fn put_gone(&mut self, identity: Identity, listed: bool) {
        if self.is_news(&identity, true, listed)
            && let Some(uid) = identity.uid.clone()
        {
            self.outbox.put(Heard::Gone { uid, identity });
        }
    }

    fn put_unreadable(&mut self, unreadable: Unreadable, listed: bool) {
        if unreadable.identity.as_ref().is_none_or(|identity| self.is_news(identity, false, listed)) {
            self.outbox.put(Heard::Unreadable(unreadable));
        }
    }

    /// Whether two tell of the same objects: a list and the watch beside it, or that goes on if it fails; or two watches
    /// of which one follows the other.
    fn compares(&self) -> bool {
        self.checking.is_some() || self.fallback.is_some() || !self.told.is_empty()
    }

    fn is_news(&mut self, object: &Identity, gone: bool, listed: bool) -> bool {
        if !self.compares() {
            return true;
        }
        let (beside, position) = (self.checking.is_some(), self.watched_up_to());
        match listed {
            // Without the watch beside it, the list's word is the only one.
            true => self.told.by_list(object, position) || !beside,
            false => self.told.by_watch(object, gone, beside),
        }
    }

    fn bookmark(&mut self, version: &str, ends_initial: bool, stage: &mut Stage) -> Result<(), Trouble> {
        let position = Position::of(version);
        match (*stage, position) {
            (Stage::Asked | Stage::Listing, Some(position)) if ends_initial => {
                self.end_list(position);
                *stage = Stage::InStep;
                self.in_step();
            }
            (Stage::Asked | Stage::Listing, None) if ends_initial => {
                return Err(Trouble::Malformed("the streamed list ends without a version".to_owned()));
            }
            (Stage::Asked | Stage::Listing, _) => self.outbox.put(Heard::Quiet),
            (Stage::InStep, position) => {
                match position {
                    Some(Position::Number(version)) => self.advance(version)?,
                    Some(opaque) => self.next = Next::Watch(opaque),
                    None => {}
                }
                self.outbox.put(Heard::Quiet);
            }
        }
        Ok(())
    }

    /// Moves the position on. One that moves back means the server's store was replaced by an older one: its history is
    /// another, and waiting for versions to come round again would be deafness.
    fn advance(&mut self, version: ResourceVersion) -> Result<(), Trouble> {
        if let Next::Watch(Position::Number(from)) = &self.next
            && version < *from
        {
            // A watch that follows one which was ahead of it tells again what that told.
            if self.checking.is_none() && !self.told.is_empty() {
                return Ok(());
            }
            return Err(Trouble::Rewound { from: from.0, to: version.0 });
        }
        self.next = Next::Watch(Position::Number(version));
        if self.checking.is_none() {
            self.told.passed(version);
        }
        Ok(())
    }

    /// What an ERROR event means. Before a streamed list ends, whatever is not about time, load or permission says
    /// that the server can't stream lists.
    fn gave_up(status: ApiStatus, stage: Stage) -> Trouble {
        match Trouble::of_status(status, Self::source("watch")) {
            Trouble::Unavailable(status) if stage != Stage::InStep => Trouble::Refused(status),
            trouble => trouble,
        }
    }
}

/// Comes at that moment; never, if there is none.
async fn reached(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
