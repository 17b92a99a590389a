//! # News: what both streams tell, in one order
//! Room:     the two queues from the streams, and which of them is heard first.
//! Comes in: batches from the node stream and from the pod stream.
//! Goes out: one batch at a time.
//! Keeps:    node news before pod news where both are waiting (TE-6); within a stream, the order of the stream.
//! Not here: what the engine is told of a batch (`watch_inputs.rs`), when it is asked for (`eviction.rs`).

use taintward_core::fact::{NodeFact, PodFact};
use taintward_kube::watch::WatchEvent;
use tokio::sync::mpsc;

/// News of both kinds.
pub(crate) struct EvictionWatchQueues {
    pub(crate) nodes: mpsc::Receiver<Vec<WatchEvent<NodeFact>>>,
    pub(crate) pods: mpsc::Receiver<Vec<WatchEvent<PodFact>>>,
}

/// News of one kind.
#[derive(Debug)]
pub(crate) enum EvictionWatchBatch {
    Nodes(Vec<WatchEvent<NodeFact>>),
    Pods(Vec<WatchEvent<PodFact>>),
}

impl EvictionWatchQueues {
    /// What is there already.
    pub(crate) fn waiting(&mut self) -> Option<EvictionWatchBatch> {
        let nodes = self.nodes.try_recv().map(EvictionWatchBatch::Nodes);
        nodes.or_else(|_| self.pods.try_recv().map(EvictionWatchBatch::Pods)).ok()
    }

    /// What comes next; never, when both streams have ended. Dropped, it loses nothing.
    pub(crate) async fn next(&mut self) -> EvictionWatchBatch {
        tokio::select! {
            biased;
            Some(batch) = self.nodes.recv() => EvictionWatchBatch::Nodes(batch),
            Some(batch) = self.pods.recv() => EvictionWatchBatch::Pods(batch),
            else => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;
    use std::time::Duration;

    /// Enough that a random order shows.
    const MANY: u64 = 32;

    /// Pod news that came before the node news; both numbered.
    fn pods_first() -> EvictionWatchQueues {
        let ((node_news, nodes), (pod_news, pods)) = (mpsc::channel(64), mpsc::channel(64));
        for number in 0..MANY {
            pod_news.try_send(vec![numbered(number)]).unwrap();
        }
        for number in 0..MANY {
            node_news.try_send(vec![numbered(number)]).unwrap();
        }
        EvictionWatchQueues { nodes, pods }
    }

    fn numbered<F>(number: u64) -> WatchEvent<F> {
        WatchEvent::ListStarted { silent_for: Some(Duration::from_secs(number)) }
    }

    fn told(batch: EvictionWatchBatch) -> (&'static str, u64) {
        fn number<F>(batch: Vec<WatchEvent<F>>) -> u64 {
            let [WatchEvent::ListStarted { silent_for: Some(number) }] = &batch[..] else {
                panic!("another batch")
            };
            number.as_secs()
        }
        match batch {
            EvictionWatchBatch::Nodes(batch) => ("node", number(batch)),
            EvictionWatchBatch::Pods(batch) => ("pod", number(batch)),
        }
    }

    fn nodes_then_pods() -> Vec<(&'static str, u64)> {
        ["node", "pod"].iter().flat_map(|kind| (0..MANY).map(|number| (*kind, number))).collect()
    }

    #[test]
    fn te_6_node_news_before_pod_news_in_what_is_there_already() {
        let mut news = pods_first();
        let all: Vec<_> = std::iter::from_fn(|| news.waiting()).map(told).collect();
        assert_eq!(all, nodes_then_pods());
    }

    #[test]
    fn te_6_node_news_before_pod_news_in_what_wakes_the_loop() {
        let mut news = pods_first();
        let all: Vec<_> = std::iter::from_fn(|| news.next().now_or_never()).map(told).collect();
        assert_eq!(all, nodes_then_pods());
    }

    #[test]
    fn pod_news_does_not_wait_for_node_news() {
        let (_open, nodes) = mpsc::channel(1);
        let (pod_news, pods) = mpsc::channel(1);
        let mut news = EvictionWatchQueues { nodes, pods };
        assert!(news.waiting().is_none() && news.next().now_or_never().is_none());
        pod_news.try_send(vec![numbered(7)]).unwrap();
        assert_eq!(news.next().now_or_never().map(told), Some(("pod", 7)));
        pod_news.try_send(vec![numbered(8)]).unwrap();
        assert_eq!(news.waiting().map(told), Some(("pod", 8)));
    }

    #[test]
    fn the_end_of_the_streams_is_no_news() {
        let (nodes, pods) = (mpsc::channel(1).1, mpsc::channel(1).1);
        let mut news = EvictionWatchQueues { nodes, pods };
        assert!(news.waiting().is_none() && news.next().now_or_never().is_none());
    }
}
