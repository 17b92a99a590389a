//! # Hear: from what was heard to what node health is told
//! Room:     the translation of stream news into inputs of the health engine.
//! Comes in: batches of [`Heard`] for nodes, leases and pods.
//! Goes out: [`Input`]s, in the same order.
//! Keeps:    what can't be read is told as such (D11).
//! Not here: decoding (the client), deciding (the core).

use super::news::Batch;
use crate::hear::since;
use taintward_client::decode::{Identity, Unreadable};
use taintward_client::listen::Heard;
use taintward_core::engine::PodRef;
use taintward_core::health::{Input, LeaseFact, NodeFact, PodFact, Stream};
use taintward_core::names::{NodeName, Uid};
use taintward_core::time::Mono;

/// What one batch tells the engine.
pub(super) fn inputs(batch: Batch, now: Mono) -> Vec<Input> {
    match batch {
        Batch::Nodes(batch) => all(batch, now),
        Batch::Pods(batch) => all(batch, now),
        Batch::Leases(batch) => all(batch, now),
    }
}

fn all<F: Told>(batch: Vec<Heard<F>>, now: Mono) -> Vec<Input> {
    batch.into_iter().filter_map(|heard| input(heard, now)).collect()
}

fn input<F: Told>(heard: Heard<F>, now: Mono) -> Option<Input> {
    match heard {
        Heard::SyncBegins { silent_for } => {
            Some(Input::ListBegin { stream: F::STREAM, silent_since: since(silent_for, now) })
        }
        Heard::Seen { fact, listed } => Some(fact.seen(listed)),
        Heard::Gone { uid, identity } => F::gone(uid, identity),
        Heard::Unreadable(Unreadable { identity, .. }) => F::unreadable(identity?),
        Heard::SyncEnds => Some(Input::ListEnd { stream: F::STREAM }),
        Heard::SyncAborted => Some(Input::ListAborted { stream: F::STREAM }),
        Heard::Quiet => None,
    }
}

/// How a kind of object is told of.
trait Told: Sized {
    const STREAM: Stream;
    fn seen(self, listed: bool) -> Input;
    fn gone(uid: Uid, identity: Identity) -> Option<Input>;
    fn unreadable(identity: Identity) -> Option<Input>;
}

impl Told for NodeFact {
    const STREAM: Stream = Stream::Nodes;

    fn seen(self, listed: bool) -> Input {
        Input::Node { fact: self, listed }
    }

    fn gone(uid: Uid, identity: Identity) -> Option<Input> {
        Some(Input::NodeGone { name: NodeName::new(&identity.name), uid: Some(uid) })
    }

    fn unreadable(identity: Identity) -> Option<Input> {
        Some(Input::NodeUnreadable { name: NodeName::new(&identity.name) })
    }
}

impl Told for LeaseFact {
    const STREAM: Stream = Stream::Leases;

    fn seen(self, listed: bool) -> Input {
        Input::Lease { fact: self, listed }
    }

    fn gone(_: Uid, identity: Identity) -> Option<Input> {
        Some(Input::LeaseGone { node: NodeName::new(&identity.name) })
    }

    fn unreadable(identity: Identity) -> Option<Input> {
        Some(Input::LeaseUnreadable { node: NodeName::new(&identity.name) })
    }
}

impl Told for PodFact {
    const STREAM: Stream = Stream::Pods;

    fn seen(self, _: bool) -> Input {
        Input::Pod { fact: self }
    }

    /// A pod on no node was never told of, so its end is no news.
    fn gone(uid: Uid, identity: Identity) -> Option<Input> {
        identity.node.map(|node| Input::PodGone { pod: PodRef { node, uid } })
    }

    /// What was known of it stands: marking it not ready does it no harm, and the mark asks the server first.
    fn unreadable(_: Identity) -> Option<Input> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn identity(name: &str, node: Option<&str>) -> Identity {
        Identity { name: name.into(), node: node.map(NodeName::new), ..Identity::default() }
    }

    #[test]
    fn the_list_of_each_kind_begins_and_ends_as_its_own() {
        let now = Mono::from_secs(100);
        let told = |batch| inputs(batch, now);
        let begin = |stream| Input::ListBegin { stream, silent_since: Some(Mono::from_secs(97)) };
        let silent_for = Some(Duration::from_secs(3));
        let nodes = told(Batch::Nodes(vec![Heard::SyncBegins { silent_for }, Heard::SyncEnds, Heard::Quiet]));
        assert_eq!(nodes, [begin(Stream::Nodes), Input::ListEnd { stream: Stream::Nodes }]);
        let leases = told(Batch::Leases(vec![Heard::SyncBegins { silent_for }, Heard::SyncEnds]));
        assert_eq!(leases, [begin(Stream::Leases), Input::ListEnd { stream: Stream::Leases }]);
        let aborted = told(Batch::Leases(vec![Heard::SyncBegins { silent_for }, Heard::SyncAborted]));
        assert_eq!(aborted, [begin(Stream::Leases), Input::ListAborted { stream: Stream::Leases }]);
        let pods = told(Batch::Pods(vec![Heard::SyncBegins { silent_for: None }, Heard::SyncEnds]));
        let unknown = Input::ListBegin { stream: Stream::Pods, silent_since: None };
        assert_eq!(pods, [unknown, Input::ListEnd { stream: Stream::Pods }]);
    }

    #[test]
    fn d11_what_cannot_be_read_is_told_by_name_where_there_is_one() {
        let now = Mono::from_secs(1);
        let unreadable = |identity| Unreadable { identity, why: "odd".into() };
        let named = Some(identity("n1", None));
        let nodes = vec![Heard::Unreadable(unreadable(named.clone())), Heard::Unreadable(unreadable(None))];
        assert_eq!(inputs(Batch::Nodes(nodes), now), [Input::NodeUnreadable { name: NodeName::new("n1") }]);
        let leases = vec![Heard::Unreadable(unreadable(named.clone()))];
        assert_eq!(
            inputs(Batch::Leases(leases), now),
            [Input::LeaseUnreadable { node: NodeName::new("n1") }]
        );
        assert_eq!(inputs(Batch::Pods(vec![Heard::Unreadable(unreadable(named))]), now), []);
    }

    #[test]
    fn ends_name_who_is_gone() {
        let now = Mono::from_secs(1);
        let uid = Uid::new("u1");
        let nodes = vec![Heard::Gone { uid: uid.clone(), identity: identity("n1", None) }];
        let gone = Input::NodeGone { name: NodeName::new("n1"), uid: Some(uid.clone()) };
        assert_eq!(inputs(Batch::Nodes(nodes), now), [gone]);
        let leases = vec![Heard::Gone { uid: uid.clone(), identity: identity("n1", None) }];
        assert_eq!(inputs(Batch::Leases(leases), now), [Input::LeaseGone { node: NodeName::new("n1") }]);
        let pods = vec![
            Heard::Gone { uid: uid.clone(), identity: identity("p", Some("n1")) },
            Heard::Gone { uid: uid.clone(), identity: identity("p", None) },
        ];
        let gone = Input::PodGone { pod: PodRef { node: NodeName::new("n1"), uid } };
        assert_eq!(inputs(Batch::Pods(pods), now), [gone], "one on no node was never told of");
    }
}
