//! Distributes the events of one watch to eviction, node lifecycle, dedicated pools and holds, each with its part.
//!
//! - Invariant: nothing is dropped, so the slowest consumer sets the pace; an undecodable object is counted once (D11).
//!   Pools receive events from the start of a list on, and only while there are pools.

use crate::metrics::{Resource, WatchMetrics};
use crate::settings::EvictionScope;
use taintward_core::admission::pool::PodOnNodeFact;
use taintward_core::dedicated_pools::PoolNodeFact;
use taintward_core::object_event::ObjectEvent;
use taintward_core::toleration_guard::guarded_node;
use taintward_core::toleration_seconds::{HeldPodFact, HoldNodeFact};
use taintward_core::{fact, node_lifecycle};
use taintward_kube::clock::Clock;
use taintward_kube::decode::{Decoded, DecodedPod, NodeForAllControllers, WatchedObject as _};
use taintward_kube::watch::WatchEvent;
use tokio::sync::{mpsc, watch};

/// An object that every controller reads in its own form.
pub(crate) trait Split: Sized + Send + 'static {
    /// The part for taint eviction.
    type Eviction: Send + 'static;
    /// The part for node lifecycle.
    type Health: Send + 'static;
    /// The part for pools.
    type Pools: Send + 'static;
    /// The part for holds.
    type Holds: Send + 'static;

    /// The event for pools, which may see the object as deleted or undecodable.
    fn for_pools(&self, listed: bool) -> ObjectEvent<Self::Pools>;

    /// The event for holds, which see a pod that cannot be evicted any more as deleted.
    fn for_holds(&self, listed: bool) -> ObjectEvent<Self::Holds>;

    /// The event for taint eviction of guarded pods, which sees every other pod as deleted.
    fn for_guard(&self, listed: bool) -> ObjectEvent<Self::Eviction>;

    fn split(self) -> (Self::Eviction, Self::Health);
}

impl Split for NodeForAllControllers {
    type Eviction = fact::NodeFact;
    type Health = node_lifecycle::NodeHealthFact;
    type Pools = PoolNodeFact;
    type Holds = HoldNodeFact;

    fn for_pools(&self, listed: bool) -> ObjectEvent<PoolNodeFact> {
        match &self.member {
            Decoded::Object(member) => ObjectEvent::Applied { fact: member.clone(), listed },
            Decoded::Undecodable(_) => ObjectEvent::Undecodable(self.identity().into()),
            Decoded::Unbound(_) => ObjectEvent::Deleted(self.identity().into()),
        }
    }

    fn for_holds(&self, listed: bool) -> ObjectEvent<HoldNodeFact> {
        ObjectEvent::Applied { fact: self.node.for_holds(), listed }
    }

    fn for_guard(&self, listed: bool) -> ObjectEvent<fact::NodeFact> {
        ObjectEvent::Applied { fact: guarded_node(self.node.taints.clone()), listed }
    }

    fn split(self) -> (fact::NodeFact, node_lifecycle::NodeHealthFact) {
        (self.node.taints, self.node.health)
    }
}

impl Split for DecodedPod {
    type Eviction = fact::PodFact;
    type Health = node_lifecycle::PodReadinessFact;
    type Pools = PodOnNodeFact;
    type Holds = HeldPodFact;

    fn for_pools(&self, listed: bool) -> ObjectEvent<PodOnNodeFact> {
        match self.resident() {
            Some(fact) => ObjectEvent::Applied { fact, listed },
            None => ObjectEvent::Deleted(self.identity().into()),
        }
    }

    fn for_holds(&self, listed: bool) -> ObjectEvent<HeldPodFact> {
        match Self::for_holds(self) {
            Some(fact) => ObjectEvent::Applied { fact, listed },
            None => ObjectEvent::Deleted(self.identity().into()),
        }
    }

    fn for_guard(&self, listed: bool) -> ObjectEvent<fact::PodFact> {
        match Self::for_guard(self) {
            Some(fact) => ObjectEvent::Applied { fact, listed },
            None => ObjectEvent::Deleted(self.identity().into()),
        }
    }

    fn split(self) -> (fact::PodFact, node_lifecycle::PodReadinessFact) {
        let Self { pod, ready, .. } = self;
        let (id, node) = (pod.id.clone(), pod.node.clone());
        (pod, node_lifecycle::PodReadinessFact { id, node, ready })
    }
}

/// The queue of batches for one controller.
pub(crate) type ConsumerQueue<F> = mpsc::Sender<Vec<ObjectEvent<F>>>;

/// The controllers that receive the events; at least one.
pub(crate) struct Consumers<S: Split> {
    pub(crate) eviction: Option<ConsumerQueue<S::Eviction>>,
    pub(crate) eviction_scope: EvictionScope,
    pub(crate) health: Option<ConsumerQueue<S::Health>>,
    pub(crate) pools: Option<OnDemandConsumer<S::Pools>>,
    pub(crate) holds: Option<ConsumerQueue<S::Holds>>,
}

impl<S: Split> Consumers<S> {
    fn is_empty(&self) -> bool {
        let Self { eviction, health, pools, holds, .. } = self;
        eviction.is_none() && health.is_none() && pools.is_none() && holds.is_none()
    }
}

/// The queue for pools, which receives batches while there are pools.
pub(crate) struct OnDemandConsumer<F> {
    queue: Option<ConsumerQueue<F>>,
    needed: watch::Receiver<bool>,
    open: bool,
}

impl<F> OnDemandConsumer<F> {
    pub(crate) fn new(queue: ConsumerQueue<F>, needed: watch::Receiver<bool>) -> Self {
        Self { queue: Some(queue), needed, open: false }
    }

    /// The events of a batch for pools, from the start of a list on. Counts objects that only pools cannot decode.
    fn events<S: Split<Pools = F>>(
        &mut self,
        batch: &[ObjectEvent<S>],
        meter: &EventMeter,
    ) -> Vec<ObjectEvent<F>> {
        let needed = *self.needed.borrow();
        self.open &= needed;
        let mut pool_events = Vec::new();
        for event in batch {
            self.open |= needed && matches!(event, ObjectEvent::ListStarted { .. });
            if self.open {
                pool_events.push(match event.as_object() {
                    Ok((object, listed)) => object.for_pools(listed),
                    Err(event) => event,
                });
                if let (ObjectEvent::Applied { .. }, Some(ObjectEvent::Undecodable(_))) =
                    (event, pool_events.last())
                {
                    meter.watches.undecodable.of(meter.resource).inc();
                }
            }
        }
        pool_events
    }
}

/// Counts the events of a watch.
#[derive(Clone, Debug)]
pub(crate) struct EventMeter {
    pub(crate) watches: WatchMetrics,
    pub(crate) clock: Clock,
    pub(crate) resource: Resource,
}

impl EventMeter {
    /// Counts a batch and converts it for the engines.
    fn receive<F>(&self, batch: Vec<WatchEvent<F>>) -> Vec<ObjectEvent<F>> {
        let now = self.clock.now().mono;
        self.watches.active(self.resource, now);
        let undecodable = batch.iter().filter(|event| matches!(event, WatchEvent::Undecodable(_)));
        self.watches.undecodable.of(self.resource).inc_by(undecodable.count() as u64);
        batch.into_iter().filter_map(|event| event.into_object_event(now)).collect()
    }
}

/// Sends every batch to its consumers until the watch has ended or no consumer is left.
pub(crate) async fn run<S: Split>(
    mut from: mpsc::Receiver<Vec<WatchEvent<S>>>,
    mut consumers: Consumers<S>,
    meter: EventMeter,
) {
    while let Some(batch) = from.recv().await {
        let batch = meter.receive(batch);
        let pool_events =
            consumers.pools.as_mut().map(|pools| pools.events(&batch, &meter)).unwrap_or_default();
        let holds = consumers.holds.as_ref().map(|_| each(&batch, S::for_holds)).unwrap_or_default();
        let guarded = match consumers.eviction_scope {
            EvictionScope::AllPods => None,
            EvictionScope::GuardedPods => Some(each(&batch, S::for_guard)),
        };
        let (eviction, health) = batch.into_iter().map(|event| event.split(S::split)).unzip();
        send(&mut consumers.eviction, guarded.unwrap_or(eviction)).await;
        send(&mut consumers.health, health).await;
        send(&mut consumers.holds, holds).await;
        if let Some(pools) = &mut consumers.pools
            && !pool_events.is_empty()
        {
            send(&mut pools.queue, pool_events).await;
        }
        consumers.pools = consumers.pools.take().filter(|pools| pools.queue.is_some());
        if consumers.is_empty() {
            return;
        }
    }
}

/// A batch in the form of one consumer.
fn each<S, F>(batch: &[ObjectEvent<S>], form: fn(&S, bool) -> ObjectEvent<F>) -> Vec<ObjectEvent<F>> {
    let events = batch.iter().map(|event| match event.as_object() {
        Ok((object, listed)) => form(object, listed),
        Err(event) => event,
    });
    events.collect()
}

/// Sends every batch whole to each consumer, until none is left.
pub(crate) async fn forward<F: Clone>(
    mut from: mpsc::Receiver<Vec<WatchEvent<F>>>,
    [mut first, mut second]: [Option<ConsumerQueue<F>>; 2],
    meter: EventMeter,
) {
    while let Some(batch) = from.recv().await {
        let batch = meter.receive(batch);
        if second.is_some() {
            send(&mut second, batch.clone()).await;
        }
        send(&mut first, batch).await;
        if first.is_none() && second.is_none() {
            return;
        }
    }
}

/// Sends a batch; a consumer that has ended is removed.
async fn send<F>(queue: &mut Option<ConsumerQueue<F>>, batch: Vec<ObjectEvent<F>>) {
    if let Some(sender) = queue
        && !batch.is_empty()
        && sender.send(batch).await.is_err()
    {
        *queue = None;
    }
}

#[cfg(test)]
mod tests;
