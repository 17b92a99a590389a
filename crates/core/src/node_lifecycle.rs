//! Runs node lifecycle: takes facts about nodes, leases and pods as input and returns the requests that taint nodes.
//!
//! - Invariant: level-triggered; a node counts as silent only after a full grace period of uninterrupted observation
//!   (S7); only managed taints are changed (S8).
//! - See `eviction.rs` for the eviction of pods because of these taints.

use crate::engine::{Engine, Lane};
use crate::identity::NodeName;
use crate::object_event::ObjectIndex as _;
use crate::time::{Mono, Now};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

mod cache;
mod config;
mod desired_taints;
mod dispatch;
mod disruption_modes;
mod dry_run;
mod effect;
pub mod event_messages;
mod fact;
mod forecast;
mod ingest;
mod input;
mod managed_taints;
mod notice;
mod observation_gaps;
mod pod_readiness;
mod responses;
mod silence;
mod stats;
mod token_bucket;
mod zone;

pub use config::{Fraction, InvalidFlag, NodeLifecycleConfig, NodeLifecycleFlags};
pub use desired_taints::{ConditionExpiry, NodeSituation, TaintPlan, expired, plan};
pub use effect::{NodeLifecycleEffect, NodeRef, TaintCause};
pub use fact::{
    ConditionKind, ConditionStatus, LeaseFact, NodeCondition, NodeConditions, NodeHealthFact, PlatformLabels,
    PodReadinessFact,
};
pub use forecast::{SilenceForecast, ZoneMember, foresee};
pub use input::{LiveNodeAndLease, NodeLifecycleInput};
pub use managed_taints::{ManagedTaint, ManagedTaints};
pub use notice::NodeLifecycleNotice;
pub use observation_gaps::{ObservationDoubt, WatchedKind};
pub use stats::{DelayReason, NodeHealthExplanation, NodeLifecycleStats, ZoneReport};
pub use token_bucket::TaintRate;
pub use zone::{ZoneKey, ZoneLabels, ZoneState};

use cache::{NodeHealthEntry, WritePriority};
use observation_gaps::Observation;
use pod_readiness::ReadinessMarks;
use zone::Zone;

/// The node health engine. Equal when the facts, and what is under way, are equal.
///
/// The contract is that of every [`Engine`], and:
/// - The time advances while the machine sleeps. [`Engine::tick`] is called at least once every `--node-monitor-period`: a
///   longer interval means that the process stood still, and every node gets a whole grace period again.
/// - An observer calls [`NodeLifecycleEngine::observe`] instead of pulling effects. A process that becomes the leader feeds
///   [`NodeLifecycleInput::BecameLeader`] first.
/// - Feed [`NodeLifecycleInput::OwnRequestSucceeded`] for each request of this process that succeeds, at least once every
///   [`NodeLifecycleConfig::gap_max`]: without it no node is declared silent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NodeLifecycleEngine {
    config: NodeLifecycleConfig,
    observation: Observation,
    /// Boxed: a tree keeps room for nearly as many again as it holds.
    entries: BTreeMap<NodeName, Box<NodeHealthEntry>>,
    zones: BTreeMap<ZoneKey, Zone>,
    modes: disruption_modes::DisruptionModes,
    /// When each node may be called silent.
    wakeups: BTreeSet<(Mono, NodeName)>,
    todo: BTreeSet<(WritePriority, NodeName)>,
    /// Silent nodes whose conditions do not say so yet, by since when.
    declare: BTreeSet<(Mono, NodeName)>,
    /// Nodes that wait for another try.
    later: BTreeSet<(Mono, NodeName)>,
    /// Zones in which a node waits for a NoExecute taint.
    waiting: BTreeSet<ZoneKey>,
    marks: ReadinessMarks,
    /// When the engine next wants to be called at the latest.
    period_at: Option<Mono>,
    notices: Vec<NodeLifecycleNotice>,
}

impl NodeLifecycleEngine {
    /// An engine that knows nothing yet.
    pub fn new(config: NodeLifecycleConfig) -> Self {
        Self { config, ..Self::default() }
    }
}

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
            NodeLifecycleInput::StreamLost { stream, since } => self.observation.lose(stream, since),
            NodeLifecycleInput::StreamRecovered { stream } => self.found(stream, now.mono),
            NodeLifecycleInput::ProcessPaused { since } => self.paused(since, now.mono),
            NodeLifecycleInput::OwnRequestSucceeded { sent } => self.witness(sent, now.mono),
            NodeLifecycleInput::BecameLeader => self.leading(now.mono),
            NodeLifecycleInput::Confirmed { node, sent, result } => self.confirmed(&node, sent, result, now),
            NodeLifecycleInput::Written { node, result } => self.written(&node, result, now.mono),
            NodeLifecycleInput::PodMarked { pod, result } => self.pod_written(pod, result, now.mono),
        }
    }

    /// Nodes fall silent, waits end, modes change.
    fn tick(&mut self, now: Mono) {
        self.enter(now);
        self.period_at = Some(now.plus(self.config.monitor_period));
        self.wake(now);
        self.survey(now);
    }

    fn next_effect(&mut self, _: Lane, now: Now) -> Option<NodeLifecycleEffect> {
        self.enter(now.mono);
        self.wake(now.mono);
        self.survey(now.mono);
        if !self.is_synced() {
            return None;
        }
        self.next_request(now)
    }

    fn next_wakeup(&self) -> Option<Mono> {
        let fixed = [self.period_at, self.survey_at(), self.hush_at(), self.marks.wake_at(), self.token_at()];
        let queued = [&self.wakeups, &self.later].map(|queue| queue.first().map(|(at, _)| *at));
        fixed.into_iter().chain(queued).flatten().min().filter(|at| *at != Mono::NEVER)
    }

    fn take_notices(&mut self) -> Vec<NodeLifecycleNotice> {
        core::mem::take(&mut self.notices)
    }

    fn is_synced(&self) -> bool {
        self.observation.is_synced()
    }
}

#[cfg(test)]
mod tests;
