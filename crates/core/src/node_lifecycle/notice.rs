//! Defines what the node lifecycle engine reports to logs, metrics and events.

use super::effect::{NodeRef, TaintCause};
use super::managed_taints::ManagedTaints;
use super::zone::{ZoneKey, ZoneState};
use crate::api_error::ApiFailure;
use crate::identity::PodRef;
use crate::identity::{NodeName, PodName};
use crate::time::Mono;

/// A report for users. Losing one changes nothing. The texts of the events are in [`super::event_messages`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum NodeLifecycleNotice {
    /// A node is observed for the first time (NL-19).
    Registered(NodeRef),
    /// A node is gone (NL-19).
    Removed(NodeRef),
    /// A node is no longer ready (NL-17).
    BecameNotReady(NodeRef),
    /// A pod's condition Ready was set to False (NL-17).
    PodMarked {
        /// The pod.
        pod: PodRef,
        /// Its name.
        name: PodName,
    },
    /// Conditions were set to Unknown (NL-12).
    Declared {
        /// The node.
        node: NodeRef,
        /// Since when it counts as silent.
        silent_since: Mono,
    },
    /// Taints were written.
    Tainted {
        /// The node.
        node: NodeRef,
        /// Its zone.
        zone: ZoneKey,
        /// Added.
        add: ManagedTaints,
        /// Removed.
        remove: ManagedTaints,
        /// The reason.
        why: TaintCause,
    },
    /// A request for a node failed; it is retried.
    Failed {
        /// The node.
        node: NodeName,
        /// Why.
        failure: ApiFailure,
        /// When it is retried.
        retry_at: Mono,
    },
    /// The state of a zone changed (NL-25).
    ZoneChanged {
        /// The zone.
        zone: ZoneKey,
        /// The old state.
        from: ZoneState,
        /// The new state.
        to: ZoneState,
    },
    /// All zones are fully disrupted, or no longer all of them (NL-27).
    EverythingDown(bool),
    /// Countdowns of pods are put on hold, or resume (NL-48).
    HoldCountdowns(bool),
    /// A node or lease could not be understood (D11). Once, until it is understood again.
    NotUnderstood(NodeName),
    /// This process stood still, or a stream did: silence counts only from now on (S7).
    ObservedAfresh,
    /// For an observer: these taints would be written now ([`super::NodeLifecycleInput::DryRun`]).
    WouldTaint {
        /// The node.
        node: NodeRef,
        /// Its zone.
        zone: ZoneKey,
        /// Added.
        add: ManagedTaints,
        /// Removed.
        remove: ManagedTaints,
        /// The reason. For a silent node, and one that is not ready, Node and Lease would be read first.
        why: TaintCause,
    },
    /// For an observer: this node's conditions would be set to Unknown now, if Node and Lease confirm it.
    WouldDeclare {
        /// The node.
        node: NodeRef,
        /// Since when it counts as silent.
        silent_since: Mono,
    },
}
