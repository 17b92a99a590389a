//! Defines what the node lifecycle engine reports to logs, metrics and events.

use super::effect::{NodeRef, TaintCause};
use super::managed_taints::ManagedTaints;
use super::zone::{ZoneKey, ZoneState};
use crate::api_error::ApiFailure;
use crate::identity::PodRef;
use crate::identity::{NodeName, PodName};
use crate::time::Mono;

/// What people may want to know. Losing one changes nothing. The words of the events are in [`super::event_messages`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NodeLifecycleNotice {
    /// A node is seen for the first time (NL-19).
    Registered(NodeRef),
    /// A node is gone (NL-19).
    Removed(NodeRef),
    /// A node was ready and is not any more (NL-17).
    BecameNotReady(NodeRef),
    /// A pod was marked not ready (NL-17).
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
        /// Since when it may be called silent.
        silent_since: Mono,
    },
    /// Taints were written.
    Tainted {
        /// The node.
        node: NodeRef,
        /// Its zone.
        zone: ZoneKey,
        /// Put on.
        add: ManagedTaints,
        /// Taken off.
        remove: ManagedTaints,
        /// The reason.
        why: TaintCause,
    },
    /// A request for a node failed; it is tried again.
    Failed {
        /// The node.
        node: NodeName,
        /// Why.
        failure: ApiFailure,
        /// When it is tried again.
        retry_at: Mono,
    },
    /// A zone is in another state (NL-25).
    ZoneChanged {
        /// The zone.
        zone: ZoneKey,
        /// From.
        from: ZoneState,
        /// To.
        to: ZoneState,
    },
    /// All zones are down, or not all any more (NL-27).
    EverythingDown(bool),
    /// Countdowns of pods are to be held, or go on (NL-48).
    HoldCountdowns(bool),
    /// A node or lease could not be understood (D11). Once, until it is understood again.
    NotUnderstood(NodeName),
    /// This process stood still, or a stream did: silence counts from now on only (S7).
    ObservedAfresh,
    /// To an observer: these taints would be written now ([`super::NodeLifecycleEngine::observe`]).
    WouldTaint {
        /// The node.
        node: NodeRef,
        /// Its zone.
        zone: ZoneKey,
        /// Put on.
        add: ManagedTaints,
        /// Taken off.
        remove: ManagedTaints,
        /// The reason. Of a silent node, and of one that is not ready, Node and Lease would be read first.
        why: TaintCause,
    },
    /// To an observer: this node's conditions would be set to Unknown now, if Node and Lease say the same.
    WouldDeclare {
        /// The node.
        node: NodeRef,
        /// Since when it may be called silent.
        silent_since: Mono,
    },
}
