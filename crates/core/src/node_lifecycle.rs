//! Runs node lifecycle: takes facts about nodes, leases and pods as input and returns the requests that taint nodes.
//!
//! - Invariant: level-triggered; a node counts as silent only after a full grace period of uninterrupted observation
//!   (S7); only managed taints are changed (S8).
//! - See `eviction.rs` for the eviction of pods because of these taints.

use crate::api_error::ApiFailure;
use crate::engine::{Engine, Lane, LiveRead};
use crate::identity::{NodeName, PodName, PodRef, ResourceVersion};
use crate::object_event::{ObjectEvent, ObjectIndex as _};
use crate::time::{Mono, Now, Wall};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

mod cache;
mod config;
mod desired_taints;
mod dispatch;
mod disruption_modes;
mod dry_run;
pub mod event_messages;
mod fact;
mod forecast;
mod ingest;
mod managed_taints;
mod notice;
mod observation_gaps;
mod pod_readiness;
mod responses;
mod silence;
mod stats;
mod token_bucket;
mod tracked_pods;
mod zone;

pub use cache::NodeRef;
pub use config::{Fraction, InvalidFlag, NodeLifecycleConfig, NodeLifecycleFlags};
pub use desired_taints::{ConditionExpiry, NodeSituation, TaintPlan, expired, plan};
pub use fact::{
    ConditionKind, ConditionStatus, LeaseFact, NodeCondition, NodeConditions, NodeHealthFact, PlatformLabels,
    PodReadinessFact,
};
pub use forecast::{SilenceForecast, ZoneMember, foresee};
pub use managed_taints::{ManagedTaint, ManagedTaints};
pub use notice::NodeLifecycleNotice;
pub use observation_gaps::{ObservationDoubt, WatchedKind};
pub use stats::{DelayReason, NodeHealthExplanation, NodeLifecycleStats, ZoneReport};
pub use token_bucket::TaintRate;
pub use zone::{ZoneKey, ZoneLabels, ZoneState};

use cache::{NodeHealthEntry, WritePriority};
use observation_gaps::Observation;
use pod_readiness::ReadinessPatchQueue;
use zone::Zone;

/// Everything the engine can be told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NodeLifecycleInput {
    /// What the watch of nodes says.
    Nodes(ObjectEvent<NodeHealthFact>),
    /// What the watch of leases says.
    Leases(ObjectEvent<LeaseFact>),
    /// What the watch of pods says.
    Pods(ObjectEvent<PodReadinessFact>),
    /// Nothing reliable is heard of this kind since a moment: the stream broke, stalls, or is throttled.
    StreamLost {
        /// Of what.
        stream: WatchedKind,
        /// The last sign of life.
        since: Mono,
    },
    /// It is heard of again, from where it broke off; a list that ends says the same.
    StreamRecovered {
        /// Of what.
        stream: WatchedKind,
    },
    /// This process stood still since a moment, and knows it.
    ProcessPaused {
        /// When it stopped.
        since: Mono,
    },
    /// The API server has done what we asked: our own lease was renewed, say (S7).
    OwnRequestSucceeded {
        /// When the request was sent.
        sent: Mono,
    },
    /// We have just gained the right to act: whoever had it before may have used up the rate (S6).
    BecameLeader,
    /// The answer to [`NodeLifecycleEffect::ReadNode`].
    Confirmed {
        /// The node asked about.
        node: NodeName,
        /// When the reads were sent; the earlier of both.
        sent: Mono,
        /// What they said.
        result: Result<LiveNodeAndLease, ApiFailure>,
    },
    /// The answer to [`NodeLifecycleEffect::PatchTaints`], [`NodeLifecycleEffect::SetConditionsUnknown`] and [`NodeLifecycleEffect::PatchLabels`]: the node's new version.
    Written {
        /// The node.
        node: NodeName,
        /// How it went.
        result: Result<Option<ResourceVersion>, ApiFailure>,
    },
    /// The answer to [`NodeLifecycleEffect::SetPodNotReady`].
    PodMarked {
        /// The pod.
        pod: PodRef,
        /// How it went; `Ok(false)`: there was nothing to change.
        result: Result<bool, ApiFailure>,
    },
}

/// What live reads of a node and of its lease said.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LiveNodeAndLease {
    /// The node.
    pub node: LiveRead<NodeHealthFact>,
    /// Its lease.
    pub lease: LiveRead<LeaseFact>,
}

/// Why taints are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TaintCause {
    /// Conditions or `spec.unschedulable` call for it (NL-5).
    Conditions,
    /// The node is ready (NL-15).
    Recovered,
    /// One NoExecute taint takes the other's place (NL-16).
    Swap,
    /// Everything is down (NL-27).
    EverythingDown,
    /// The node says itself that it is not ready (NL-16).
    NotReady,
    /// The node has been silent for longer than its grace period (NL-16).
    Silent {
        /// Since when it may be called so.
        since: Mono,
    },
}

/// Everything the engine can ask for. A write demands the UID and, where given, the version it was decided by; what
/// does not hold any more is a [`ApiFailure::Conflict`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NodeLifecycleEffect {
    /// Read this node and its lease, past all caches (S7, P16).
    ReadNode {
        /// The node.
        node: NodeName,
    },
    /// Put these taints on and take those off, in one write (NL-45), leaving all others as they are (S8).
    PatchTaints {
        /// The node.
        node: NodeRef,
        /// The version it was decided by.
        version: Option<ResourceVersion>,
        /// Put on, with this moment as `timeAdded` (NL-20) and no value.
        add: ManagedTaints,
        /// Taken off, whatever the value.
        remove: ManagedTaints,
        /// The moment of the decision.
        at: Wall,
        /// The reason.
        why: TaintCause,
    },
    /// Set these conditions to Unknown, in `status` (NL-12); `lastTransitionTime` is `at`.
    SetConditionsUnknown {
        /// The node.
        node: NodeRef,
        /// The version it was decided by.
        version: Option<ResourceVersion>,
        /// Which, and how.
        conditions: Vec<(ConditionKind, ConditionExpiry)>,
        /// The moment of the decision.
        at: Wall,
    },
    /// Write these values into the labels of old (NL-8).
    PatchLabels {
        /// The node.
        node: NodeRef,
        /// The version it was decided by.
        version: Option<ResourceVersion>,
        /// `beta.kubernetes.io/os`.
        os: Option<Box<str>>,
        /// `beta.kubernetes.io/arch`.
        arch: Option<Box<str>>,
    },
    /// Set the condition `Ready` of this pod to False if it has one, keeping reason and message (NL-17), demanding its UID.
    SetPodNotReady {
        /// The pod.
        pod: PodRef,
        /// Its name.
        name: PodName,
    },
}

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
    marks: ReadinessPatchQueue,
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
            NodeLifecycleInput::PodMarked { pod, result } => self.pod_marked(&pod, result, now.mono),
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
