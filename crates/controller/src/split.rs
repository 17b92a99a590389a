//! # Split: one stream, two listeners
//! Room:     what was heard of nodes and pods, handed to taint eviction and to node health, each with its half.
//! Comes in: batches of whole objects from a stream.
//! Goes out: batches of halves, in the same order, to whoever runs.
//! Keeps:    nothing is dropped: the slower of both sets the pace; what can't be read is counted once (D11).
//! Not here: decoding (the client), what a half is told to its engine as (`hear.rs`, `lifecycle/hear.rs`).

use crate::metrics::{Resource, Watches};
use taintward_client::clock::Clock;
use taintward_client::decode::{SeenNode, SeenPod};
use taintward_client::listen::Heard;
use taintward_core::{fact, health};
use tokio::sync::mpsc;

/// An object that both controllers look at, each in its own way.
pub(crate) trait Seen: Sized + Send + 'static {
    /// What taint eviction wants to know.
    type Eviction: Send + 'static;
    /// What node health wants to know.
    type Health: Send + 'static;

    fn split(self) -> (Self::Eviction, Self::Health);
}

impl Seen for SeenNode {
    type Eviction = fact::NodeFact;
    type Health = health::NodeFact;

    fn split(self) -> (fact::NodeFact, health::NodeFact) {
        (self.taints, self.health)
    }
}

impl Seen for SeenPod {
    type Eviction = fact::PodFact;
    type Health = health::PodFact;

    fn split(self) -> (fact::PodFact, health::PodFact) {
        let Self { pod, ready } = self;
        let (uid, name, node) = (pod.uid.clone(), pod.name.clone(), pod.node.clone());
        (pod, health::PodFact { uid, name, node, ready })
    }
}

/// Batches on their way to one controller.
pub(crate) type Way<F> = mpsc::Sender<Vec<Heard<F>>>;

/// Whoever listens; at least one.
pub(crate) struct Ways<S: Seen> {
    pub(crate) eviction: Option<Way<S::Eviction>>,
    pub(crate) health: Option<Way<S::Health>>,
}

/// Counts what comes along.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    pub(crate) watches: Watches,
    pub(crate) clock: Clock,
    pub(crate) resource: Resource,
}

impl Meter {
    fn count<F>(&self, batch: &[Heard<F>]) {
        self.watches.heard(self.resource, self.clock.now().mono);
        let unreadable = batch.iter().filter(|heard| matches!(heard, Heard::Unreadable(_)));
        self.watches.undecodable.of(self.resource).inc_by(unreadable.count() as u64);
    }
}

/// Hands everything on until the stream has ended, or nobody listens any more.
pub(crate) async fn run<S: Seen>(mut from: mpsc::Receiver<Vec<Heard<S>>>, mut ways: Ways<S>, meter: Meter) {
    while let Some(batch) = from.recv().await {
        meter.count(&batch);
        let (eviction, health) = batch.into_iter().map(halves).unzip();
        pass(&mut ways.eviction, eviction).await;
        pass(&mut ways.health, health).await;
        if ways.eviction.is_none() && ways.health.is_none() {
            return;
        }
    }
}

/// Hands on what only one listens to.
pub(crate) async fn pass_on<F>(mut from: mpsc::Receiver<Vec<Heard<F>>>, out: Way<F>, meter: Meter) {
    while let Some(batch) = from.recv().await {
        meter.count(&batch);
        if out.send(batch).await.is_err() {
            return;
        }
    }
}

async fn pass<F>(way: &mut Option<Way<F>>, batch: Vec<Heard<F>>) {
    if let Some(open) = way
        && open.send(batch).await.is_err()
    {
        *way = None;
    }
}

fn halves<S: Seen>(heard: Heard<S>) -> (Heard<S::Eviction>, Heard<S::Health>) {
    match heard {
        Heard::SyncBegins { silent_for } => {
            (Heard::SyncBegins { silent_for }, Heard::SyncBegins { silent_for })
        }
        Heard::Seen { fact, listed } => {
            let (eviction, health) = fact.split();
            (Heard::Seen { fact: eviction, listed }, Heard::Seen { fact: health, listed })
        }
        Heard::Gone { uid, identity } => {
            (Heard::Gone { uid: uid.clone(), identity: identity.clone() }, Heard::Gone { uid, identity })
        }
        Heard::Unreadable(unreadable) => {
            (Heard::Unreadable(unreadable.clone()), Heard::Unreadable(unreadable))
        }
        Heard::SyncEnds => (Heard::SyncEnds, Heard::SyncEnds),
        Heard::SyncAborted => (Heard::SyncAborted, Heard::SyncAborted),
        Heard::Quiet => (Heard::Quiet, Heard::Quiet),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{About, Metrics};
    use std::sync::Arc;
    use std::time::Duration;
    use taintward_client::decode::{Decoded, Fact as _, Unreadable};
    use taintward_core::time::{Mono, Wall};

    fn node(name: &str) -> SeenNode {
        let json = format!(
            r#"{{"metadata":{{"name":"{name}","uid":"u-{name}","resourceVersion":"7"}},
                "spec":{{"taints":[{{"key":"k","effect":"NoExecute"}}]}},
                "status":{{"conditions":[{{"type":"Ready","status":"True"}}]}}}}"#
        );
        match SeenNode::from_json(json.as_bytes()) {
            Decoded::Fact(node) => node,
            other => panic!("{other:?}"),
        }
    }

    fn meter() -> Meter {
        let about = About { version: "", mode: "", lease: String::new(), started: Wall::from_secs(0) };
        let metrics = Metrics::new(Arc::new(|| Mono::from_secs(0)), &about);
        let clock = Clock::of_runtime(Wall::from_secs(0));
        Meter { watches: metrics.watches, clock, resource: Resource::Nodes }
    }

    fn batch() -> Vec<Heard<SeenNode>> {
        let unreadable = Unreadable { identity: None, why: "odd".into() };
        vec![
            Heard::SyncBegins { silent_for: Some(Duration::from_secs(3)) },
            Heard::Seen { fact: node("n1"), listed: true },
            Heard::Unreadable(unreadable),
            Heard::SyncEnds,
            Heard::Seen { fact: node("n2"), listed: false },
            Heard::Quiet,
        ]
    }

    #[tokio::test]
    async fn both_get_their_half_of_everything_in_the_same_order() {
        let (out, from) = mpsc::channel(1);
        let ((eviction, mut taints), (health, mut conditions)) = (mpsc::channel(1), mpsc::channel(1));
        let meter = meter();
        let undecodable = meter.watches.undecodable.of(Resource::Nodes);
        tokio::spawn(run(from, Ways { eviction: Some(eviction), health: Some(health) }, meter));
        out.send(batch()).await.unwrap();
        let (taints, conditions) = (taints.recv().await.unwrap(), conditions.recv().await.unwrap());
        let expected: (Vec<_>, Vec<_>) = batch().into_iter().map(halves).unzip();
        assert_eq!((&taints, &conditions), (&expected.0, &expected.1));
        let [_, Heard::Seen { fact, listed: true }, ..] = &taints[..] else { panic!("{taints:?}") };
        assert_eq!(fact.taints.len(), 1);
        let [.., Heard::Seen { fact, listed: false }, _] = &conditions[..] else { panic!("{conditions:?}") };
        assert_eq!((fact.name.as_str(), fact.conditions.len()), ("n2", 1));
        assert_eq!(undecodable.get(), 1, "counted once, though two are told");
    }

    #[tokio::test]
    async fn one_that_has_ended_does_not_stop_the_other() {
        let (out, from) = mpsc::channel(1);
        let ((eviction, taints), (health, mut conditions)) = (mpsc::channel(1), mpsc::channel(1));
        let task = tokio::spawn(run(from, Ways { eviction: Some(eviction), health: Some(health) }, meter()));
        drop(taints);
        for _ in 0..3 {
            out.send(batch()).await.unwrap();
            assert_eq!(conditions.recv().await.unwrap().len(), batch().len());
        }
        drop(conditions);
        out.send(batch()).await.unwrap();
        task.await.unwrap();
        assert!(out.is_closed(), "nobody is left to listen");
    }
}
