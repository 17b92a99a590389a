//! Defines what the monitors of engines have in common: a monitor sees the inputs of an engine, and checks each of its requests.
//!
//! - See `eviction_monitor.rs`, `node_lifecycle_monitor.rs` and `toleration_seconds_monitor.rs`; `docs/invariants.md` describes the
//!   properties.

use crate::engine::Engine;
use crate::identity::{NodeName, PodName, Uid};
use crate::time::Now;
use alloc::string::String;
use core::fmt;

/// A property that a request violates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RequestProperty {
    /// S1: the right pod, in a version that was observed.
    RightPod,
    /// S2: a recent read of the node, and complete lists.
    Confirmed,
    /// S3: not before its tolerations end.
    NotEarly,
    /// S6: no node is tainted faster than the rate of its zone, and none while no node is ready.
    Rate,
    /// S7: a recent live read, and a whole grace period without a heartbeat.
    Silent,
    /// S9: no condition of its own stays without a further request.
    NoFalseMark,
    /// S10: one deletion of a pod, and none of a pod that is terminating, has finished or is a mirror pod.
    Once,
    /// S11: not if its object, or its node's, cannot be decoded.
    Decoded,
    /// S15: each toleration keeps the seconds that its author wrote, and gets them back.
    OwnSeconds,
}

impl RequestProperty {
    /// The id of the rule.
    pub const fn id(self) -> &'static str {
        match self {
            Self::RightPod => "S1",
            Self::Confirmed => "S2",
            Self::NotEarly => "S3",
            Self::Rate => "S6",
            Self::Silent => "S7",
            Self::NoFalseMark => "S9",
            Self::Once => "S10",
            Self::Decoded => "S11",
            Self::OwnSeconds => "S15",
        }
    }
}

/// A request that should not have been sent, or one that should have been.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestViolation {
    /// The property.
    pub property: RequestProperty,
    /// When the request was decided, or when it was missing.
    pub at: Now,
    /// The node of the pod, or the node itself.
    pub node: NodeName,
    /// The pod, if it is about one.
    pub pod: Option<(PodName, Uid)>,
    /// What is wrong.
    pub reason: String,
}

impl fmt::Display for RequestViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { property, node, pod, reason, .. } = self;
        match pod {
            Some((name, uid)) => {
                write!(f, "{}: pod {name} (UID {uid}) on node {node}: {reason}", property.id())
            }
            None => write!(f, "{}: node {node}: {reason}", property.id()),
        }
    }
}

/// A check beside an engine, independent of it.
pub trait EngineMonitor {
    /// The engine that it is for.
    type Engine: Engine;

    /// A monitor that begins now: it knows everything if the engine has got no input yet.
    fn of(engine: &Self::Engine) -> Self;

    /// Learns from an input, before or after the engine handles it.
    fn input(&mut self, input: &<Self::Engine as Engine>::Input, now: Now);

    /// Checks a request that the engine has returned.
    ///
    /// # Errors
    /// The first property that it violates.
    fn effect(&mut self, effect: &<Self::Engine as Engine>::Effect, now: Now)
    -> Result<(), RequestViolation>;

    /// Checks that the engine is right to have no request now, although each may be sent.
    ///
    /// # Errors
    /// The property that a missing request violates.
    fn idle(&mut self, _: Now) -> Result<(), RequestViolation> {
        Ok(())
    }
}
