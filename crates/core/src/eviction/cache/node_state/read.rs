//! Applies live reads of nodes, which deletions require.
//!
//! - Invariant: a read that is older than what was known, or shows another instance of a taint, confirms nothing (S2).

use super::{CacheStaleness, NodeSource};
use crate::api_error::ApiFailure;
use crate::backoff::backoff;
use crate::engine::LiveRead;
use crate::eviction::cache::CacheUpdate;
use crate::eviction::notice::EvictionNotice;
use crate::eviction::{NodeConfirmation, ReadTimes};
use crate::fact::NodeFact;
use crate::identity::{NodeName, ResourceVersion, Uid};
use crate::object_event::{ObjectIndex, ObjectRef};
use crate::time::{Mono, Now};

/// How many reads wait for the watch to deliver another reported start of a taint.
const NEWER_READS_MAX: u32 = 5;

/// After how many consecutive reads that do not find a node that the watch knows, everything is listed again.
const ABSENCES_DOUBTED: u32 = 3;

/// The response to a live read of a node.
struct NodeReadResponse<'a, 'u> {
    update: &'a mut CacheUpdate<'u>,
    node: &'a NodeName,
    sent: Mono,
    /// How often it failed before.
    tries: u32,
    /// What was known when it was sent.
    known: Option<ResourceVersion>,
}

impl CacheUpdate<'_> {
    /// Handles the response to a live read of a node. The pods that waited for it get their turn, or another retry
    /// time.
    pub(in crate::eviction) fn confirm_node(
        &mut self,
        node: &NodeName,
        sent: Mono,
        result: Result<LiveRead<NodeFact>, ApiFailure>,
        now: Now,
    ) {
        let Some(entry) = self.cache.nodes.get_mut(node) else { return };
        let NodeConfirmation::InFlight { tries, void, known, .. } = entry.confirmation else { return };
        entry.confirmation = NodeConfirmation::None;
        let mut response = NodeReadResponse { update: self, node, sent, tries, known };
        let failure = match result {
            Ok(_) | Err(ApiFailure::NotFound) if void => None,
            Ok(LiveRead::Found(fact)) => response.found(fact, now),
            Ok(LiveRead::Undecodable) => {
                ObjectIndex::<NodeFact>::undecodable(response.update, ObjectRef::node(node, None), now);
                None
            }
            // One response does not remove it: if the node is gone, the watch or a list reports that, too.
            Ok(LiveRead::NotFound) => Some(ApiFailure::NotFound),
            Err(failure) => Some(failure),
        };
        match failure {
            Some(failure) => response.failed(failure, now.mono),
            None => self.state.queue.unpark(node),
        }
        self.cache.remove_empty_entry(node);
    }
}

impl CacheUpdate<'_> {
    /// Counts as a read that found the node as it is known: for a copy that sends nothing.
    pub(in crate::eviction) fn confirm_as_known(&mut self, node: &NodeName, now: Mono) {
        if let Some(entry) = self.cache.nodes.get_mut(node) {
            entry.confirmation = NodeConfirmation::At(ReadTimes { sent: now, received: now });
        }
        self.state.queue.unpark(node);
    }
}

impl NodeReadResponse<'_, '_> {
    /// Applies a live read of a node, and counts it as a confirmation unless there is a reason not to.
    ///
    /// A quorum read cannot be older than what was known when it was sent, unless the store was restored to an earlier
    /// state (the watch may overtake the read in flight, which does not matter). Then everything known before belongs
    /// to another history: the read is applied as if it came from a list, no pod is evicted by it before the node is
    /// read once more, and everything should be listed again.
    ///
    /// A read that is ahead of the watch may show another instance of a known taint. Within the second of the reported
    /// start, the engine counts from the end of that second; if the reported start differs, the watch gets a little
    /// time to show whether a client only rewrote it (P46).
    fn found(&mut self, fact: NodeFact, now: Now) -> Option<ApiFailure> {
        let entry = self.update.cache.nodes.get_mut(&fact.name)?;
        if fact.version.is_some() && fact.version < self.known {
            self.update.state.notices.push(EvictionNotice::ResourceVersionWentBack);
            // What was delivered since may belong to the new history.
            if entry.state.as_ref().is_some_and(|known| known.version() == self.known) {
                self.update.apply_observed_node(fact, NodeSource::List { absent_until: None }, now);
            }
            return None;
        }
        let behind =
            entry.state.as_ref().map_or(CacheStaleness::UpToDate, |known| known.staleness(&fact, now));
        if behind == CacheStaleness::Newer && self.tries < NEWER_READS_MAX {
            return Some(ApiFailure::Conflict);
        }
        let last_notice = fact.version.is_some() && behind == CacheStaleness::UpToDate;
        let source = if last_notice { NodeSource::Watch } else { NodeSource::NewerRead };
        // One that comes too late is a failure, which replaces this.
        entry.confirmation = NodeConfirmation::At(ReadTimes { sent: self.sent, received: now.mono });
        let is_late = now.mono > self.update.config.confirmed_until(self.sent, now.mono);
        self.update.apply_observed_node(fact, source, now);
        is_late.then_some(ApiFailure::Unavailable)
    }

    /// The node cannot be confirmed for now: pods that wait for it wait for the next attempt.
    fn failed(&mut self, failure: ApiFailure, now: Mono) {
        let tries = self.tries.saturating_add(1);
        let retry_at = now.plus(backoff(self.node.as_str(), &Uid::new(""), tries, failure));
        if let Some(entry) = self.update.cache.nodes.get_mut(self.node) {
            entry.confirmation = NodeConfirmation::Failed { at: now, retry_at, tries };
        }
        if failure == ApiFailure::NotFound && tries == ABSENCES_DOUBTED {
            self.update.state.notices.push(EvictionNotice::ResourceVersionWentBack);
        }
        self.update.state.queue.postpone_parked(self.node, failure, retry_at);
    }
}
