//! Handles responses to effects: the next step, another read, or a retry.
//!
//! - Invariant: nothing is given up (NL-7); an uncertain write leads to a live read, not a repeat (P31); a token is
//!   returned only if the taint was certainly not added (S6).

use super::input::LiveNodeAndLease;
use super::node_requests::NodeRequest;
use super::zone::ZoneKey;
use super::zones::TurnResult;
use super::{NodeLifecycleEngine, NodeLifecycleNotice};
use crate::api_error::ApiFailure;
use crate::identity::{NodeName, ResourceVersion};
use crate::time::{Mono, Now};

impl NodeLifecycleEngine {
    pub(super) fn read(
        &mut self,
        name: &NodeName,
        sent: Mono,
        result: Result<LiveNodeAndLease, ApiFailure>,
        now: Now,
    ) {
        let Some(entry) = self.entries.get_mut(name) else { return };
        let Some((NodeRequest::Read { turn }, is_current)) = entry.requests.end(true) else { return };
        self.end_turn(turn.as_ref(), name, TurnResult::Open, now.mono);
        match result {
            Ok(live) => {
                self.request_succeeded(sent, now.mono);
                self.apply_live_read(name, live, now);
                if let Some(entry) = self.entries.get_mut(name).filter(|_| is_current) {
                    entry.requests.confirm(sent);
                }
            }
            Err(failure) if is_current => self.failed(name, failure, now.mono),
            Err(_) => {}
        }
        self.reassess(name, now.mono);
        self.remove_if_vacant(name);
    }

    pub(super) fn written(
        &mut self,
        name: &NodeName,
        result: Result<Option<ResourceVersion>, ApiFailure>,
        now: Mono,
    ) {
        let Some(entry) = self.entries.get_mut(name) else { return };
        let Some((request, is_current)) = entry.requests.end(false) else { return };
        if let NodeRequest::Taints { token, returns, .. } = &request {
            let turn = match result {
                Ok(_) => TurnResult::Tainted,
                Err(failure) if *returns && is_certain(failure) => TurnResult::TokenUnused,
                Err(_) => TurnResult::Open,
            };
            self.end_turn(token.as_ref(), name, turn, now);
        }
        match result {
            Ok(version) if is_current => self.committed(name, request, version),
            Err(failure) if is_current => self.failed(name, failure, now),
            _ => {}
        }
        self.reassess(name, now);
        self.remove_if_vacant(name);
    }

    /// What a committed write did is known without waiting for the watch.
    fn committed(&mut self, name: &NodeName, request: NodeRequest, version: Option<ResourceVersion>) {
        let Some(entry) = self.entries.get_mut(name) else { return };
        let Some(node) = entry.facts.node_ref(name) else { return };
        let was_ready = entry.facts.is_ready();
        entry.requests.committed(version.is_some());
        entry.facts.committed(version, &request);
        if was_ready && entry.facts.is_down() {
            self.notices.push(NodeLifecycleNotice::BecameNotReady(node.clone()));
        }
        self.marks.set_node_down(name, entry.facts.is_down());
        match (request, entry.facts.zone()) {
            (NodeRequest::Taints { add, remove, why, .. }, Some((zone, _))) => {
                let zone = zone.clone();
                self.notices.push(NodeLifecycleNotice::Tainted { node, zone, add, remove, why });
            }
            (NodeRequest::Conditions { since }, _) => {
                self.notices.push(NodeLifecycleNotice::Declared { node, silent_since: since });
            }
            _ => {}
        }
    }

    fn failed(&mut self, name: &NodeName, failure: ApiFailure, now: Mono) {
        let entry = self.entries.get_mut(name).filter(|entry| entry.facts.zone().is_some());
        let Some(entry) = entry else { return };
        let retry_at = entry.requests.failed(name, failure, now);
        self.notices.push(NodeLifecycleNotice::Failed { node: name.clone(), failure, retry_at });
    }

    fn end_turn(&mut self, zone: Option<&ZoneKey>, name: &NodeName, result: TurnResult, now: Mono) {
        if let Some(zone) = zone {
            self.zones.end_turn(zone, name, result, now);
        }
    }
}

/// Whether the write was certainly not committed.
const fn is_certain(failure: ApiFailure) -> bool {
    match failure {
        ApiFailure::NotFound
        | ApiFailure::Conflict
        | ApiFailure::Forbidden
        | ApiFailure::Throttled(_)
        | ApiFailure::Rejected => true,
        ApiFailure::Unavailable => false,
    }
}
