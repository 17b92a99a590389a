//! Takes in live reads of nodes, which deletions need.
//!
//! - Invariant: a read that is older than what was known, or shows another instance of a taint, confirms nothing (S2).

use super::{CacheStaleness, NodeSource};
use crate::api_error::ApiFailure;
use crate::backoff::backoff;
use crate::engine::LiveRead;
use crate::eviction::NodeConfirmation;
use crate::eviction::cache::CacheUpdate;
use crate::eviction::notice::EvictionNotice;
use crate::fact::NodeFact;
use crate::identity::{NodeName, ResourceVersion, Uid};
use crate::object_event::{ObjectIndex, ObjectRef};
use crate::time::{Mono, Now};

/// So often the watch gets time to tell what a live read says of a taint's beginning.
const NEWS_AWAITED: u32 = 5;

/// So often in a row a node that the watch knows is not found, before everything is to be listed again.
const ABSENCES_DOUBTED: u32 = 3;

/// The answer to a live read of a node.
struct NodeAnswer<'a, 'u> {
    update: &'a mut CacheUpdate<'u>,
    node: &'a NodeName,
    sent: Mono,
    /// How often it failed before.
    tries: u32,
    /// What was known when it was sent.
    known: Option<ResourceVersion>,
}

impl CacheUpdate<'_> {
    /// Takes in the answer to a live read of a node, and gives the pods that waited for it their turn, or another time.
    pub(in crate::eviction) fn confirm_node(
        &mut self,
        node: &NodeName,
        sent: Mono,
        result: Result<LiveRead<NodeFact>, ApiFailure>,
        now: Now,
    ) {
        let Some(entry) = self.cache.nodes.get_mut(node) else { return };
        let NodeConfirmation::InFlight { tries, void, known } = entry.confirmation else { return };
        entry.confirmation = NodeConfirmation::None;
        let mut answer = NodeAnswer { update: self, node, sent, tries, known };
        let failure = match result {
            Ok(_) | Err(ApiFailure::NotFound) if void => None,
            Ok(LiveRead::Found(fact)) => answer.found(fact, now),
            Ok(LiveRead::Undecodable) => {
                ObjectIndex::<NodeFact>::undecodable(answer.update, ObjectRef::node(node, None), now);
                None
            }
            // Not forgotten for one word: if it is so, the watch or a list tells, too.
            Ok(LiveRead::NotFound) => Some(ApiFailure::NotFound),
            Err(failure) => Some(failure),
        };
        match failure {
            Some(failure) => answer.failed(failure, now.mono),
            None => self.state.queue.unpark(node),
        }
        self.cache.remove_empty_entry(node);
    }
}

impl NodeAnswer<'_, '_> {
    /// Takes in what a live read says of a node, and counts it as a confirmation, unless there is a reason why not.
    ///
    /// A quorum read cannot be older than what was known when it was sent, unless the store was put back to an earlier
    /// state (the watch may overtake it while it is under way, which is no matter). Then all that was known before
    /// belongs to another history: what was read is adopted as if it had been found in a list, nobody is evicted by it
    /// before it is read once more, and everything should be listed again.
    ///
    /// A read that is ahead of the watch may show another instance of a taint that is known. Within the second that is
    /// said of its beginning, that is settled by counting from the end of that second; if something else is said of its
    /// beginning, the watch gets a little time to tell whether somebody only wrote it anew (P46).
    fn found(&mut self, fact: NodeFact, now: Now) -> Option<ApiFailure> {
        let entry = self.update.cache.nodes.get_mut(&fact.name)?;
        if fact.version.is_some() && fact.version < self.known {
            self.update.state.notices.push(EvictionNotice::ResourceVersionWentBack);
            // What was told since may be of the new history.
            if entry.state.as_ref().is_some_and(|known| known.version() == self.known) {
                self.update.apply_observed_node(fact, NodeSource::List { absent_until: None }, now);
            }
            return None;
        }
        let behind =
            entry.state.as_ref().map_or(CacheStaleness::UpToDate, |known| known.staleness(&fact, now));
        if behind == CacheStaleness::Newer && self.tries < NEWS_AWAITED {
            return Some(ApiFailure::Conflict);
        }
        let last_notice = fact.version.is_some() && behind == CacheStaleness::UpToDate;
        let source = if last_notice { NodeSource::Watch } else { NodeSource::NewerRead };
        let late = now.mono > self.sent.plus(self.update.config.confirm_age_max);
        if !late {
            entry.confirmation = NodeConfirmation::At(self.sent);
        }
        self.update.apply_observed_node(fact, source, now);
        late.then_some(ApiFailure::Unavailable)
    }

    /// A node cannot be confirmed for now: those who wait for it wait for the next try.
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
