//! A replica: an engine with its watches, which may lag behind.

use crate::common::cluster::ModelCluster;
use std::collections::VecDeque;
use taintward_core::engine::Engine;
use taintward_core::eviction::{EvictionConfig, EvictionEngine, EvictionInput};
use taintward_core::object_event::ObjectEvent;
use taintward_core::time::Mono;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct EngineReplica {
    pub(super) engine: EvictionEngine,
    /// Events that have not arrived, with the times at which they were sent.
    nodes: VecDeque<(i64, EvictionInput)>,
    pods: VecDeque<(i64, EvictionInput)>,
    /// When nodes and pods were last known completely.
    received: Option<(i64, i64)>,
}

impl EngineReplica {
    pub(super) fn new() -> Self {
        let engine = EvictionEngine::new(EvictionConfig::default());
        Self { engine, nodes: VecDeque::new(), pods: VecDeque::new(), received: None }
    }

    /// An event is on its way.
    pub(super) fn send(&mut self, now: i64, change: EvictionInput) {
        match change {
            EvictionInput::Pods(_) => self.pods.push_back((now, change)),
            _ => self.nodes.push_back((now, change)),
        }
    }

    /// The next event of nodes, or of pods, arrives.
    pub(super) fn receive(&mut self, nodes: bool, cluster: &ModelCluster) -> Option<()> {
        let (sent, input) = if nodes { self.nodes.pop_front() } else { self.pods.pop_front() }?;
        self.engine.handle(input, cluster.clock());
        let received = self.received.get_or_insert((sent, sent));
        *if nodes { &mut received.0 } else { &mut received.1 } = sent;
        Some(())
    }

    pub(super) fn receive_all(&mut self, cluster: &ModelCluster) {
        while self.receive(true, cluster).is_some() || self.receive(false, cluster).is_some() {}
    }

    pub(super) fn lose_nodes(&mut self) {
        self.nodes.clear();
    }

    pub(super) fn lose_all(&mut self) {
        self.nodes.clear();
        self.pods.clear();
    }

    /// Lists everything, immediately and completely.
    pub(super) fn list(&mut self, cluster: &ModelCluster) {
        self.lose_all();
        let at = |which: fn((i64, i64)) -> i64| self.received.map(which).map(Mono::from_micros);
        let (nodes_since, pods_since) = (at(|received| received.0), at(|received| received.1));
        let nodes = cluster.nodes.keys().map(|&id| cluster.node_sent(id, true));
        let pods = cluster.pods.keys().map(|&id| cluster.pod_sent(id, true));
        let mut inputs = vec![EvictionInput::Nodes(ObjectEvent::ListStarted { silent_since: nodes_since })];
        inputs.extend(nodes);
        inputs.extend([
            EvictionInput::Nodes(ObjectEvent::ListCompleted),
            EvictionInput::Pods(ObjectEvent::ListStarted { silent_since: pods_since }),
        ]);
        inputs.extend(pods);
        inputs.push(EvictionInput::Pods(ObjectEvent::ListCompleted));
        for input in inputs {
            self.engine.handle(input, cluster.clock());
        }
        self.received = Some((cluster.now, cluster.now));
    }
}
