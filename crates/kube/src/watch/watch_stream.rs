//! Runs one watch, from request to end: a streamed list and its changes, or the changes after a version.

use super::attempt::{AttemptEnd, AttemptError, NextRequest, ReceivedCounts, WatchPosition};
use super::background_list;
use super::body_stream::{self, BodyStream};
use super::stream_health::StreamPhase;
use super::watch_error::WatchError;
use super::watch_event::WatchEvent;
use super::watch_loop::WatchLoop;
use super::watch_query;
use crate::decode::frames::FrameDecoder;
use crate::decode::watch_event::{self, DecodedWatchEvent};
use crate::decode::{ApiStatus, Decoded, Encoding, ObjectIdentity, UndecodableObject, WatchedObject};
use std::time::Duration;
use taintward_core::identity::ResourceVersion;
use tokio::time::{Instant, sleep_until};

/// What the present event belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamStage {
    /// A streamed list was asked for; nothing of it has come.
    Asked,
    /// Inside a streamed list.
    Listing,
    /// In step with the server.
    InStep,
}

impl<F: WatchedObject> WatchLoop<F> {
    /// Watches from a position, or with a streamed list first.
    pub(super) async fn watch(&mut self, from: Option<WatchPosition>) -> Result<AttemptEnd, AttemptError> {
        let request = match &from {
            Some(from) => watch_query::watch_from::<F>(&self.settings, from),
            None => watch_query::watch_list::<F>(&self.settings),
        }?;
        let patience = self.opening_patience();
        let mut incoming = body_stream::open(&self.client, request, patience, Self::source("watch")).await?;
        let stage = self.opened(from.is_some());
        incoming.progress(self.silence_max(stage));
        let mut tally = ReceivedCounts::default();
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
        mut incoming: BodyStream,
        mut stage: StreamStage,
        tally: &mut ReceivedCounts,
    ) -> Result<AttemptEnd, AttemptError> {
        let mut frames = FrameDecoder::new(incoming.encoding, self.settings.frame_limit);
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
                    let due_may_change = stage == StreamStage::InStep && self.check.is_none();
                    let due = if due_may_change { self.relist.due() } else { None };
                    tokio::select! {
                        biased;
                        // A server or a proxy may keep a watch open for ever.
                        () = reached(due) => match self.begin_check() {
                            true => continue,
                            false => return Ok(AttemptEnd::Due),
                        },
                        Ok(()) = self.asked.changed(), if due_may_change => {
                            self.relist.ask();
                            continue;
                        }
                        // After what the watch had to tell, before what it will: neither keeps the other waiting.
                        arrived = background_list::next(&mut self.check) => {
                            if let Some(stream) = self.checked(arrived)? {
                                (incoming, frames) = stream;
                            }
                            continue;
                        }
                        chunk = incoming.chunk() => chunk?,
                    }
                }
            };
            let Some(chunk) = chunk else { return Ok(AttemptEnd::Closed) };
            tally.bytes += chunk.len() as u64;
            frames.push(&chunk);
            self.absorb(&mut frames, incoming.encoding, &mut stage, tally)?;
            if self.checking.is_some() && self.told.is_full() {
                // Too much happens to remember it all: without the watch there is nothing to remember.
                self.give_up_check();
                return Ok(AttemptEnd::Due);
            }
        }
    }

    /// How long nothing need come.
    pub(super) fn silence_max(&self, stage: StreamStage) -> Duration {
        if stage == StreamStage::InStep { self.watching_patience() } else { self.patience() }
    }

    fn opened(&mut self, in_step: bool) -> StreamStage {
        self.note(|health| health.counters.watches_started += 1);
        if in_step {
            self.in_step();
            StreamStage::InStep
        } else {
            self.unfinished += 1;
            self.agreed(StreamPhase::Listing);
            StreamStage::Asked
        }
    }

    /// Takes in every whole event that has arrived.
    pub(super) fn absorb(
        &mut self,
        frames: &mut FrameDecoder,
        encoding: Encoding,
        stage: &mut StreamStage,
        tally: &mut ReceivedCounts,
    ) -> Result<(), WatchError> {
        while let Some(frame) = frames.next().map_err(|fault| WatchError::Malformed(fault.to_string()))? {
            let event = watch_event::read::<F>(encoding, frame);
            let event = event.map_err(|fault| WatchError::Malformed(format!("a watch event: {fault}")))?;
            if let DecodedWatchEvent::Error(status) = event {
                return Err(Self::gave_up(status, *stage));
            }
            if *stage == StreamStage::Asked {
                *stage = StreamStage::Listing;
                self.begin_list();
            }
            tally.items += 1;
            self.take_in(event, stage, tally)?;
        }
        Ok(())
    }

    fn take_in(
        &mut self,
        event: DecodedWatchEvent<F>,
        stage: &mut StreamStage,
        tally: &mut ReceivedCounts,
    ) -> Result<(), WatchError> {
        let listed = *stage != StreamStage::InStep;
        let version = match &event {
            DecodedWatchEvent::Applied(Decoded::Object(fact)) => fact.version(),
            DecodedWatchEvent::Applied(Decoded::Unbound(identity)) | DecodedWatchEvent::Deleted(identity) => {
                identity.version
            }
            DecodedWatchEvent::Applied(Decoded::Undecodable(unreadable))
            | DecodedWatchEvent::DeletedUndecodable(unreadable) => {
                tally.unreadable += 1;
                unreadable.identity.as_ref().and_then(|identity| identity.version)
            }
            DecodedWatchEvent::Bookmark { version, ends_initial } => {
                return self.bookmark(version, *ends_initial, stage);
            }
            DecodedWatchEvent::Error(_) => None,
        };
        if let (false, Some(version)) = (listed, version) {
            self.advance(version)?;
        }
        if self.checking.is_some() {
            // The list may not know of this.
            self.begin_list();
        }
        match event {
            DecodedWatchEvent::Applied(decoded) => self.put_decoded(decoded, listed),
            DecodedWatchEvent::Deleted(identity) => self.put_gone(identity, listed),
            DecodedWatchEvent::DeletedUndecodable(unreadable) => self.put_unreadable(unreadable, listed),
            DecodedWatchEvent::Bookmark { .. } | DecodedWatchEvent::Error(_) => {}
        }
        Ok(())
    }

    /// Hands over one object.
    pub(super) fn put_decoded(&mut self, decoded: Decoded<F>, listed: bool) {
        match decoded {
            Decoded::Object(fact) => {
                if !self.compares() || self.is_news(&fact.identity(), false, listed) {
                    self.outbox.put(WatchEvent::Applied { fact, listed });
                }
            }
            Decoded::Unbound(identity) => self.put_gone(identity, listed),
            Decoded::Undecodable(unreadable) => self.put_unreadable(unreadable, listed),
        }
    }

    fn put_gone(&mut self, identity: ObjectIdentity, listed: bool) {
        if self.is_news(&identity, true, listed)
            && let Some(uid) = identity.uid.clone()
        {
            self.outbox.put(WatchEvent::Deleted { uid, identity });
        }
    }

    fn put_unreadable(&mut self, unreadable: UndecodableObject, listed: bool) {
        if unreadable.identity.as_ref().is_none_or(|identity| self.is_news(identity, false, listed)) {
            self.outbox.put(WatchEvent::Undecodable(unreadable));
        }
    }

    /// Whether two tell of the same objects: a list and the watch beside it, or that goes on if it fails; or two watches
    /// of which one follows the other.
    fn compares(&self) -> bool {
        self.checking.is_some() || self.fallback.is_some() || !self.told.is_empty()
    }

    fn is_news(&mut self, object: &ObjectIdentity, gone: bool, listed: bool) -> bool {
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

    fn bookmark(
        &mut self,
        version: &str,
        ends_initial: bool,
        stage: &mut StreamStage,
    ) -> Result<(), WatchError> {
        let position = WatchPosition::of(version);
        match (*stage, position) {
            (StreamStage::Asked | StreamStage::Listing, Some(position)) if ends_initial => {
                self.end_list(position);
                *stage = StreamStage::InStep;
                self.in_step();
            }
            (StreamStage::Asked | StreamStage::Listing, None) if ends_initial => {
                return Err(WatchError::Malformed("the streamed list ends without a version".to_owned()));
            }
            (StreamStage::Asked | StreamStage::Listing, _) => self.outbox.put(WatchEvent::Bookmark),
            (StreamStage::InStep, position) => {
                match position {
                    Some(WatchPosition::Number(version)) => self.advance(version)?,
                    Some(opaque) => self.next = NextRequest::Watch(opaque),
                    None => {}
                }
                self.outbox.put(WatchEvent::Bookmark);
            }
        }
        Ok(())
    }

    /// Moves the position on. One that moves back means the server's store was replaced by an older one: its history is
    /// another, and waiting for versions to come round again would be deafness.
    fn advance(&mut self, version: ResourceVersion) -> Result<(), WatchError> {
        if let NextRequest::Watch(WatchPosition::Number(from)) = &self.next
            && version < *from
        {
            // A watch that follows one which was ahead of it tells again what that told.
            if self.checking.is_none() && !self.told.is_empty() {
                return Ok(());
            }
            return Err(WatchError::ResourceVersionWentBack { from: from.0, to: version.0 });
        }
        self.next = NextRequest::Watch(WatchPosition::Number(version));
        if self.checking.is_none() {
            self.told.passed(version);
        }
        Ok(())
    }

    /// What an ERROR event means. Before a streamed list ends, whatever is not about time, load or permission says
    /// that the server can't stream lists.
    fn gave_up(status: ApiStatus, stage: StreamStage) -> WatchError {
        match WatchError::of_status(status, Self::source("watch")) {
            WatchError::Unavailable(status) if stage != StreamStage::InStep => WatchError::Refused(status),
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
