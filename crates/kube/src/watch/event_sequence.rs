//! Puts the objects of lists and watches into one sequence of events, and sends it in batches.
//!
//! - Invariant: no object goes back in time, unless the server's store does. Nothing is dropped: a full channel pauses
//!   the watch.
//! - See `delivered_objects.rs` for what is compared, `background_list.rs` for lists alongside a watch.

use super::delivered_objects::DeliveredObjects;
use super::health_reporter::HealthReporter;
use super::{NextRequest, WatchError, WatchPosition};
use crate::clock::Clock;
use crate::decode::watch_event::DecodedWatchEvent;
use crate::decode::{Decoded, ObjectIdentity, UndecodableObject, WatchedObject};
use crate::error_text::sanitize;
use std::collections::HashSet;
use taintward_core::identity::ResourceVersion;
use taintward_core::object_event::{ObjectEvent, ObjectRef};
use taintward_core::time::Mono;
use tokio::sync::mpsc;

/// At most this many undecodable objects are named in the log; further ones are only counted.
const NAMED_MAX: usize = 1024;

/// The consumer has ended.
#[derive(Debug)]
pub(super) struct ReceiverDropped;

/// The events that were sent, and the position of the watch.
pub(super) struct EventSequence<F> {
    batcher: Batcher<F>,
    clock: Clock,
    health: HealthReporter,
    next: NextRequest,
    /// During a list although the position is known: where watching continues if the list fails.
    fallback: Option<WatchPosition>,
    /// A list was started, and not ended.
    is_listing: bool,
    /// The position of the watch when the list alongside it was requested.
    background_since: Option<ResourceVersion>,
    delivered: DeliveredObjects,
    /// When the consumer was last known to have received everything.
    complete_at: Option<Mono>,
}

impl<F: WatchedObject> EventSequence<F> {
    pub(super) fn new(
        out: mpsc::Sender<Vec<ObjectEvent<F>>>,
        clock: Clock,
        batch_limit: usize,
        health: HealthReporter,
    ) -> Self {
        Self {
            batcher: Batcher { out, limit: batch_limit.max(1), batch: Vec::new(), named: HashSet::new() },
            clock,
            health,
            next: NextRequest::List,
            fallback: None,
            is_listing: false,
            background_since: None,
            delivered: DeliveredObjects::default(),
            complete_at: None,
        }
    }

    pub(super) fn next_request(&self) -> &NextRequest {
        &self.next
    }

    pub(super) fn request_next(&mut self, next: NextRequest) {
        self.next = next;
    }

    /// Whether there is a whole batch to send.
    pub(super) fn has_full_batch(&self) -> bool {
        self.batcher.batch.len() >= self.batcher.limit
    }

    /// Sends everything, waiting while the consumer is busy.
    pub(super) async fn flush(&mut self) -> Result<(), ReceiverDropped> {
        self.batcher.flush().await
    }

    /// Every change up to this moment has been received.
    pub(super) fn mark_complete(&mut self) {
        self.complete_at = Some(self.clock.now().mono);
    }

    /// Requests a list instead of the changes after the position, to which [`Self::resume_watch`] returns.
    pub(super) fn begin_relist(&mut self, position: WatchPosition) {
        self.fallback = Some(position);
        self.next = NextRequest::List;
    }

    /// Whether a list runs although the position is known, and no watch runs alongside it.
    pub(super) fn is_relisting(&self) -> bool {
        self.fallback.is_some()
    }

    /// Returns to the changes after the position at which a list was started; false if there is none.
    pub(super) fn resume_watch(&mut self) -> bool {
        let Some(position) = self.fallback.take() else { return false };
        self.next = NextRequest::Watch(position);
        // Before any event of the watch, and sent together with it.
        self.abort_list();
        true
    }

    /// Prepares for a list alongside the watch; false if the watch's position cannot be compared with a list's.
    pub(super) fn begin_background_list(&mut self) -> bool {
        let NextRequest::Watch(WatchPosition::Number(position)) = self.next else { return false };
        self.delivered = DeliveredObjects::default();
        self.background_since = Some(position);
        true
    }

    pub(super) fn has_background_list(&self) -> bool {
        self.background_since.is_some()
    }

    /// Whether more objects changed alongside the list than can be tracked.
    pub(super) fn is_background_list_overtaken(&self) -> bool {
        self.has_background_list() && self.delivered.is_full()
    }

    /// Ends the list alongside the watch, whatever it has delivered.
    pub(super) fn end_background_list(&mut self) {
        self.background_since = None;
        if let NextRequest::Watch(WatchPosition::Number(position)) = self.next {
            self.delivered.passed(position);
        }
    }

    /// Starts a list; one alongside the watch may have started with a change that it may lack.
    pub(super) fn begin_list(&mut self) {
        match self.background_since {
            Some(_) if self.is_listing => return,
            // The watch continues if the list fails.
            None if self.fallback.is_none() => self.delivered = DeliveredObjects::default(),
            _ => {}
        }
        self.batcher.batch.push(ObjectEvent::ListStarted { silent_since: self.complete_at });
        self.is_listing = true;
        self.health.update(|health| health.counters.lists += 1);
    }

    /// A list is complete as of `position`.
    pub(super) fn end_list(&mut self, position: WatchPosition) {
        self.batcher.batch.push(ObjectEvent::ListCompleted);
        self.is_listing = false;
        self.fallback = None;
        self.mark_complete();
        self.next = NextRequest::Watch(self.position_after(position));
        self.health.list_completed();
    }

    /// Aborts a list.
    pub(super) fn abort_list(&mut self) {
        if std::mem::take(&mut self.is_listing) {
            self.batcher.batch.push(ObjectEvent::ListAborted);
        }
    }

    /// Adds one event of a watch, or an object of a page; `listed` if it belongs to a list.
    pub(super) fn put_event(&mut self, event: DecodedWatchEvent<F>, listed: bool) -> Result<(), WatchError> {
        let version = match &event {
            DecodedWatchEvent::Applied(Decoded::Object(fact)) => fact.version(),
            DecodedWatchEvent::Applied(Decoded::Unbound(identity)) | DecodedWatchEvent::Deleted(identity) => {
                identity.version
            }
            DecodedWatchEvent::Applied(Decoded::Undecodable(object))
            | DecodedWatchEvent::DeletedUndecodable(object) => {
                object.identity.as_ref().and_then(|identity| identity.version)
            }
            DecodedWatchEvent::Bookmark { version, .. } => return self.put_bookmark(version, listed),
            DecodedWatchEvent::Error(_) => None,
        };
        if let (false, Some(version)) = (listed, version) {
            self.advance(version)?;
        }
        if self.has_background_list() {
            // The list may lack this change.
            self.begin_list();
        }
        match event {
            DecodedWatchEvent::Applied(decoded) => self.put_decoded(decoded, listed),
            DecodedWatchEvent::Deleted(identity) => self.put_deleted(identity, listed),
            DecodedWatchEvent::DeletedUndecodable(object) => self.put_undecodable(object, listed),
            DecodedWatchEvent::Bookmark { .. } | DecodedWatchEvent::Error(_) => {}
        }
        Ok(())
    }

    fn put_bookmark(&mut self, version: &str, listed: bool) -> Result<(), WatchError> {
        match WatchPosition::of(version) {
            Some(WatchPosition::Number(version)) if !listed => self.advance(version)?,
            Some(opaque) if !listed => self.next = NextRequest::Watch(opaque),
            _ => {}
        }
        Ok(())
    }

    fn put_decoded(&mut self, decoded: Decoded<F>, listed: bool) {
        match decoded {
            Decoded::Object(fact) => {
                if !self.compares() || self.is_new(&fact.identity(), false, listed) {
                    self.batcher.batch.push(ObjectEvent::Applied { fact, listed });
                }
            }
            Decoded::Unbound(identity) => self.put_deleted(identity, listed),
            Decoded::Undecodable(object) => self.put_undecodable(object, listed),
        }
    }

    /// A deletion without a UID is undecodable, and does not get here.
    fn put_deleted(&mut self, identity: ObjectIdentity, listed: bool) {
        if self.is_new(&identity, true, listed) {
            self.batcher.batch.push(ObjectEvent::Deleted(identity.into()));
        }
    }

    fn put_undecodable(&mut self, object: UndecodableObject, listed: bool) {
        if !object.identity.as_ref().is_none_or(|identity| self.is_new(identity, false, listed)) {
            return;
        }
        self.batcher.warn(&object);
        self.health.update(|health| health.counters.undecodable += 1);
        self.batcher.batch.extend(object.identity.map(|identity| ObjectEvent::Undecodable(identity.into())));
    }

    /// Whether two requests deliver the same objects: a list and the watch alongside it, or the watch that continues if
    /// it fails; or two watches of which one follows the other.
    fn compares(&self) -> bool {
        self.has_background_list() || self.is_relisting() || !self.delivered.is_empty()
    }

    fn is_new(&mut self, object: &ObjectIdentity, deleted: bool, listed: bool) -> bool {
        if !self.compares() {
            return true;
        }
        let (beside, position) = (self.has_background_list(), self.watched_up_to());
        match listed {
            // Without the watch alongside it, only the list counts.
            true => self.delivered.by_list(object, position) || !beside,
            false => self.delivered.by_watch(object, deleted, beside),
        }
    }

    /// The version up to which the watch has delivered what is being listed.
    fn watched_up_to(&self) -> Option<ResourceVersion> {
        match (&self.next, &self.fallback) {
            (NextRequest::Watch(WatchPosition::Number(version)), _)
            | (_, Some(WatchPosition::Number(version))) => Some(*version),
            _ => None,
        }
    }

    /// Where watching continues after a list. Events that the watch delivered since the list's own version arrive
    /// again.
    fn position_after(&mut self, listed: WatchPosition) -> WatchPosition {
        if let (Some(since), NextRequest::Watch(WatchPosition::Number(at)), WatchPosition::Number(version)) =
            (self.background_since.take(), &self.next, &listed)
            && (since..*at).contains(version)
        {
            return WatchPosition::Number(*at);
        }
        self.delivered = DeliveredObjects::default();
        listed
    }

    /// Advances the position. A position that moves back means that the server's store was replaced by an older one:
    /// its history is another, and waiting until its versions catch up would miss all events.
    fn advance(&mut self, version: ResourceVersion) -> Result<(), WatchError> {
        if let NextRequest::Watch(WatchPosition::Number(from)) = &self.next
            && version < *from
        {
            // A watch that follows one which was ahead of it delivers its events again.
            if !self.has_background_list() && !self.delivered.is_empty() {
                return Ok(());
            }
            return Err(WatchError::ResourceVersionWentBack { from: from.0, to: version.0 });
        }
        self.next = NextRequest::Watch(WatchPosition::Number(version));
        if !self.has_background_list() {
            self.delivered.passed(version);
        }
        Ok(())
    }
}

/// Sends events in batches through a bounded channel, and warns once about each undecodable object.
struct Batcher<F> {
    out: mpsc::Sender<Vec<ObjectEvent<F>>>,
    limit: usize,
    batch: Vec<ObjectEvent<F>>,
    named: HashSet<String>,
}

impl<F: WatchedObject> Batcher<F> {
    async fn flush(&mut self) -> Result<(), ReceiverDropped> {
        while !self.batch.is_empty() {
            let rest = self.batch.split_off(self.limit.min(self.batch.len()));
            let batch = std::mem::replace(&mut self.batch, rest);
            self.out.send(batch).await.map_err(|_| ReceiverDropped)?;
        }
        Ok(())
    }

    fn warn(&mut self, undecodable: &UndecodableObject) {
        let object =
            undecodable.identity.as_ref().map_or_else(|| "an unknown object".to_owned(), identity_text);
        if self.named.len() >= NAMED_MAX || !self.named.insert(object.clone()) {
            return;
        }
        tracing::warn!(
            resource = F::RESOURCE.plural,
            object,
            err = undecodable.why,
            "cannot decode an object, skipping it until it has a version that can be decoded"
        );
        if self.named.len() == NAMED_MAX {
            tracing::warn!(
                resource = F::RESOURCE.plural,
                "further undecodable objects are counted in the metrics, but not logged"
            );
        }
    }
}

impl From<ObjectIdentity> for ObjectRef {
    fn from(ObjectIdentity { uid, name, node, .. }: ObjectIdentity) -> Self {
        Self { name: name.into(), uid, node }
    }
}

fn identity_text(identity: &ObjectIdentity) -> String {
    let uid = identity.uid.as_ref().map_or_else(|| "unknown".to_owned(), ToString::to_string);
    let slash = if identity.namespace.is_empty() { "" } else { "/" };
    sanitize(&format!("{}{slash}{} (uid {uid})", identity.namespace, identity.name), 400)
}
