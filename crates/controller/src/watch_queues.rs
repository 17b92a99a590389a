//! Holds the queues from the watches to one engine, in order of priority.
//!
//! - Invariant: a batch of a queue that was added earlier comes first, where both are waiting; within a queue, the
//!   order of its watch.

use std::task::{Context, Poll};
use taintward_core::object_event::ObjectEvent;
use tokio::sync::mpsc;

/// Receives events of one kind.
pub(crate) type WatchReceiver<F> = mpsc::Receiver<Vec<ObjectEvent<F>>>;

/// The queues of one engine, whose inputs are `I`.
pub(crate) struct WatchQueues<I> {
    queues: Vec<Box<dyn WatchQueue<I> + Send>>,
}

impl<I: 'static> WatchQueues<I> {
    /// No queues.
    pub(crate) fn new() -> Self {
        Self { queues: Vec::new() }
    }

    /// Adds a queue with the lowest priority so far; `input` converts an event to an engine input.
    pub(crate) fn with<F: Send + 'static>(
        mut self,
        receiver: WatchReceiver<F>,
        input: impl FnMut(ObjectEvent<F>) -> I + Send + 'static,
    ) -> Self {
        self.queues.push(Box::new(ConvertingQueue { receiver, input }));
        self
    }

    /// A batch that is waiting already.
    pub(crate) fn try_next(&mut self) -> Option<Vec<I>> {
        self.queues.iter_mut().find_map(|queue| queue.try_next())
    }

    /// The next batch; never returns once all watches have ended. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Vec<I> {
        std::future::poll_fn(|context| {
            let mut ready = self.queues.iter_mut().filter_map(|queue| match queue.poll_next(context) {
                Poll::Ready(batch) => batch,
                Poll::Pending => None,
            });
            ready.next().map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}

/// A queue for any kind of object.
trait WatchQueue<I> {
    fn try_next(&mut self) -> Option<Vec<I>>;

    /// `None` when its watch has ended.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Vec<I>>>;
}

struct ConvertingQueue<F, C> {
    receiver: WatchReceiver<F>,
    input: C,
}

impl<I, F, C: FnMut(ObjectEvent<F>) -> I> ConvertingQueue<F, C> {
    fn inputs(&mut self, batch: Vec<ObjectEvent<F>>) -> Vec<I> {
        batch.into_iter().map(&mut self.input).collect()
    }
}

impl<I, F, C: FnMut(ObjectEvent<F>) -> I> WatchQueue<I> for ConvertingQueue<F, C> {
    fn try_next(&mut self) -> Option<Vec<I>> {
        let batch = self.receiver.try_recv().ok()?;
        Some(self.inputs(batch))
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Vec<I>>> {
        self.receiver.poll_recv(context).map(|batch| Some(self.inputs(batch?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eviction;
    use futures::FutureExt as _;
    use taintward_core::eviction::EvictionInput;
    use taintward_core::fact::{NodeFact, PodFact};
    use taintward_core::time::{Mono, Wall};
    use taintward_kube::clock::Clock;

    /// Enough batches for a random order to show.
    const MANY: i64 = 32;

    /// The queues of taint eviction.
    fn queues(nodes: WatchReceiver<NodeFact>, pods: WatchReceiver<PodFact>) -> WatchQueues<EvictionInput> {
        let clock = Clock::of_runtime(Wall::from_secs(1_800_000_000));
        eviction::watch_queues(nodes, pods, &eviction::tests::metrics(&clock))
    }

    /// Pod events that arrived before the node events, both numbered.
    fn pods_first() -> WatchQueues<EvictionInput> {
        let ((node_events, nodes), (pod_events, pods)) = (mpsc::channel(64), mpsc::channel(64));
        for number in 0..MANY {
            pod_events.try_send(vec![numbered(number)]).unwrap();
        }
        for number in 0..MANY {
            node_events.try_send(vec![numbered(number)]).unwrap();
        }
        queues(nodes, pods)
    }

    fn numbered<F>(number: i64) -> ObjectEvent<F> {
        ObjectEvent::ListStarted { silent_since: Some(Mono::from_secs(number)) }
    }

    fn kind_and_number(batch: Vec<EvictionInput>) -> (&'static str, i64) {
        let (kind, since) = match &batch[..] {
            [EvictionInput::Nodes(ObjectEvent::ListStarted { silent_since })] => ("node", *silent_since),
            [EvictionInput::Pods(ObjectEvent::ListStarted { silent_since })] => ("pod", *silent_since),
            other => panic!("another batch: {other:?}"),
        };
        (kind, since.unwrap().as_micros() / 1_000_000)
    }

    fn nodes_then_pods() -> Vec<(&'static str, i64)> {
        ["node", "pod"].iter().flat_map(|kind| (0..MANY).map(|number| (*kind, number))).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn te_6_nodes_before_pods_in_what_is_there_already() {
        let mut queues = pods_first();
        let all: Vec<_> = std::iter::from_fn(|| queues.try_next()).map(kind_and_number).collect();
        assert_eq!(all, nodes_then_pods());
    }

    #[tokio::test(start_paused = true)]
    async fn te_6_nodes_before_pods_in_what_wakes_the_loop() {
        let mut queues = pods_first();
        let all: Vec<_> = std::iter::from_fn(|| queues.next().now_or_never()).map(kind_and_number).collect();
        assert_eq!(all, nodes_then_pods());
    }

    #[tokio::test(start_paused = true)]
    async fn pods_do_not_wait_for_nodes() {
        let (_open, nodes) = mpsc::channel(1);
        let (pod_events, pods) = mpsc::channel(1);
        let mut queues = queues(nodes, pods);
        assert!(queues.try_next().is_none() && queues.next().now_or_never().is_none());
        pod_events.try_send(vec![numbered(7)]).unwrap();
        assert_eq!(queues.next().now_or_never().map(kind_and_number), Some(("pod", 7)));
        pod_events.try_send(vec![numbered(8)]).unwrap();
        assert_eq!(queues.try_next().map(kind_and_number), Some(("pod", 8)));
    }

    #[tokio::test(start_paused = true)]
    async fn watches_that_have_ended_give_no_batch() {
        let (nodes, pods) = (mpsc::channel(1).1, mpsc::channel(1).1);
        let mut queues = queues(nodes, pods);
        assert!(queues.try_next().is_none() && queues.next().now_or_never().is_none());
    }
}
