//! Ends a history fairly: everything is listed, nothing changes any more, and every request succeeds.

use crate::histories::history::{NODES, PODS, RequestHistory};
use std::collections::BTreeMap;
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::{Engine, Lane, LiveRead};
use taintward_core::eviction::{EvictionEffect, EvictionInput};
use taintward_core::fact::{NodeFact, PodFact, PodLifePhase};
use taintward_core::identity::PodRef;
use taintward_core::identity::{ResourceVersion, Uid};
use taintward_core::time::Mono;

/// Longer than every toleration period, every backoff and every mark.
const END: i64 = 600_000_000;

struct FairServer<'a> {
    nodes: &'a [NodeFact],
    pods: BTreeMap<Uid, PodFact>,
}

impl FairServer<'_> {
    /// Carries out an effect, in the history's next version.
    fn response(&mut self, effect: EvictionEffect, next: ResourceVersion, now: Mono) -> EvictionInput {
        match effect {
            EvictionEffect::ReadNode { node } => {
                let fact = self.nodes.iter().find(|fact| fact.name == node).cloned();
                let reading = fact.map_or(LiveRead::NotFound, LiveRead::Found);
                EvictionInput::NodeConfirmed { node, sent: now, result: Ok(reading) }
            }
            EvictionEffect::SetDisruptionTarget { pod, version, .. } => {
                let result = self.demand(&pod, version).map(|fact| {
                    (fact.version, fact.marked) = (Some(next), true);
                    fact.version
                });
                EvictionInput::Marked { pod, result }
            }
            EvictionEffect::DeletePod { pod, version, .. } => {
                let result = self.demand(&pod, version).map(|_| ());
                if result.is_ok() {
                    self.pods.remove(&pod.uid);
                }
                EvictionInput::Deleted { pod, result }
            }
            EvictionEffect::EvictPod { .. } => unreachable!("there is no policy"),
            EvictionEffect::ReadPod { pod, .. } => {
                let reading = self.pods.get(&pod.uid).cloned().map_or(LiveRead::NotFound, LiveRead::Found);
                EvictionInput::PodRead { pod, result: Ok(reading), half_deleted: false }
            }
            EvictionEffect::ClearDisruptionTarget { pod, .. } => {
                let result = self.demand(&pod, None);
                let result = result.map(|fact| (fact.version, fact.marked) = (Some(next), false));
                EvictionInput::Unmarked { pod, result }
            }
        }
    }

    fn demand(&mut self, pod: &PodRef, version: Option<ResourceVersion>) -> Result<&mut PodFact, ApiFailure> {
        let fact = self.pods.get_mut(&pod.uid).ok_or(ApiFailure::NotFound)?;
        match version.is_some() && version != fact.version {
            true => Err(ApiFailure::Conflict),
            false => Ok(fact),
        }
    }
}

pub(crate) fn end(history: &mut RequestHistory) -> Result<(), String> {
    history.feed(EvictionInput::CountdownHold(false));
    (0..100).for_each(|_| _ = history.next_version());
    let now_version = |history: &mut RequestHistory| Some(history.next_version());
    let node = |history: &mut RequestHistory, node| {
        let fact = history.some_node(node);
        NodeFact { version: now_version(history), ..fact }
    };
    let pod = |history: &mut RequestHistory, pod| {
        let fact = history.some_pod(pod, pod % NODES);
        PodFact { version: now_version(history), ..fact }
    };
    let nodes: Vec<_> = (0..NODES).map(|at| node(history, at)).collect();
    let pods: Vec<_> = (0..PODS).map(|at| pod(history, at)).collect();
    let since = Some(history.clock().mono);
    history.list(since, nodes.clone(), Some(pods.clone()));
    let by_uid = pods.iter().map(|fact| (fact.id.uid().clone(), fact.clone()));
    let mut server = FairServer { nodes: &nodes, pods: by_uid.collect() };
    run(history, &mut server)?;
    for fact in &pods {
        judge(fact, &nodes, server.pods.get(fact.id.uid()))?;
    }
    let census = history.engine.stats();
    match (census.in_hand, census.due, census.counting) {
        (0, 0, 0) => Ok(()),
        _ => Err(format!("left over: {census:?}")),
    }
}

/// Lets time pass until nothing can happen any more.
fn run(history: &mut RequestHistory, server: &mut FairServer<'_>) -> Result<(), String> {
    let until = history.now + END;
    for _ in 0..20_000 {
        history.engine.tick(history.clock().mono);
        while history.requested.len() < 50 && history.pull(Lane::All) {}
        if let Some(effect) = history.requested.pop() {
            let (version, now) = (history.next_version(), history.clock().mono);
            let response = server.response(effect, version, now);
            history.feed(response);
            history.check()?;
            continue;
        }
        if history.now > until {
            return Ok(());
        }
        let moments = [history.engine.deadline_at(), history.engine.retry_at()];
        let wake = moments.into_iter().flatten().map(Mono::as_micros).min();
        if let Some(wake) = wake.filter(|wake| *wake <= history.now) {
            return Err(format!("woken for nothing at {wake}, and it is {}", history.now));
        }
        history.now = wake.unwrap_or(i64::MAX).min(until + 1);
    }
    Err("it does not come to rest".into())
}

fn judge(fact: &PodFact, nodes: &[NodeFact], left: Option<&PodFact>) -> Result<(), String> {
    let taints = nodes.iter().filter(|node| node.name == fact.node).flat_map(|node| &node.taints);
    let period = taints.filter_map(|taint| {
        let used = fact.tolerations.iter().find(|toleration| toleration.key == taint.key);
        used.map_or(Some(0), |used| used.seconds)
    });
    let in_reach = fact.life_phase == PodLifePhase::Live && !fact.mirror;
    let must_go = in_reach && period.min().is_some();
    match left {
        Some(_) if must_go => Err(format!("{:?} is still there", *fact.id.uid())),
        None if !must_go => Err(format!("{:?} went", *fact.id.uid())),
        Some(left) if left.marked && in_reach => Err(format!("{:?} keeps a mark", *fact.id.uid())),
        _ => Ok(()),
    }
}
