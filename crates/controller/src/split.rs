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
        Heard::Quiet => (Heard::Quiet, Heard::Quiet),
    }
}
