//! Checks each deletion against the policies, from what the API server knows at that moment.

use super::world::{Millis, World};
use crate::common::EPOCH;
use std::collections::{BTreeMap, BTreeSet};
use taintward_core::eviction::{EvictionEffect, EvictionInput};
use taintward_core::eviction_policy::{EvictionPolicy, EvictionSubject};
use taintward_core::fact::HoldPeriod;
use taintward_core::fact::{PodFact, PodLifePhase, PodOwnerKind};
use taintward_core::identity::PodRef;
use taintward_core::object_event::ObjectEvent;
use taintward_core::scheduling::Labels;
use taintward_core::taint::keys;
use taintward_core::time::{Span, Wall};
use taintward_core::toleration_hold::MAX_HOLD;

/// A deletion that the API server carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Deletion {
    pub(crate) at: Millis,
    pub(crate) pod: String,
    pub(crate) node: String,
    pub(crate) by_eviction_api: bool,
    pub(crate) grace: Option<u32>,
    pub(crate) policy: Option<String>,
    /// By a request of a process that had crashed, or of another client.
    pub(crate) is_orphaned: bool,
}

/// What happened so far.
#[derive(Default)]
pub(crate) struct Monitor {
    pub(crate) deletions: Vec<Deletion>,
    pub(crate) rejections: Vec<Millis>,
    /// When each node got its taints, for deadlines.
    pub(crate) tainted: BTreeMap<String, Millis>,
    /// When the holds of each node were removed.
    pub(crate) released: BTreeMap<String, Millis>,
    /// The pods of which the process knows that their deletion was accepted.
    accepted: BTreeSet<PodRef>,
    /// The evictions in flight of the process, each with the app of the pod, and whether the pod was ready.
    evictions: BTreeMap<PodRef, (String, bool)>,
}

impl Monitor {
    pub(crate) fn rejected(&mut self, now: Millis) {
        self.rejections.push(now);
    }

    /// A new process starts, which knows nothing of what another one sent.
    pub(crate) fn restarted(&mut self) {
        self.accepted.clear();
        self.evictions.clear();
    }

    pub(crate) fn observe_response(&mut self, input: &EvictionInput) {
        // A pod that is known to terminate, or to be gone, needs no response.
        let over = match input {
            EvictionInput::Evicted { pod, .. } => Some(pod.uid.clone()),
            EvictionInput::Pods(ObjectEvent::Deleted(pod)) => pod.uid.clone(),
            EvictionInput::Pods(ObjectEvent::Applied { fact, .. })
                if fact.life_phase == PodLifePhase::Terminating =>
            {
                Some(fact.id.uid().clone())
            }
            _ => None,
        };
        self.evictions.retain(|pod, _| Some(&pod.uid) != over.as_ref());
        if let EvictionInput::Evicted { pod, result: Ok(()) }
        | EvictionInput::Deleted { pod, result: Ok(()) } = input
        {
            self.accepted.insert(pod.clone());
        }
    }

    /// A deletion that was accepted needs no further request, and a budget has one eviction in flight: the pods that are
    /// ready race for its disruptions, and others do not.
    pub(crate) fn check_request(world: &mut World, effect: &EvictionEffect) {
        let monitor = &mut world.monitor;
        if let EvictionEffect::EvictPod { pod, .. } | EvictionEffect::DeletePod { pod, .. } = effect {
            assert!(!monitor.accepted.contains(pod), "its deletion was accepted before: {effect:?}");
        }
        let EvictionEffect::EvictPod { pod, name, .. } = effect else { return };
        let Some(stored) = world.pods.get(name.name()) else { return };
        let eviction = (stored.app.clone(), stored.fact.ready == Some(true));
        if world.budgets.values().any(|budget| budget.app == stored.app) {
            let other = monitor.evictions.iter().find(|(_, other)| **other == eviction);
            assert!(other.is_none(), "{other:?} is in flight for the same budget: {effect:?}");
        }
        monitor.evictions.insert(pod.clone(), eviction);
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.deletions.iter().map(|deletion| deletion.pod.as_str()).collect()
    }

    pub(crate) fn deleted_at(&self, pod: &str) -> Option<Millis> {
        self.deletions.iter().find(|deletion| deletion.pod == pod).map(|deletion| deletion.at)
    }

    /// A pod is about to be deleted.
    pub(crate) fn check(world: &mut World, name: &str, by_eviction_api: bool, grace: Option<u32>) {
        let pod = &world.pods[name];
        let node = pod.fact.node.as_str().to_owned();
        let policy = governing(world, name).cloned();
        let deletion = Deletion {
            at: world.now,
            pod: name.to_owned(),
            node: node.clone(),
            by_eviction_api,
            grace,
            policy: policy.as_ref().map(|policy| policy.name.to_string()),
            is_orphaned: world.is_orphaned,
        };
        check_holds(world, name);
        // What was requested before the process knew of the policy is none of its evictions.
        let knows = world.policy_changed.is_none_or(|at| at + latency(world) < world.now);
        if let Some(policy) = policy.filter(|_| knows) {
            check_budget(world, &policy, &deletion);
            check_rate(world, &policy, &deletion);
            check_nodes(world, &policy, &deletion);
            check_workload(world, &policy, &deletion);
            check_wave(world, &policy, &deletion);
        }
        world.monitor.deletions.push(deletion);
    }
}

/// The policy of a pod, by a plain reading of its definition, for a node with one taint.
pub(crate) fn governing<'w>(world: &'w World, pod: &str) -> Option<&'w EvictionPolicy> {
    let pod = &world.pods[pod];
    let node = &world.nodes[pod.fact.node.as_str()];
    let (none, team) = (Labels::new(), [("team".into(), world.team.into())].into());
    let subject = EvictionSubject {
        node: node.labels.as_deref().unwrap_or(&none),
        namespace: &team,
        pod: &pod.fact.template.as_ref().unwrap().labels,
    };
    let of_taint = |taint| {
        let selecting = world.policies.iter().filter(|policy| policy.selects(taint, subject));
        selecting.min_by(|one, other| one.precedence().cmp(&other.precedence()))
    };
    let all: Option<Vec<&EvictionPolicy>> = node.taints.iter().map(of_taint).collect();
    all?.into_iter().min_by(|one, other| one.precedence().cmp(&other.precedence()))
}

/// The holds of a pod and of its node that count.
fn holds(world: &World, name: &str) -> Vec<HoldPeriod> {
    let pod = &world.pods[name].fact;
    let node = &world.nodes[pod.node.as_str()];
    if pod.ignores_holds || node.taints.iter().any(|taint| *taint.key == *keys::OUT_OF_SERVICE) {
        return Vec::new();
    }
    let forbids = world.policies.iter().any(|policy| !policy.allow_holds);
    let length = |hold: &HoldPeriod| hold.until.as_micros() - hold.since.as_micros();
    let total: i64 = pod.holds.iter().flatten().map(length).sum();
    let own = pod.holds.iter().filter(|_| !forbids && total <= MAX_HOLD.as_micros());
    node.holds.iter().chain(own).flatten().copied().collect()
}

/// The server's time.
fn wall(millis: Millis) -> Wall {
    Wall::from_micros((EPOCH * 1_000 + millis) * 1_000)
}

/// How late the engine may know something, and its requests may arrive.
fn latency(world: &World) -> Millis {
    world.delays.watch + world.delays.request
}

/// No pod is deleted while it or its node is held, except by a request that was in flight when the hold began.
fn check_holds(world: &World, name: &str) {
    let known = wall(world.now - latency(world));
    // A hold begins in the second in which it is written.
    let is_held =
        |hold: HoldPeriod| hold.since.plus(Span::from_secs(1)) <= known && wall(world.now) < hold.until;
    assert!(!holds(world, name).into_iter().any(is_held), "{name} is held");
}

fn check_budget(world: &World, policy: &EvictionPolicy, deletion: &Deletion) {
    let Some(respect) = policy.budgets else { return };
    let due = world.monitor.tainted[&deletion.node];
    let is_forced =
        respect.deadline.is_some_and(|deadline| due + deadline.as_micros() / 1_000 <= deletion.at);
    assert!(deletion.by_eviction_api || is_forced, "deleted before the deadline of budgets: {deletion:?}");
}

fn check_rate(world: &World, policy: &EvictionPolicy, deletion: &Deletion) {
    let Some(most) = policy.pods_per_minute else { return };
    let of_policy = world.monitor.deletions.iter().filter(|one| one.policy == deletion.policy);
    let since = world.policy_changed.unwrap_or_default();
    let recent = of_policy.filter(|one| deletion.at - one.at < 60_000 && one.at >= since).count();
    assert!(recent < most as usize, "more than {most} a minute: {deletion:?}");
}

fn check_nodes(world: &World, policy: &EvictionPolicy, deletion: &Deletion) {
    // The brake may stop a node that is being emptied; its place is free meanwhile.
    let Some(most) = policy.nodes_at_once.filter(|_| world.config.brake.is_none()) else { return };
    // A process knows of requests of another one only by what follows from them, and may have begun nodes before that.
    if deletion.is_orphaned {
        return;
    }
    let governed = |name: &str| governing(world, name).is_some_and(|one| one.name == policy.name);
    // A node that was held has lost its place. What a process began on which nothing is terminating, the next cannot know.
    let released = |node: &str| world.monitor.released.get(node).copied().unwrap_or_default();
    let tainted = |node: &str| world.monitor.tainted.get(node).copied().unwrap_or(Millis::MAX);
    let began = world.restarted.max(world.policy_changed.unwrap_or_default());
    let since = |node: &str| tainted(node).max(began).max(released(node));
    let deletions = &world.monitor.deletions;
    let is_own = |one: &&Deletion| !one.is_orphaned && one.policy == deletion.policy;
    let is_orphaned = |name: &str| deletions.iter().any(|one| one.pod == name && one.is_orphaned);
    let emptied = |node: &str| {
        let was_begun = deletions.iter().filter(is_own).any(|one| one.node == node && one.at >= since(node));
        let mut left = world.pods.iter().filter(|(_, pod)| pod.fact.node.as_str() == node);
        !world.nodes[node].taints.is_empty()
            && left.any(|(name, pod)| match pod.is_terminating {
                true => !is_orphaned(name),
                // A pod that is held is not due: without others, its node counts as empty until it is.
                false => was_begun && governed(name) && holds(world, name).is_empty(),
            })
    };
    let others = world.nodes.keys().filter(|node| **node != deletion.node && emptied(node)).count();
    assert!(others < most as usize, "more than {most} nodes are emptied: {deletion:?}");
}

fn check_workload(world: &World, policy: &EvictionPolicy, deletion: &Deletion) {
    let Some(limit) = policy.unavailable_per_workload else { return };
    let pod = &world.pods[&deletion.pod];
    let Some(now) = world.replicas.get(&pod.app) else { return };
    // The engine may not know yet that the workload was scaled.
    let (before, scaled) = world.scaled[&pod.app];
    let replicas = if deletion.at - scaled < 200 { now.min(&before) } else { now };
    // Nor of what the request of a crashed process has just deleted.
    let is_unknown = |one: &&Deletion| one.is_orphaned && deletion.at - one.at <= latency(world);
    let unknown = world.monitor.deletions.iter().filter(is_unknown);
    let unknown =
        unknown.filter(|one| world.pods.get(&one.pod).is_some_and(|gone| gone.app == pod.app)).count();
    let after =
        world.ready(&pod.app) + u32::try_from(unknown).unwrap() - u32::from(pod.fact.ready == Some(true));
    let unavailable = replicas.saturating_sub(after);
    let limit = limit.of(*replicas);
    assert!(
        pod.fact.ready != Some(true) || unavailable <= limit,
        "{unavailable} of {limit} unavailable: {deletion:?}"
    );
}

fn check_wave(world: &World, policy: &EvictionPolicy, deletion: &Deletion) {
    if policy.order.is_none_or(|order| order.timeout.is_some()) {
        return;
    }
    let pod = &world.pods[&deletion.pod];
    let order = |fact: &PodFact| (fact.owner == PodOwnerKind::DaemonSet, fact.priority);
    // Waves order pods that become due together: a pod with a hold of its own is due later, and its request may be sent right
    // after that of this pod.
    let is_late = |name: &str| world.pods[name].fact.holds.is_some();
    let is_due = |name: &str| governing(world, name).is_some() && !is_late(name);
    let (sent, tainted) = (deletion.at - world.delays.request, world.monitor.tainted[&deletion.node]);
    // What terminated before the node got its taint is in no wave.
    let is_in_no_wave = |name: &str| {
        let deleted = world.monitor.deleted_at(name);
        deleted.is_some_and(|at| at <= tainted || is_late(name) && at >= sent)
    };
    let earlier = world.pods.iter().filter(|(name, other)| {
        other.fact.node == pod.fact.node
            && order(&other.fact) < order(&pod.fact)
            && (if other.is_terminating { !is_in_no_wave(name) } else { is_due(name) })
    });
    let earlier: Vec<&String> = earlier.map(|(name, _)| name).collect();
    assert!(earlier.is_empty(), "{earlier:?} are not gone: {deletion:?}");
}
