//! Converts watch events of nodes, leases and pods to inputs of node lifecycle; an undecodable object is an input too
//! (D11).

use crate::watch_inputs::since;
use taintward_core::identity::PodRef;
use taintward_core::identity::{NodeName, Uid};
use taintward_core::node_lifecycle::{
    LeaseFact, NodeHealthFact, NodeLifecycleInput, PodReadinessFact, WatchedKind,
};
use taintward_core::time::Mono;
use taintward_kube::decode::{ObjectIdentity, UndecodableObject};
use taintward_kube::watch::WatchEvent;

/// What one batch tells the engine.
pub(super) fn inputs<F: NodeWatchInput>(batch: Vec<WatchEvent<F>>, now: Mono) -> Vec<NodeLifecycleInput> {
    batch.into_iter().filter_map(|event| input(event, now)).collect()
}

fn input<F: NodeWatchInput>(heard: WatchEvent<F>, now: Mono) -> Option<NodeLifecycleInput> {
    match heard {
        WatchEvent::ListStarted { silent_for } => {
            Some(NodeLifecycleInput::ListStarted { stream: F::STREAM, silent_since: since(silent_for, now) })
        }
        WatchEvent::Applied { fact, listed } => Some(fact.seen(listed)),
        WatchEvent::Deleted { uid, identity } => F::gone(uid, identity),
        WatchEvent::Undecodable(UndecodableObject { identity, .. }) => F::unreadable(identity?),
        WatchEvent::ListCompleted => Some(NodeLifecycleInput::ListCompleted { stream: F::STREAM }),
        WatchEvent::ListAborted => Some(NodeLifecycleInput::ListAborted { stream: F::STREAM }),
        WatchEvent::Bookmark => None,
    }
}

/// How a kind of object is told of.
pub(super) trait NodeWatchInput: Sized {
    const STREAM: WatchedKind;
    fn seen(self, listed: bool) -> NodeLifecycleInput;
    fn gone(uid: Uid, identity: ObjectIdentity) -> Option<NodeLifecycleInput>;
    fn unreadable(identity: ObjectIdentity) -> Option<NodeLifecycleInput>;
}

impl NodeWatchInput for NodeHealthFact {
    const STREAM: WatchedKind = WatchedKind::Nodes;

    fn seen(self, listed: bool) -> NodeLifecycleInput {
        NodeLifecycleInput::Node { fact: self, listed }
    }

    fn gone(uid: Uid, identity: ObjectIdentity) -> Option<NodeLifecycleInput> {
        Some(NodeLifecycleInput::NodeGone { name: NodeName::new(&identity.name), uid: Some(uid) })
    }

    fn unreadable(identity: ObjectIdentity) -> Option<NodeLifecycleInput> {
        Some(NodeLifecycleInput::NodeUnreadable { name: NodeName::new(&identity.name) })
    }
}

impl NodeWatchInput for LeaseFact {
    const STREAM: WatchedKind = WatchedKind::Leases;

    fn seen(self, listed: bool) -> NodeLifecycleInput {
        NodeLifecycleInput::Lease { fact: self, listed }
    }

    fn gone(_: Uid, identity: ObjectIdentity) -> Option<NodeLifecycleInput> {
        Some(NodeLifecycleInput::LeaseGone { node: NodeName::new(&identity.name) })
    }

    fn unreadable(identity: ObjectIdentity) -> Option<NodeLifecycleInput> {
        Some(NodeLifecycleInput::LeaseUnreadable { node: NodeName::new(&identity.name) })
    }
}

impl NodeWatchInput for PodReadinessFact {
    const STREAM: WatchedKind = WatchedKind::Pods;

    fn seen(self, _: bool) -> NodeLifecycleInput {
        NodeLifecycleInput::Pod { fact: self }
    }

    /// A pod on no node was never told of, so its end is no news.
    fn gone(uid: Uid, identity: ObjectIdentity) -> Option<NodeLifecycleInput> {
        identity.node.map(|node| NodeLifecycleInput::PodGone { pod: PodRef { node, uid } })
    }

    /// What was known of it stands: marking it not ready does it no harm, and the mark asks the server first.
    fn unreadable(_: ObjectIdentity) -> Option<NodeLifecycleInput> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn identity(name: &str, node: Option<&str>) -> ObjectIdentity {
        ObjectIdentity { name: name.into(), node: node.map(NodeName::new), ..ObjectIdentity::default() }
    }

    #[test]
    fn the_list_of_each_kind_begins_and_ends_as_its_own() {
        let now = Mono::from_secs(100);
        let begin =
            |stream| NodeLifecycleInput::ListStarted { stream, silent_since: Some(Mono::from_secs(97)) };
        let silent_for = Some(Duration::from_secs(3));
        let nodes = inputs::<NodeHealthFact>(
            vec![WatchEvent::ListStarted { silent_for }, WatchEvent::ListCompleted, WatchEvent::Bookmark],
            now,
        );
        assert_eq!(
            nodes,
            [begin(WatchedKind::Nodes), NodeLifecycleInput::ListCompleted { stream: WatchedKind::Nodes }]
        );
        let leases =
            inputs::<LeaseFact>(vec![WatchEvent::ListStarted { silent_for }, WatchEvent::ListCompleted], now);
        assert_eq!(
            leases,
            [begin(WatchedKind::Leases), NodeLifecycleInput::ListCompleted { stream: WatchedKind::Leases }]
        );
        let aborted =
            inputs::<LeaseFact>(vec![WatchEvent::ListStarted { silent_for }, WatchEvent::ListAborted], now);
        assert_eq!(
            aborted,
            [begin(WatchedKind::Leases), NodeLifecycleInput::ListAborted { stream: WatchedKind::Leases }]
        );
        let pods = inputs::<PodReadinessFact>(
            vec![WatchEvent::ListStarted { silent_for: None }, WatchEvent::ListCompleted],
            now,
        );
        let unknown = NodeLifecycleInput::ListStarted { stream: WatchedKind::Pods, silent_since: None };
        assert_eq!(pods, [unknown, NodeLifecycleInput::ListCompleted { stream: WatchedKind::Pods }]);
    }

    #[test]
    fn d11_what_cannot_be_read_is_told_by_name_where_there_is_one() {
        let now = Mono::from_secs(1);
        let unreadable = |identity| UndecodableObject { identity, why: "odd".into() };
        let named = Some(identity("n1", None));
        let nodes = vec![
            WatchEvent::Undecodable(unreadable(named.clone())),
            WatchEvent::Undecodable(unreadable(None)),
        ];
        assert_eq!(
            inputs::<NodeHealthFact>(nodes, now),
            [NodeLifecycleInput::NodeUnreadable { name: NodeName::new("n1") }]
        );
        let leases = vec![WatchEvent::Undecodable(unreadable(named.clone()))];
        assert_eq!(
            inputs::<LeaseFact>(leases, now),
            [NodeLifecycleInput::LeaseUnreadable { node: NodeName::new("n1") }]
        );
        assert_eq!(inputs::<PodReadinessFact>(vec![WatchEvent::Undecodable(unreadable(named))], now), []);
    }

    #[test]
    fn ends_name_who_is_gone() {
        let now = Mono::from_secs(1);
        let uid = Uid::new("u1");
        let nodes = vec![WatchEvent::Deleted { uid: uid.clone(), identity: identity("n1", None) }];
        let gone = NodeLifecycleInput::NodeGone { name: NodeName::new("n1"), uid: Some(uid.clone()) };
        assert_eq!(inputs::<NodeHealthFact>(nodes, now), [gone]);
        let leases = vec![WatchEvent::Deleted { uid: uid.clone(), identity: identity("n1", None) }];
        assert_eq!(
            inputs::<LeaseFact>(leases, now),
            [NodeLifecycleInput::LeaseGone { node: NodeName::new("n1") }]
        );
        let pods = vec![
            WatchEvent::Deleted { uid: uid.clone(), identity: identity("p", Some("n1")) },
            WatchEvent::Deleted { uid: uid.clone(), identity: identity("p", None) },
        ];
        let gone = NodeLifecycleInput::PodGone { pod: PodRef { node: NodeName::new("n1"), uid } };
        assert_eq!(inputs::<PodReadinessFact>(pods, now), [gone], "one on no node was never told of");
    }
}
