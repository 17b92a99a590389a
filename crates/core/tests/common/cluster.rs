//! Simulates a cluster and its API server with exact knowledge of what may be deleted.
//!
//! - Panics if a DELETE is committed that must not be (S1, S2, S3, S10). Deadlines are computed here taint by taint,
//!   without code of the engine.

mod requests;

use super::hold_times::HoldTimes;
use std::collections::{BTreeMap, VecDeque};
use taintward_core::engine::LiveRead;
use taintward_core::eviction::EvictionInput;
use taintward_core::fact::{BindingTimes, PodFact, PodLifePhase, PodOwnerKind};
use taintward_core::identity::PodRef;
use taintward_core::identity::{NodeName, PodId, PodName, ResourceVersion, Uid};
use taintward_core::object_event::{ObjectEvent, ObjectRef};
use taintward_core::taint::{Taint, TaintEffect};
use taintward_core::testkit::{pod, taint};
use taintward_core::time::{Mono, Now, Span, Wall};
use taintward_core::toleration::Toleration;

pub const SECOND: i64 = 1_000_000;

/// Wall time at monotonic zero.
const EPOCH: i64 = 1_800_000_000 * SECOND;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NodeTaint {
    pub taint: Taint,
    pub since: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClusterNode {
    pub uid: Uid,
    pub created: i64,
    pub taints: Vec<NodeTaint>,
    pub changed: i64,
    pub version: u64,
    pub unreadable: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClusterPod {
    pub fact: PodFact,
    pub arrived: i64,
    pub unreadable: bool,
    /// It stays terminating after its DELETE, instead of vanishing immediately.
    pub lingers: bool,
    /// Its DELETE was interrupted: it is terminating, and nothing is waited for (P31).
    pub half_deleted: bool,
    /// The last moment at which its eviction was due (S2).
    pub justified: Option<i64>,
    /// Since when it has the mark without being due (S9).
    pub stray: Option<i64>,
}

/// A committed DELETE.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Deleted {
    pub uid: Uid,
    pub at: i64,
    pub due: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ModelCluster {
    pub now: i64,
    pub nodes: BTreeMap<u8, ClusterNode>,
    pub pods: BTreeMap<u8, ClusterPod>,
    pub deleted: Vec<Deleted>,
    /// Watch events since they were last taken.
    pub changes: VecDeque<EvictionInput>,
    /// When the true state last changed.
    pub changed: i64,
    /// How old the justification of a DELETE may be when it is committed (S2's W).
    pub window: i64,
    /// When time was on hold for the engine (NL-48).
    pub hold: HoldTimes,
    /// By how much the engine's wall clock is ahead of the server's.
    pub clock_error: i64,
    /// The maximum error that the engine assumes, either way; `None`: the server's clock is unknown to it.
    pub skew_max: Option<i64>,
    /// Earlier states not older than the window, for a DELETE with only the UID as precondition (P45).
    past: Vec<(i64, Option<ClusterNode>, Option<ClusterPod>)>,
    /// Earlier holds, for the same.
    past_holds: Vec<(i64, HoldTimes)>,
    /// The state of a restored store.
    backup: Option<Box<Backup>>,
    version: u64,
    serial: u64,
}

/// Earlier nodes and pods.
type Backup = (BTreeMap<u8, ClusterNode>, BTreeMap<u8, ClusterPod>);

pub fn node_name(id: u8) -> NodeName {
    NodeName::new(&format!("n{id}"))
}

fn pod_name(id: u8) -> PodName {
    PodName::new("default", &format!("p{id}"))
}

pub fn id_of(text: &str) -> u8 {
    text[1..].parse().expect("names end in their number")
}

fn truncated(at: i64) -> Wall {
    Wall::from_secs((EPOCH + at).div_euclid(SECOND))
}

impl ModelCluster {
    pub fn new(window: i64) -> Self {
        Self {
            now: 250_000,
            nodes: BTreeMap::new(),
            pods: BTreeMap::new(),
            deleted: Vec::new(),
            changes: VecDeque::new(),
            changed: 0,
            window,
            hold: HoldTimes::default(),
            clock_error: 0,
            skew_max: Some(0),
            past: Vec::new(),
            past_holds: Vec::new(),
            backup: None,
            version: 1,
            serial: 1,
        }
    }

    pub fn clock(&self) -> Now {
        let wall = Wall::from_micros(EPOCH + self.now + self.clock_error);
        Now::new(Mono::from_micros(self.now), wall, self.skew_max.map(Span::from_micros))
    }

    fn uid(&mut self) -> Uid {
        self.serial += 1;
        Uid::new(&format!("00000000-0000-4000-8000-{:012x}", self.serial))
    }

    /// Called before every change of the true state: records the state until now.
    fn change(&mut self) -> u64 {
        self.note();
        self.changed = self.now;
        self.version += 1;
        self.version
    }

    /// Records which pods are due at this moment.
    pub fn note(&mut self) {
        for id in self.pods.keys().copied().collect::<Vec<_>>() {
            let goes = self.due(id).is_some_and(|due| due <= self.now);
            let now = self.now;
            let pod = self.pods.get_mut(&id).expect("it was just listed");
            if goes {
                pod.justified = Some(now);
            }
        }
    }

    /// Called after every change: records which pods have a mark without reason from now on.
    fn changed(&mut self) {
        for id in self.pods.keys().copied().collect::<Vec<_>>() {
            let goes = self.due(id).is_some_and(|due| due <= self.now);
            let now = self.now;
            let pod = self.pods.get_mut(&id).expect("it was just listed");
            let stays =
                pod.fact.marked && !goes && !pod.unreadable && pod.fact.life_phase == PodLifePhase::Live;
            pod.stray = if stays && !pod.fact.mirror { pod.stray.or(Some(now)) } else { None };
        }
    }

    fn remember(&mut self, node: Option<ClusterNode>, pod: Option<ClusterPod>) {
        let oldest = self.now - self.window;
        self.past.retain(|(until, ..)| *until >= oldest);
        self.past.push((self.now, node, pod));
    }

    // Events.

    pub fn set_hold(&mut self, set: impl FnOnce(&mut HoldTimes, i64)) {
        self.change();
        let oldest = self.now - self.window;
        self.past_holds.retain(|(until, _)| *until >= oldest);
        self.past_holds.push((self.now, self.hold.clone()));
        set(&mut self.hold, self.now);
        self.changed();
    }

    pub fn back_up(&mut self) {
        self.backup = Some(Box::new((self.nodes.clone(), self.pods.clone())));
    }

    /// Restores the store to an earlier state, without any watch event. False if there is no backup, or if a pod that
    /// was deleted since would exist again.
    pub fn restore(&mut self) -> bool {
        let Some(backup) = self.backup.clone() else { return false };
        if backup
            .1
            .keys()
            .any(|id| self.pods.get(id).is_none_or(|pod| pod.fact.life_phase != PodLifePhase::Live))
        {
            return false;
        }
        self.change();
        let before = std::mem::take(&mut self.pods);
        (self.nodes, self.pods) = *backup;
        for (id, pod) in &mut self.pods {
            // What justified a request in flight justified it in the history that it was sent in.
            let then = before.get(id).filter(|then| *then.fact.id.uid() == *pod.fact.id.uid());
            pod.justified = then.and_then(|then| then.justified).max(pod.justified);
        }
        self.version += 1_000;
        self.changed();
        true
    }

    pub fn put_node(&mut self, id: u8) {
        let (version, uid) = (self.change(), self.uid());
        let (created, changed) = (self.now, self.now);
        let node = ClusterNode { uid, created, taints: Vec::new(), changed, version, unreadable: false };
        if let Some(old) = self.nodes.insert(id, node) {
            self.changes.push_back(EvictionInput::Nodes(ObjectEvent::Deleted(ObjectRef::node(
                &node_name(id),
                Some(old.uid.clone()),
            ))));
            self.remember(Some(old), None);
        }
        self.send_node(id);
    }

    pub fn remove_node(&mut self, id: u8) {
        self.change();
        if let Some(old) = self.nodes.remove(&id) {
            self.changes.push_back(EvictionInput::Nodes(ObjectEvent::Deleted(ObjectRef::node(
                &node_name(id),
                Some(old.uid.clone()),
            ))));
            self.remember(Some(old), None);
        }
        self.changed();
    }

    /// Changes a node's taints, or only touches it.
    pub fn edit_node(&mut self, id: u8, edit: impl FnOnce(&mut ClusterNode, i64)) {
        let (version, now) = (self.change(), self.now);
        let Some(node) = self.nodes.get_mut(&id) else { return };
        let before = node.clone();
        edit(node, now);
        if node.taints != before.taints {
            node.changed = now;
        }
        node.version = version;
        self.remember(Some(before), None);
        self.send_node(id);
    }

    pub fn add_taint(&mut self, id: u8, key: &str, effect: TaintEffect, stamped: bool) {
        self.edit_node(id, |node, now| {
            if node.taints.iter().any(|held| &*held.taint.key == key && held.taint.effect == effect) {
                return;
            }
            let time_added = stamped.then(|| truncated(now));
            let taint = Taint { effect, time_added, ..taint(key) };
            node.taints.push(NodeTaint { taint, since: now });
        });
    }

    pub fn untaint(&mut self, id: u8, key: &str) {
        self.edit_node(id, |node, _| node.taints.retain(|held| &*held.taint.key != key));
    }

    /// Writes a new `timeAdded` on a taint that continues, as another client (P46).
    pub fn refresh(&mut self, id: u8, key: &str) {
        self.edit_node(id, |node, now| {
            let stamped = node.taints.iter_mut().filter(|held| held.taint.time_added.is_some());
            for held in stamped.filter(|held| &*held.taint.key == key) {
                held.taint.time_added = Some(truncated(now));
            }
        });
    }

    pub fn put_pod(&mut self, id: u8, node: u8, tolerations: Vec<Toleration>, lingers: bool) {
        let (version, uid) = (self.change(), self.uid());
        let at = Some(truncated(self.now));
        let fact = PodFact {
            id: PodId::new(uid, pod_name(id)),
            node: node_name(node),
            version: Some(ResourceVersion(version)),
            tolerations,
            priority: i32::from(id) % 3,
            node_critical: id % 7 == 6,
            owner: if id % 4 == 3 { PodOwnerKind::DaemonSet } else { PodOwnerKind::Other },
            arrival: BindingTimes {
                scheduled: at.filter(|_| id.is_multiple_of(3)),
                started: at.filter(|_| id % 3 != 2),
                created: at,
            },
            ..pod("")
        };
        self.remove_pod(id);
        let arrived = self.now;
        let pod = ClusterPod {
            fact,
            arrived,
            unreadable: false,
            lingers,
            half_deleted: false,
            justified: None,
            stray: None,
        };
        self.pods.insert(id, pod);
        self.send_pod(id);
    }

    pub fn remove_pod(&mut self, id: u8) {
        self.change();
        if let Some(old) = self.pods.remove(&id) {
            let pod = PodRef { node: old.fact.node.clone(), uid: old.fact.id.uid().clone() };
            self.changes.push_back(EvictionInput::Pods(ObjectEvent::Deleted(pod.into())));
            self.remember(None, Some(old));
        }
    }

    pub fn edit_pod(&mut self, id: u8, edit: impl FnOnce(&mut ClusterPod)) {
        let version = self.change();
        let Some(pod) = self.pods.get_mut(&id) else { return };
        let before = pod.clone();
        edit(pod);
        pod.fact.version = Some(ResourceVersion(version));
        self.remember(None, Some(before));
        self.send_pod(id);
    }

    // Watch events.

    fn send_node(&mut self, id: u8) {
        let reported = self.node_sent(id, false);
        self.changes.push_back(reported);
        self.changed();
    }

    fn send_pod(&mut self, id: u8) {
        let reported = self.pod_sent(id, false);
        self.changes.push_back(reported);
        self.changed();
    }

    pub fn node_sent(&self, id: u8, listed: bool) -> EvictionInput {
        match self.read_node(&node_name(id)) {
            LiveRead::Found(fact) => EvictionInput::Nodes(ObjectEvent::Applied { fact, listed }),
            LiveRead::Undecodable => {
                EvictionInput::Nodes(ObjectEvent::Undecodable(ObjectRef::node(&node_name(id), None)))
            }
            LiveRead::NotFound => panic!("an event about a node that does not exist"),
        }
    }

    pub fn pod_sent(&self, id: u8, listed: bool) -> EvictionInput {
        let pod = &self.pods[&id];
        match pod.unreadable {
            // Whether the node can be decoded varies.
            true => {
                let node = id.is_multiple_of(2).then(|| pod.fact.node.clone());
                EvictionInput::Pods(ObjectEvent::Undecodable(ObjectRef::pod(pod.fact.id.uid().clone(), node)))
            }
            false => EvictionInput::Pods(ObjectEvent::Applied { fact: pod.fact.clone(), listed }),
        }
    }
}
