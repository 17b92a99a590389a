//! Converts watch events of nodes and pods to inputs of the eviction engine.

use crate::metrics::{Unknown, WatchMetrics};
use std::time::Duration;
use taintward_core::eviction::EvictionInput;
use taintward_core::fact::{NodeFact, PodFact};
use taintward_core::identity::NodeName;
use taintward_core::identity::PodRef;
use taintward_core::taint::TaintEffect;
use taintward_core::time::{Mono, Now, Span};
use taintward_core::toleration::TolerationOperator;
use taintward_kube::watch::WatchEvent;

/// What one batch of node news tells the engine; `seen` is told of each node.
pub fn nodes(
    batch: Vec<WatchEvent<NodeFact>>,
    now: Now,
    mut seen: impl FnMut(&NodeFact),
) -> Vec<EvictionInput> {
    let input = |heard| match heard {
        WatchEvent::ListStarted { silent_for } => {
            Some(EvictionInput::NodeListStarted { silent_since: since(silent_for, now.mono) })
        }
        WatchEvent::Applied { fact, listed } => {
            seen(&fact);
            Some(EvictionInput::NodeApplied { fact, listed })
        }
        WatchEvent::Deleted { uid, identity } => {
            Some(EvictionInput::NodeDeleted { name: NodeName::new(&identity.name), uid: Some(uid) })
        }
        WatchEvent::Undecodable(unreadable) => unreadable
            .identity
            .map(|identity| EvictionInput::NodeUndecodable { name: NodeName::new(&identity.name) }),
        WatchEvent::ListCompleted => Some(EvictionInput::NodeListCompleted),
        WatchEvent::ListAborted | WatchEvent::Bookmark => None,
    };
    batch.into_iter().filter_map(input).collect()
}

/// What one batch of pod news tells the engine; `seen` is told of each pod.
pub fn pods(batch: Vec<WatchEvent<PodFact>>, now: Now, mut seen: impl FnMut(&PodFact)) -> Vec<EvictionInput> {
    let input = |heard| match heard {
        WatchEvent::ListStarted { silent_for } => {
            Some(EvictionInput::PodListStarted { silent_since: since(silent_for, now.mono) })
        }
        WatchEvent::Applied { fact, listed } => {
            seen(&fact);
            Some(EvictionInput::PodApplied { fact, listed })
        }
        // A pod on no node was never told of, so its end is no news.
        WatchEvent::Deleted { uid, identity } => {
            identity.node.map(|node| EvictionInput::PodDeleted { pod: PodRef { node, uid } })
        }
        WatchEvent::Undecodable(unreadable) => {
            let identity = unreadable.identity?;
            Some(EvictionInput::PodUndecodable { uid: identity.uid?, node: identity.node })
        }
        WatchEvent::ListCompleted => Some(EvictionInput::PodListCompleted),
        WatchEvent::ListAborted | WatchEvent::Bookmark => None,
    };
    batch.into_iter().filter_map(input).collect()
}

/// The moment at which a stream was last known to be complete. A span measured by a clock that stood still in between
/// is too short, and so the moment too late: starts are taken later, never earlier (S3).
pub(crate) fn since(silent_for: Option<Duration>, now: Mono) -> Option<Mono> {
    let silent = silent_for?;
    Some(now.minus(Span::from_micros(i64::try_from(silent.as_micros()).unwrap_or(i64::MAX))))
}

pub(crate) fn count_unknown_taints(fact: &NodeFact, watches: &WatchMetrics) {
    let unknown = fact.taints.iter().filter(|taint| matches!(taint.effect, TaintEffect::Unknown(_)));
    watches.unknown.of(Unknown::TaintEffect).inc_by(unknown.count() as u64);
}

pub(crate) fn count_unknown_tolerations(fact: &PodFact, watches: &WatchMetrics) {
    for toleration in &fact.tolerations {
        if matches!(toleration.operator, TolerationOperator::Unknown(_)) {
            watches.unknown.of(Unknown::TolerationOperator).inc();
        }
        if matches!(toleration.effect, Some(TaintEffect::Unknown(_))) {
            watches.unknown.of(Unknown::TolerationEffect).inc();
        }
    }
}
