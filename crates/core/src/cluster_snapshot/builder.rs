//! Builds a [`ClusterSnapshot`] from objects in any order, and stores equal parts of pods once.
//!
//! - Invariant: of two objects with the same name the last one counts.

use super::countdown_record::CountdownRecord;
use super::{ClusterSnapshot, DisruptionBudget, JobIndex, JobRecord, PodTemplate, SnapshotNode, SnapshotPod};
use crate::fact::{BindingTimes, HoldPeriod, NodeFact, PodLifePhase};
use crate::identity::{NodeName, PodName, Uid};
use crate::node_lifecycle::ZoneKey;
use crate::ordered_hold::HoldWindows;
use crate::scheduling::{Labels, PodSchedulingSpec, ResourceRequests, Resources};
use crate::taint_start;
use crate::time::{Now, Wall};
use crate::toleration_matching::NumericOperators;
use crate::toleration_seconds::RecordState;
use crate::verdict::EvictionExemption;
use crate::workload::{OwnerReference, Workload, WorkloadKind};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// A node as it was read.
#[derive(Clone, Debug)]
pub struct NodeRecord {
    /// Its taints, and what shows since when they exist.
    pub fact: NodeFact,
    /// `metadata.labels`.
    pub labels: Labels,
    /// `spec.unschedulable`.
    pub unschedulable: bool,
    /// `status.allocatable` without `pods`.
    pub allocatable: Resources,
    /// `status.allocatable.pods`.
    pub pods_max: i64,
    /// Whether its condition `Ready` is true.
    pub ready: Option<bool>,
    /// Its zone (NL-24).
    pub zone: ZoneKey,
    /// It does not count in its zone (NL-25).
    pub excluded: bool,
}

/// A pod as it was read.
#[derive(Clone, Debug)]
pub struct PodRecord<'a> {
    /// `metadata.uid`.
    pub uid: Uid,
    /// Namespace and name.
    pub name: PodName,
    /// `spec.nodeName`; empty: it is not bound yet.
    pub node: &'a str,
    /// `metadata.labels`.
    pub labels: Labels,
    /// Its controller.
    pub owner: Option<OwnerReference<'a>>,
    /// Its index, if a Job counts its pods by index.
    pub job_index: Option<JobIndex>,
    /// What it requires of a node.
    pub spec: PodSchedulingSpec,
    /// It also has rules that are not evaluated here.
    pub beyond: bool,
    /// Whether it can still be evicted.
    pub life_phase: PodLifePhase,
    /// It is the mirror pod of a static pod.
    pub mirror: bool,
    /// It has the condition of a taint eviction.
    pub marked: bool,
    /// Its condition `Ready` is true.
    pub ready: bool,
    /// When it was bound to its node.
    pub arrival: BindingTimes,
    /// The record in its annotations.
    pub record: RecordState,
    /// The holds that its annotation orders.
    pub holds: Option<Box<[HoldPeriod]>>,
}

/// Assigns positions to values, the same position to equal ones.
#[derive(Clone, Debug)]
struct IndexInterner<T>(BTreeMap<T, u32>);

impl<T: Ord> IndexInterner<T> {
    fn put(&mut self, thing: T) -> u32 {
        let next = position(self.0.len());
        *self.0.entry(thing).or_insert(next)
    }

    fn in_order(self) -> Vec<T> {
        let mut all: Vec<(u32, T)> = self.0.into_iter().map(|(thing, at)| (at, thing)).collect();
        all.sort_unstable_by_key(|(at, _)| *at);
        all.into_iter().map(|(_, thing)| thing).collect()
    }
}

/// A position in 32 bits, enough for a few billion objects.
fn position(at: usize) -> u32 {
    u32::try_from(at)
        .expect("fewer objects than fit into 32 bits: their names alone would not fit into memory")
}

/// Builds a snapshot.
#[derive(Clone, Debug)]
pub struct SnapshotBuilder {
    now: Now,
    numeric: NumericOperators,
    nodes: BTreeMap<NodeName, NodeRecord>,
    /// Nodes that pods name, by the position that `SnapshotPod::node` holds until the end.
    named: IndexInterner<NodeName>,
    pods: Vec<SnapshotPod>,
    pods_by_name: Option<BTreeMap<PodName, u32>>,
    shapes: IndexInterner<PodTemplate>,
    label_sets: IndexInterner<Labels>,
    workloads: IndexInterner<Workload>,
    budgets: Vec<DisruptionBudget>,
    jobs: BTreeMap<(Box<str>, Box<str>), JobRecord>,
}

impl SnapshotBuilder {
    /// Starts an empty snapshot of this moment. With `repeats`, pods may be added twice, as from files; that costs
    /// memory.
    pub fn new(wall: Wall, numeric: NumericOperators, repeats: bool) -> Self {
        Self {
            // The monotonic clock starts at the epoch, so that moments of both types have the same number.
            now: Now::of_wall(wall),
            numeric,
            nodes: BTreeMap::new(),
            named: IndexInterner(BTreeMap::new()),
            pods: Vec::new(),
            pods_by_name: repeats.then(BTreeMap::new),
            shapes: IndexInterner(BTreeMap::new()),
            label_sets: IndexInterner(BTreeMap::new()),
            workloads: IndexInterner(BTreeMap::new()),
            budgets: Vec::new(),
            jobs: BTreeMap::new(),
        }
    }

    /// Adds a node. Returns whether a node of the same name with another UID was already there: then there are two
    /// clusters.
    pub fn node(&mut self, read: NodeRecord) -> bool {
        let uid = read.fact.uid.clone();
        let before = self.nodes.insert(read.fact.name.clone(), read);
        before.is_some_and(|before| before.fact.uid != uid)
    }

    /// Adds a pod. Returns whether a pod of the same name with another UID was already there.
    pub fn pod(&mut self, read: PodRecord<'_>) -> bool {
        let made = self.make(read);
        let Some(known) = &mut self.pods_by_name else {
            self.pods.push(made);
            return false;
        };
        let next = position(self.pods.len());
        let at = *known.entry(made.name.clone()).or_insert(next);
        if at == next {
            self.pods.push(made);
            return false;
        }
        let before = &mut self.pods[at as usize];
        let another = before.uid != made.uid;
        *before = made;
        another
    }

    /// Adds a disruption budget.
    pub fn budget(&mut self, budget: DisruptionBudget) {
        self.budgets.retain(|known| (&known.namespace, &known.name) != (&budget.namespace, &budget.name));
        self.budgets.push(budget);
    }

    /// Adds a Job.
    pub fn job(&mut self, job: JobRecord) {
        self.jobs.insert((job.namespace.clone(), job.name.clone()), job);
    }

    /// Whether a pod that was added belongs to a Job.
    pub fn has_pods_of_jobs(&self) -> bool {
        self.workloads.0.keys().any(|workload| workload.kind == WorkloadKind::Job)
    }

    fn make(&mut self, mut read: PodRecord<'_>) -> SnapshotPod {
        let record = CountdownRecord::of(read.record, &read.spec.tolerations);
        read.spec.tolerations = record.judged_tolerations(read.spec.tolerations);
        let node = (!read.node.is_empty()).then(|| self.named.put(NodeName::new(read.node)));
        let (namespace, name) = (read.name.namespace(), read.name.name());
        let workload = Workload::of(namespace, name, &read.labels, read.owner);
        SnapshotPod {
            uid: read.uid,
            node,
            arrival: taint_start::pod_binding_for_display(&read.arrival, self.now),
            life_phase: read.life_phase,
            exemption: EvictionExemption::of(read.life_phase, read.mirror),
            marked: read.marked,
            ready: read.ready,
            holds: read.holds.map(|periods| Box::new(HoldWindows::as_named(Some(&periods), self.now))),
            record,
            shape: self.shapes.put(PodTemplate { spec: read.spec, beyond: read.beyond }),
            labels: self.label_sets.put(read.labels),
            workload: self.workloads.put(workload),
            job_index: read.job_index,
            name: read.name,
        }
    }

    /// Returns how many pods were added.
    pub fn pod_count(&self) -> usize {
        self.pods.len()
    }

    /// Returns how many nodes were added.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the names of nodes that pods are bound to and that were not added.
    pub fn missing_nodes(&self) -> Vec<NodeName> {
        self.named.0.keys().filter(|name| !self.nodes.contains_key(*name)).cloned().collect()
    }

    /// Returns the snapshot, in order.
    pub fn finish(self) -> ClusterSnapshot {
        let by_name: BTreeMap<NodeName, u32> =
            self.nodes.keys().enumerate().map(|(at, name)| (name.clone(), position(at))).collect();
        let nodes: Vec<SnapshotNode> = self.nodes.into_values().map(|read| node(read, self.now)).collect();
        let named = self.named.in_order();
        let where_named: Vec<Option<u32>> = named.iter().map(|name| by_name.get(name).copied()).collect();
        let (mut pods, mut lost) = (Vec::with_capacity(self.pods.len()), Vec::new());
        for mut pod in self.pods {
            if let Some(at) = pod.node {
                pod.node = where_named[at as usize];
                if pod.node.is_none() {
                    lost.push((pod.name, named[at as usize].clone()));
                    continue;
                }
            }
            pods.push(pod);
        }
        lost.sort_unstable();
        pods.sort_unstable_by(|a, b| (a.node, &a.name).cmp(&(b.node, &b.name)));
        let mut snapshot = ClusterSnapshot {
            now: self.now,
            numeric: self.numeric,
            nodes,
            by_name,
            pods,
            begins: Vec::new(),
            shapes: self.shapes.in_order(),
            label_sets: self.label_sets.in_order(),
            workloads: self.workloads.in_order(),
            budgets: self.budgets,
            jobs: self.jobs,
            lost,
        };
        snapshot.settle();
        snapshot
    }
}

fn node(read: NodeRecord, now: Now) -> SnapshotNode {
    let NodeRecord { fact, labels, unschedulable, allocatable, pods_max, ready, zone, excluded } = read;
    let (used, holds) = (ResourceRequests::default(), HoldWindows::as_named(fact.holds.as_deref(), now));
    SnapshotNode {
        fact,
        labels,
        unschedulable,
        allocatable,
        pods_max,
        ready,
        zone,
        excluded,
        holds,
        used,
        pods: 0,
    }
}

impl ClusterSnapshot {
    /// Computes which pods are on which node, and what they request.
    fn settle(&mut self) {
        let mut at = self.pods.partition_point(|pod| pod.node.is_none());
        self.begins.push(position(at));
        for (here, node) in self.nodes.iter_mut().enumerate() {
            while let Some(pod) = self.pods.get(at).filter(|pod| pod.node == Some(position(here))) {
                if pod.life_phase != PodLifePhase::Finished {
                    node.used.add(&self.shapes[pod.shape as usize].spec.load);
                    node.pods += 1;
                }
                at += 1;
            }
            self.begins.push(position(at));
        }
    }
}
