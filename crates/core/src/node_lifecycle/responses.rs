//! Handles inputs, among them the responses to effects: the next step, another read, or a retry.
//!
//! - Invariant: nothing is given up (NL-7); an uncertain write leads to a live read, not a repeat (P31); a token is
//!   returned only if the taint was certainly not added (S6).

use super::effect::NodeLifecycleEffect;
use super::input::{LiveNodeAndLease, NodeLifecycleInput};
use super::node_requests::NodeRequest;
use super::observation_gaps::StreamUpdate;
use super::zone::ZoneKey;
use super::zones::TurnResult;
use super::{NodeLifecycleEngine, NodeLifecycleNotice};
use crate::api_error::ApiFailure;
use crate::engine::{Engine, Lane};
use crate::identity::{NodeName, ResourceVersion};
use crate::object_event::ObjectIndex as _;
use crate::time::{Mono, Now};
use alloc::vec::Vec;

impl Engine for NodeLifecycleEngine {
    type Input = NodeLifecycleInput;
    type Effect = NodeLifecycleEffect;
    type Notice = NodeLifecycleNotice;

    fn handle(&mut self, input: NodeLifecycleInput, now: Now) {
        self.enter(now.mono);
        match input {
            NodeLifecycleInput::Nodes(event) => self.apply(event, now),
            NodeLifecycleInput::Leases(event) => self.apply(event, now),
            NodeLifecycleInput::Pods(event) => self.apply(event, now),
            NodeLifecycleInput::StreamLost { stream, since } => {
                self.observation.update(stream, StreamUpdate::Lost { since }, now.mono, &self.config);
            }
            NodeLifecycleInput::StreamRecovered { stream } => {
                self.observation.update(stream, StreamUpdate::Recovered, now.mono, &self.config);
                self.reassess_all(now.mono);
            }
            NodeLifecycleInput::ProcessPaused { since } => {
                if self.observation.pause(since, now.mono, &self.config) {
                    self.observe_afresh(now.mono);
                }
            }
            NodeLifecycleInput::OwnRequestSucceeded { sent } => self.request_succeeded(sent, now.mono),
            NodeLifecycleInput::BecameLeader => self.become_leader(now.mono),
            NodeLifecycleInput::DryRun => self.dry_run(now.mono),
            NodeLifecycleInput::Confirmed { node, sent, result } => self.read(&node, sent, result, now),
            NodeLifecycleInput::Written { node, result } => self.written(&node, result, now.mono),
            NodeLifecycleInput::PodMarked { pod, result } => {
                if let Some(name) = self.marks.written(&pod, result, now.mono) {
                    self.notices.push(NodeLifecycleNotice::PodMarked { pod, name });
                }
            }
        }
    }

    /// Nodes become silent, waits end, modes change.
    fn tick(&mut self, now: Mono) {
        self.enter(now);
        self.period_at = Some(now.plus(self.config.monitor_period()));
        self.wake(now);
        self.update_modes(now);
    }

    fn next_effect(&mut self, _: Lane, now: Now) -> Option<NodeLifecycleEffect> {
        self.enter(now.mono);
        self.wake(now.mono);
        self.update_modes(now.mono);
        if !self.is_synced() {
            return None;
        }
        self.next_request(now)
    }

    fn next_wakeup(&self) -> Option<Mono> {
        let fixed = [
            self.period_at,
            self.modes_change_at(),
            self.hold_at(),
            self.marks.wake_at(),
            self.next_turn_at(),
        ];
        let queued = [self.wakeups.next(), self.queues.next_retry()].map(|next| next.map(|(at, _)| *at));
        fixed.into_iter().chain(queued).flatten().min().filter(|at| *at != Mono::NEVER)
    }

    fn take_notices(&mut self) -> Vec<NodeLifecycleNotice> {
        core::mem::take(&mut self.notices)
    }

    fn is_synced(&self) -> bool {
        self.observation.is_synced()
    }
}

impl NodeLifecycleEngine {
    /// Now, if the modes are no longer as decided. All inputs of one moment are applied before that, so that their
    /// order does not matter (NL-43).
    fn modes_change_at(&self) -> Option<Mono> {
        let now = self.observation.called()?;
        let all_down = self.zones.are_all_down();
        let modes = (all_down, self.is_to_hold(all_down, now));
        (self.is_synced() && modes != (self.all_down, self.holds_countdowns)).then_some(now)
    }

    /// When the last heartbeat of any node will be old enough to put countdowns on hold.
    fn hold_at(&self) -> Option<Mono> {
        let at = self.observation.all_silent_at(self.config.hold_after())?;
        self.observation.called().filter(|called| at > *called).map(|_| at)
    }

    fn read(&mut self, name: &NodeName, sent: Mono, result: Result<LiveNodeAndLease, ApiFailure>, now: Now) {
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

    fn written(&mut self, name: &NodeName, result: Result<Option<ResourceVersion>, ApiFailure>, now: Mono) {
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

    /// The result of a committed write is known without waiting for the watch.
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
        | ApiFailure::Budget
        | ApiFailure::Rejected => true,
        ApiFailure::Unavailable => false,
    }
}
