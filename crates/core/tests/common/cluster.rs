//! # Cluster: the truth, and an API server that watches over it
//! Room:     nodes and pods as they are, since when; what is told of each change; conditional writes.
//! Comes in: what happens to the cluster; requests.
//! Goes out: watch events; answers; a panic where a DELETE is committed that must not be (S1, S2, S3, S10).
//! Not here: any decision copied from the engine: who must go is computed plainly, taint by taint.

use super::held::Held as Hold;
use std::collections::{BTreeMap, VecDeque};
use taintward_core::effect::Failure;
use taintward_core::engine::{Input, PodRef, Reading};
use taintward_core::fact::{ArrivalFacts, NodeFact, Owner, PodFact, Standing};
use taintward_core::names::{NodeName, PodName, Uid, Version};
use taintward_core::taint::{Effect, Taint};
use taintward_core::time::{Mono, Now, Wall};
use taintward_core::toleration::{Operator, Toleration};

pub const SECOND: i64 = 1_000_000;

/// Wall time at monotonic zero.
const EPOCH: i64 = 1_800_000_000 * SECOND;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Held {
    pub taint: Taint,
    pub since: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    pub uid: Uid,
    pub created: i64,
    pub taints: Vec<Held>,
    pub changed: i64,
    pub version: u64,
    pub unreadable: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pod {
    pub fact: PodFact,
    pub arrived: i64,
    pub unreadable: bool,
    /// It stays terminating after its DELETE, instead of vanishing at once.
    pub lingers: bool,
    /// The last moment at which it had to go (S2).
    pub justified: Option<i64>,
    /// Since when it bears the mark without having to go (S9).
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
pub struct Cluster {
    pub now: i64,
    pub nodes: BTreeMap<u8, Node>,
    pub pods: BTreeMap<u8, Pod>,
    pub deleted: Vec<Deleted>,
    /// Watch events since they were last taken.
    pub news: VecDeque<Input>,
    /// When the truth last changed.
    pub changed: i64,
    /// How old the justification of a DELETE may be when it is committed (S2's W).
    pub window: i64,
    /// When time stood still for those who decide (NL-48).
    pub hold: Hold,
    /// Earlier states not older than the window, for a DELETE that demands the UID only (P45).
    past: Vec<(i64, Option<Node>, Option<Pod>)>,
    /// Earlier holds, for the same.
    past_holds: Vec<(i64, Hold)>,
    version: u64,
    serial: u64,
}

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

impl Cluster {
    pub fn new(window: i64) -> Self {
        Self {
            now: 250_000,
            nodes: BTreeMap::new(),
            pods: BTreeMap::new(),
            deleted: Vec::new(),
            news: VecDeque::new(),
            changed: 0,
            window,
            hold: Hold::default(),
            past: Vec::new(),
            past_holds: Vec::new(),
            version: 1,
            serial: 1,
        }
    }

    pub fn clock(&self) -> Now {
        Now { mono: Mono::from_micros(self.now), wall: Wall::from_micros(EPOCH + self.now) }
    }

    fn uid(&mut self) -> Uid {
        self.serial += 1;
        Uid::new(&format!("00000000-0000-4000-8000-{:012x}", self.serial))
    }

    /// Called before every change of the truth: what was true until now is remembered.
    fn change(&mut self) -> u64 {
        self.note();
        self.changed = self.now;
        self.version += 1;
        self.version
    }

    /// Notes which pods have to go at this moment.
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

    /// Called after every change: who bears a mark without reason from now on.
    fn changed(&mut self) {
        for id in self.pods.keys().copied().collect::<Vec<_>>() {
            let goes = self.due(id).is_some_and(|due| due <= self.now);
            let now = self.now;
            let pod = self.pods.get_mut(&id).expect("it was just listed");
            let stays = pod.fact.marked && !goes && !pod.unreadable && pod.fact.standing == Standing::Live;
            pod.stray = if stays && !pod.fact.mirror { pod.stray.or(Some(now)) } else { None };
        }
    }

    fn remember(&mut self, node: Option<Node>, pod: Option<Pod>) {
        let oldest = self.now - self.window;
        self.past.retain(|(until, ..)| *until >= oldest);
        self.past.push((self.now, node, pod));
    }

    // What happens.

    pub fn set_hold(&mut self, set: impl FnOnce(&mut Hold, i64)) {
        self.change();
        let oldest = self.now - self.window;
        self.past_holds.retain(|(until, _)| *until >= oldest);
        self.past_holds.push((self.now, self.hold.clone()));
        set(&mut self.hold, self.now);
        self.changed();
    }

    pub fn put_node(&mut self, id: u8) {
        let (version, uid) = (self.change(), self.uid());
        let (created, changed) = (self.now, self.now);
        let node = Node { uid, created, taints: Vec::new(), changed, version, unreadable: false };
        if let Some(old) = self.nodes.insert(id, node) {
            self.news.push_back(Input::NodeGone { name: node_name(id), uid: Some(old.uid.clone()) });
            self.remember(Some(old), None);
        }
        self.tell_node(id);
    }

    pub fn remove_node(&mut self, id: u8) {
        self.change();
        if let Some(old) = self.nodes.remove(&id) {
            self.news.push_back(Input::NodeGone { name: node_name(id), uid: Some(old.uid.clone()) });
            self.remember(Some(old), None);
        }
        self.changed();
    }

    /// Changes a node's taints, or only touches it.
    pub fn edit_node(&mut self, id: u8, edit: impl FnOnce(&mut Node, i64)) {
        let (version, now) = (self.change(), self.now);
        let Some(node) = self.nodes.get_mut(&id) else { return };
        let before = node.clone();
        edit(node, now);
        if node.taints != before.taints {
            node.changed = now;
        }
        node.version = version;
        self.remember(Some(before), None);
        self.tell_node(id);
    }

    pub fn taint(&mut self, id: u8, key: &str, effect: Effect, stamped: bool) {
        self.edit_node(id, |node, now| {
            if node.taints.iter().any(|held| &*held.taint.key == key && held.taint.effect == effect) {
                return;
            }
            let time_added = stamped.then(|| truncated(now));
            let taint = Taint { key: key.into(), value: "".into(), effect, time_added };
            node.taints.push(Held { taint, since: now });
        });
    }

    pub fn untaint(&mut self, id: u8, key: &str) {
        self.edit_node(id, |node, _| node.taints.retain(|held| &*held.taint.key != key));
    }

    /// Somebody writes a new `timeAdded` on a taint that goes on (P46).
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
            uid,
            name: pod_name(id),
            node: node_name(node),
            version: Some(Version(version)),
            generation: 1,
            tolerations,
            priority: i32::from(id) % 3,
            node_critical: id % 7 == 6,
            owner: if id % 4 == 3 { Owner::DaemonSet } else { Owner::Other },
            standing: Standing::Live,
            mirror: false,
            marked: false,
            arrival: ArrivalFacts {
                scheduled: at.filter(|_| id.is_multiple_of(3)),
                started: at.filter(|_| id % 3 != 2),
                created: at,
            },
        };
        self.remove_pod(id);
        let arrived = self.now;
        let pod = Pod { fact, arrived, unreadable: false, lingers, justified: None, stray: None };
        self.pods.insert(id, pod);
        self.tell_pod(id);
    }

    pub fn remove_pod(&mut self, id: u8) {
        self.change();
        if let Some(old) = self.pods.remove(&id) {
            let pod = PodRef { node: old.fact.node.clone(), uid: old.fact.uid.clone() };
            self.news.push_back(Input::PodGone { pod });
            self.remember(None, Some(old));
        }
    }

    pub fn edit_pod(&mut self, id: u8, edit: impl FnOnce(&mut Pod)) {
        let version = self.change();
        let Some(pod) = self.pods.get_mut(&id) else { return };
        let before = pod.clone();
        edit(pod);
        pod.fact.version = Some(Version(version));
        self.remember(None, Some(before));
        self.tell_pod(id);
    }

    // What is told.

    fn tell_node(&mut self, id: u8) {
        let told = self.node_told(id, false);
        self.news.push_back(told);
        self.changed();
    }

    fn tell_pod(&mut self, id: u8) {
        let told = self.pod_told(id, false);
        self.news.push_back(told);
        self.changed();
    }

    pub fn node_told(&self, id: u8, listed: bool) -> Input {
        match self.read_node(&node_name(id)) {
            Reading::Is(fact) => Input::Node { fact, listed },
            Reading::Unreadable => Input::NodeUnreadable { name: node_name(id) },
            Reading::Absent => panic!("told of a node that is not there"),
        }
    }

    pub fn pod_told(&self, id: u8, listed: bool) -> Input {
        let pod = &self.pods[&id];
        match pod.unreadable {
            // Whether the node can be read varies.
            true => {
                let node = id.is_multiple_of(2).then(|| pod.fact.node.clone());
                Input::PodUnreadable { uid: pod.fact.uid.clone(), node }
            }
            false => Input::Pod { fact: pod.fact.clone(), listed },
        }
    }

    // What is asked.

    pub fn read_node(&self, name: &NodeName) -> Reading<NodeFact> {
        let Some(node) = self.nodes.get(&id_of(name.as_str())) else { return Reading::Absent };
        if node.unreadable {
            return Reading::Unreadable;
        }
        let unstamped =
            |held: &Held| held.taint.effect == Effect::NoExecute && held.taint.time_added.is_none();
        Reading::Is(NodeFact {
            name: name.clone(),
            uid: node.uid.clone(),
            version: Some(Version(node.version)),
            created: Some(truncated(node.created)),
            taints: node.taints.iter().map(|held| held.taint.clone()).collect(),
            taints_changed: node.taints.iter().any(unstamped).then(|| truncated(node.changed)),
        })
    }

    pub fn read_pod(&self, name: &PodName) -> Reading<PodFact> {
        match self.pods.get(&id_of(name.name())) {
            None => Reading::Absent,
            Some(pod) if pod.unreadable => Reading::Unreadable,
            Some(pod) => Reading::Is(pod.fact.clone()),
        }
    }

    fn demand(&self, pod: &PodRef, name: &PodName, version: Option<Version>) -> Result<u8, Failure> {
        let id = id_of(name.name());
        let truth = &self.pods.get(&id).ok_or(Failure::NotFound)?.fact;
        match truth.uid == pod.uid && (version.is_none() || version == truth.version) {
            true => Ok(id),
            false => Err(Failure::Conflict),
        }
    }

    pub fn set_mark(
        &mut self,
        pod: &PodRef,
        name: &PodName,
        version: Option<Version>,
        on: bool,
    ) -> Result<Option<Version>, Failure> {
        let id = self.demand(pod, name, version)?;
        if self.pods[&id].fact.marked != on {
            self.edit_pod(id, |pod| pod.fact.marked = on);
        }
        Ok(self.pods[&id].fact.version)
    }

    /// Commits a DELETE, if its preconditions hold and nothing forbids it.
    pub fn delete(&mut self, pod: &PodRef, name: &PodName, version: Option<Version>) -> Result<(), Failure> {
        let id = self.demand(pod, name, version)?;
        self.note();
        let truth = self.pods[&id].clone();
        let oldest = self.now - self.window;
        let justified = truth.justified.is_some_and(|at| at >= oldest);
        let excused = version.is_none() && self.was_due_in_pieces(&truth, oldest);
        assert!(justified || excused, "S2, S3: {name} deleted at {}: {truth:?} {:?}", self.now, self.nodes);
        assert!(
            truth.fact.standing != Standing::Terminating || version.is_none(),
            "S10: {name} is terminating already"
        );
        let due = self.due(id);
        self.deleted.push(Deleted { uid: pod.uid.clone(), at: self.now, due });
        match truth.lingers {
            true => self.edit_pod(id, |pod| pod.fact.standing = Standing::Terminating),
            false => self.remove_pod(id),
        }
        Ok(())
    }

    /// Whether the pod at one moment of the window and its node at another made it due: all that a DELETE can know
    /// that demands the UID only.
    fn was_due_in_pieces(&self, pod: &Pod, oldest: i64) -> bool {
        let past = || self.past.iter().filter(|(until, ..)| *until >= oldest);
        let pods = past().filter_map(|(.., pod)| pod.as_ref()).chain([pod]);
        let pods: Vec<_> = pods.filter(|then| then.fact.uid == pod.fact.uid).collect();
        let nodes = past().filter_map(|(_, node, _)| node.as_ref());
        let nodes: Vec<_> = nodes.chain(self.nodes.get(&id_of(pod.fact.node.as_str()))).collect();
        let holds = self.past_holds.iter().filter(|(until, _)| *until >= oldest).map(|(_, hold)| hold);
        holds.chain([&self.hold]).any(|hold| {
            let is_due = |pod, node| due(pod, node, hold).is_some_and(|due| due <= self.now);
            pods.iter().any(|pod| nodes.iter().any(|node| is_due(pod, node)))
        })
    }

    /// When a pod must go by the truth alone; `None`: it stays.
    pub fn due(&self, id: u8) -> Option<i64> {
        let pod = self.pods.get(&id)?;
        due(pod, self.nodes.get(&id_of(pod.fact.node.as_str()))?, &self.hold)
    }
}

/// The plain rule: each NoExecute taint, each toleration in order, the first that matches (MATCH-9, TE-17, D1, D6,
/// D7, D11, NL-48).
fn due(pod: &Pod, node: &Node, hold: &Hold) -> Option<i64> {
    if pod.unreadable || node.unreadable || pod.fact.mirror || pod.fact.standing != Standing::Live {
        return None;
    }
    let evicting = node.taints.iter().filter(|held| held.taint.effect == Effect::NoExecute);
    let spent = |held: &Held| hold.spent(&held.taint.key, held.since.max(pod.arrived));
    evicting.filter_map(|held| Some(due_for(pod, held)?.saturating_add(spent(held)?))).min()
}

fn due_for(pod: &Pod, held: &Held) -> Option<i64> {
    let from = held.since.max(pod.arrived);
    for toleration in &pod.fact.tolerations {
        let (effect, operator) = (&toleration.effect, &toleration.operator);
        if !matches!(effect, None | Some(Effect::NoExecute | Effect::Unknown(_))) {
            continue;
        }
        if matches!(operator, Operator::Unknown(_)) {
            return None;
        }
        let names = toleration.key.is_empty() || toleration.key == held.taint.key;
        let any_value = *operator == Operator::Exists;
        let compares = matches!(operator, Operator::Unset | Operator::Equal);
        if names && (any_value || compares && toleration.value == held.taint.value) {
            let understood = !matches!(effect, Some(Effect::Unknown(_)));
            let left = toleration.seconds.filter(|_| understood)?;
            return Some(from.saturating_add(left.max(0).saturating_mul(SECOND)));
        }
    }
    Some(from)
}
