//! Applies one step to a state: a change of the cluster, a delivery, a response, or the passing of time.

use super::replica::EngineReplica;
use super::{
    EvictionStep, ExhaustiveFlight, ExhaustiveRejection, ExhaustiveState, FLIGHTS_MAX, KEY,
    REJECTED_AT_ONCE_MAX, REQUEST_MAX, spend,
};
use crate::common;
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::{Engine, Lane};
use taintward_core::eviction::{EvictionEffect, EvictionInput};
use taintward_core::taint::TaintEffect;
use taintward_core::testkit::toleration;
use taintward_core::time::Mono;

impl ExhaustiveState {
    /// Returns the next state; `None` if the step is not possible.
    pub(super) fn after(&self, step: EvictionStep) -> Option<Self> {
        let mut next = self.clone();
        next.take(step)?;
        let now = next.cluster.clock().mono;
        for replica in next.standby.iter_mut().map(|standby| &mut **standby).chain([&mut next.leader]) {
            replica.engine.tick(now);
            replica.engine.take_notices();
        }
        let engine = &next.leader.engine;
        let wake = engine.next_wakeup().is_some_and(|at| at <= now);
        // A retry that is due may wait for its pull; nothing else may.
        assert!(!wake || engine.has_work(Lane::All, now));
        Some(next)
    }

    fn take(&mut self, step: EvictionStep) -> Option<()> {
        let tainted = !self.cluster.nodes[&0].taints.is_empty();
        match step {
            EvictionStep::Taint if !tainted => {
                spend(&mut self.left.taints)?;
                // The first has a `timeAdded`, the second has none.
                let stamped = self.left.taints > 0;
                self.happens(|cluster| {
                    for node in cluster.nodes.keys().copied().collect::<Vec<_>>() {
                        cluster.add_taint(node, KEY, TaintEffect::NoExecute, stamped);
                    }
                });
            }
            EvictionStep::Untaint if tainted => {
                spend(&mut self.left.untaints)?;
                self.happens(|cluster| {
                    for node in cluster.nodes.keys().copied().collect::<Vec<_>>() {
                        cluster.untaint(node, KEY);
                    }
                });
            }
            EvictionStep::Timeouts(seconds) if self.cluster.pods.contains_key(&0) => {
                spend(&mut self.left.edits)?;
                let tolerations = vec![toleration(KEY, seconds)];
                self.happens(|cluster| cluster.edit_pod(0, |pod| pod.fact.tolerations = tolerations));
            }
            EvictionStep::Recreate => {
                spend(&mut self.left.recreations)?;
                self.happens(|cluster| cluster.put_pod(0, 0, vec![toleration(KEY, None)], false));
            }
            EvictionStep::ReceiveNode => self.leader.receive(true, &self.cluster)?,
            EvictionStep::ReceivePod => self.leader.receive(false, &self.cluster)?,
            EvictionStep::Stall if !self.stalled => {
                spend(&mut self.left.stalls)?;
                self.stalled = true;
                self.leader.lose_nodes();
            }
            EvictionStep::Pull => self.pull()?,
            EvictionStep::Commit(at) => self.commit(at)?,
            EvictionStep::Response(at) => self.response(at, false)?,
            EvictionStep::Lose(at) => {
                spend(&mut self.left.losses)?;
                self.response(at, true)?;
            }
            EvictionStep::Pass => {
                spend(&mut self.left.passes)?;
                self.pass(1_300_000);
            }
            EvictionStep::List => {
                spend(&mut self.left.lists)?;
                self.list();
            }
            EvictionStep::Restart => {
                spend(&mut self.left.restarts)?;
                self.leader = EngineReplica::new();
                self.cluster.set_hold(common::hold_times::HoldTimes::forget);
                self.hold(self.cluster.hold.is_on());
                self.orphan_flights();
                self.list();
            }
            EvictionStep::StandbyReceiveNode => self.standby.as_mut()?.receive(true, &self.cluster)?,
            EvictionStep::StandbyReceivePod => self.standby.as_mut()?.receive(false, &self.cluster)?,
            EvictionStep::FailOver => {
                spend(&mut self.left.failovers)?;
                self.leader = *self.standby.take()?;
                self.orphan_flights();
            }
            EvictionStep::Hold => {
                spend(&mut self.left.holds)?;
                self.hold(!self.cluster.hold.is_on());
            }
            other => self.go_wrong(other)?,
        }
        Some(())
    }

    /// Faults of servers, and of proxies before them.
    fn go_wrong(&mut self, step: EvictionStep) -> Option<()> {
        match step {
            EvictionStep::Restore => {
                spend(&mut self.left.restores)?;
                self.cluster.now += 1;
                self.cluster.restore().then_some(())?;
                self.cluster.changes.clear();
                self.leader.lose_all();
                self.rewound = true;
            }
            EvictionStep::Halve(at) => {
                spend(&mut self.left.halves)?;
                let flight =
                    self.flights.get(at).filter(|flight| flight.response.is_none() && !flight.orphan)?;
                let EvictionEffect::DeletePod { pod, name, version, .. } = flight.effect.clone() else {
                    return None;
                };
                self.cluster.half_delete(&pod, &name, version);
                self.send_changes();
                self.response(at, true)?;
            }
            EvictionStep::Deny(at) => {
                spend(&mut self.left.denials)?;
                let flight =
                    self.flights.get(at).filter(|flight| flight.response.is_none() && !flight.orphan)?;
                // For a read the client would not accept it.
                let denied = (!matches!(flight.effect, EvictionEffect::ReadPod { .. }))
                    .then(|| failed(flight, ApiFailure::NotFound))?;
                self.flights.remove(at);
                self.leader.engine.handle(denied, self.cluster.clock());
            }
            EvictionStep::Reject => {
                if !self.rejects {
                    spend(&mut self.left.rejections)?;
                }
                self.rejects = !self.rejects;
            }
            _ => return None,
        }
        Some(())
    }

    pub(super) fn hold(&mut self, on: bool) {
        self.cluster.set_hold(|hold, now| hold.set(on, now));
        self.leader.engine.handle(EvictionInput::CountdownHold(on), self.cluster.clock());
    }

    /// A request without a process that waits for its response matters only if it can still be committed.
    fn orphan_flights(&mut self) {
        self.flights.retain(|flight| flight.response.is_none());
        self.flights.iter_mut().for_each(|flight| flight.orphan = true);
    }

    pub(super) fn pull(&mut self) -> Option<()> {
        if self.flights.len() >= FLIGHTS_MAX {
            return None;
        }
        let effect = self.leader.engine.next_effect(Lane::All, self.cluster.clock())?;
        self.flights.push(ExhaustiveFlight { effect, sent: self.cluster.now, response: None, orphan: false });
        Some(())
    }

    pub(super) fn commit(&mut self, at: usize) -> Option<()> {
        let flight = self.flights.get(at).filter(|flight| flight.response.is_none())?.clone();
        if let Some(failure) = self.rejection_of(&flight) {
            self.rejected += 1;
            assert!(
                self.rejected <= REJECTED_AT_ONCE_MAX,
                "D3: {} are refused at the same time",
                self.rejected
            );
            self.flights[at].response = Some(failed(&flight, failure));
            return Some(());
        }
        let cluster = &mut self.cluster;
        let response = match flight.effect {
            EvictionEffect::ReadNode { node } => {
                let result = Ok(cluster.read_node(&node));
                EvictionInput::NodeConfirmed { node, sent: Mono::from_micros(flight.sent), result }
            }
            EvictionEffect::EvictPod { .. } => unreachable!("there is no policy"),
            EvictionEffect::ReadPod { pod, name } => {
                let half_deleted = cluster.is_half_deleted(&name);
                EvictionInput::PodRead { pod, result: Ok(cluster.read_pod(&name)), half_deleted }
            }
            EvictionEffect::SetDisruptionTarget { pod, name, version, .. } => {
                let result = cluster.set_mark(&pod, &name, version, true);
                EvictionInput::Marked { pod, result }
            }
            EvictionEffect::ClearDisruptionTarget { pod, name } => {
                let result = cluster.set_mark(&pod, &name, None, false).map(|_| ());
                EvictionInput::Unmarked { pod, result }
            }
            EvictionEffect::DeletePod { pod, name, version, .. } => {
                let result = cluster.delete(&pod, &name, version);
                EvictionInput::Deleted { pod, result }
            }
        };
        match flight.orphan {
            true => drop(self.flights.remove(at)),
            false => self.flights[at].response = Some(response),
        }
        self.send_changes();
        Some(())
    }

    /// How a request fails now; one of an earlier process is carried out or not.
    fn rejection_of(&self, flight: &ExhaustiveFlight) -> Option<ApiFailure> {
        let rejection: Option<ExhaustiveRejection> =
            self.left.rejection.filter(|_| self.rejects && !flight.orphan);
        rejection?.of(&flight.effect)
    }

    pub(super) fn response(&mut self, at: usize, lost: bool) -> Option<()> {
        let flight = self.flights.get(at).filter(|flight| !flight.orphan)?;
        let response = if lost { unavailable(flight) } else { flight.response.clone()? };
        self.flights.remove(at);
        self.leader.engine.handle(response, self.cluster.clock());
        Some(())
    }

    /// Time passes; requests that were not committed in time never are.
    pub(super) fn pass(&mut self, micros: i64) {
        self.cluster.now += micros;
        self.rejected = 0;
        let now = self.cluster.now;
        while let Some(at) = self
            .flights
            .iter()
            .position(|flight| flight.response.is_none() && flight.sent + REQUEST_MAX < now)
        {
            let flight = self.flights.remove(at);
            if !flight.orphan {
                self.leader.engine.handle(unavailable(&flight), self.cluster.clock());
            }
        }
    }
}

fn unavailable(flight: &ExhaustiveFlight) -> EvictionInput {
    failed(flight, ApiFailure::Unavailable)
}

fn failed(flight: &ExhaustiveFlight, gone: ApiFailure) -> EvictionInput {
    match flight.effect.clone() {
        EvictionEffect::ReadNode { node } => {
            EvictionInput::NodeConfirmed { node, sent: Mono::from_micros(flight.sent), result: Err(gone) }
        }
        EvictionEffect::SetDisruptionTarget { pod, .. } => EvictionInput::Marked { pod, result: Err(gone) },
        EvictionEffect::DeletePod { pod, .. } => EvictionInput::Deleted { pod, result: Err(gone) },
        EvictionEffect::EvictPod { pod, .. } => EvictionInput::Evicted { pod, result: Err(gone) },
        EvictionEffect::ReadPod { pod, .. } => {
            EvictionInput::PodRead { pod, result: Err(gone), half_deleted: false }
        }
        EvictionEffect::ClearDisruptionTarget { pod, .. } => {
            EvictionInput::Unmarked { pod, result: Err(gone) }
        }
    }
}
