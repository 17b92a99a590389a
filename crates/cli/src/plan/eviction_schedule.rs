//! Predicts when evicted pods leave under eviction policies and the brake, as the controller's own engine decides.
//!
//! - When replacements become ready is unknown, so there are two predictions: with each replacement ready as soon as its pod
//!   is gone, and with none.
//! - See `taintward_core::eviction`, `prediction.rs`, for the model of the cluster.

use crate::active_controllers::{ActiveControllers, LeaseHolder};
use crate::args::kube_args::ClusterOptions;
use crate::cluster_state::{ClusterReader, ClusterState, ClusterStateError, ObjectLists};
use crate::eviction_delays::{self, DelaySettings, EvictionFacts, PodDelay, ignore_forbidden_holds};
use crate::runtime::Runtime;
use std::collections::{BTreeMap, BTreeSet};
use taintward_core::cluster_snapshot::ClusterSnapshot;
use taintward_core::eviction::{
    DelayCategory, EvictionInput, EvictionOrder, EvictionPrediction, ReplacementReadiness,
};
use taintward_core::eviction_policy::BudgetRespect;
use taintward_core::fact::{NodeFact, NodeRespect, TaintRespect};
use taintward_core::forecast::PlannedNodeChange;
use taintward_core::identity::{ResourceVersion, Uid};
use taintward_core::object_event::ObjectEvent;
use taintward_core::taint::{Taint, TaintEffect};
use taintward_core::time::{Mono, Span};

/// How far a prediction looks ahead, if no time is given. A budget without a deadline may delay pods for ever.
const HORIZON: Span = Span::from_secs(7 * 24 * 3_600);

/// A pod that leaves later than this after it is due is delayed.
const TOLERANCE: Span = Span::from_secs(1);

/// How a due pod leaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PodDeparture {
    pub(crate) policy: Option<String>,
    /// Whether its budgets count, until their deadline.
    pub(crate) respects_budgets: bool,
    /// When its deletion begins, if each replacement is ready at once; `None`: not within the horizon.
    pub(crate) with_replacements: Option<Mono>,
    /// When its deletion begins, if no replacement becomes ready; `None`: not within the horizon.
    pub(crate) without_replacements: Option<Mono>,
    /// It is deleted in spite of its budgets if no replacement becomes ready.
    pub(crate) is_forced: bool,
    /// Nothing that is known ends its delay if no replacement becomes ready.
    pub(crate) is_endless: bool,
    /// Its wave, if its policy has an order.
    pub(crate) wave: Option<EvictionOrder>,
    /// What it waits for at the end of the horizon, if it has not left.
    pub(crate) waits_for: Option<PodDelay>,
}

impl PodDeparture {
    /// When it leaves at the earliest.
    pub(crate) fn earliest(&self) -> Option<Mono> {
        self.with_replacements.into_iter().chain(self.without_replacements).min()
    }

    /// When it leaves at the latest; `None`: perhaps not within the horizon.
    pub(crate) fn latest(&self) -> Option<Mono> {
        Some(self.with_replacements?.max(self.without_replacements?))
    }

    /// Whether it may leave later than it is due.
    pub(crate) fn is_delayed(&self, due: Mono) -> bool {
        self.latest().is_none_or(|latest| latest > due.plus(TOLERANCE))
    }
}

/// What is planned.
#[derive(Clone, Copy)]
pub(crate) struct EvictionPlan<'p> {
    pub(crate) changes: &'p [PlannedNodeChange],
    /// Evictions because of new NoExecute taints respect budgets like this (`--respect-budgets`).
    pub(crate) respect: Option<BudgetRespect>,
    /// How far to look ahead.
    pub(crate) until: Mono,
}

/// When evicted pods leave.
#[derive(Debug)]
pub(crate) struct EvictionSchedule {
    departures: BTreeMap<Uid, PodDeparture>,
    /// The end of the prediction.
    pub(crate) horizon: Mono,
    /// What could not be read, with its consequence.
    pub(crate) unread: Vec<String>,
}

impl EvictionSchedule {
    /// `None`: nothing delays evictions in this cluster. Without `cluster`, the state has the objects of files. Removes the
    /// holds of pods that a policy forbids from the state.
    pub(crate) fn of(
        cluster: Option<&ClusterOptions>,
        state: &mut ClusterState,
        plan: EvictionPlan<'_>,
    ) -> Result<Option<Self>, ClusterStateError> {
        let runtime = Runtime::new()?;
        let ClusterState { snapshot, objects, .. } = state;
        match (cluster, objects) {
            (Some(cluster), _) => runtime.block_on(async {
                let reader = ClusterReader::of(cluster).await?;
                let controllers = ActiveControllers::of(&reader, snapshot.now().wall).await;
                let lists = reader.lists();
                ignore_forbidden_holds(lists, snapshot, plan.changes).await;
                let mut schedule = Self::read(lists, controllers.namespace(), snapshot, plan).await;
                if controllers.ours == LeaseHolder::Absent {
                    // Nothing shows that a controller applies what could not be read.
                    schedule.iter_mut().for_each(|schedule| schedule.unread.clear());
                }
                Ok(schedule)
            }),
            (None, Some(objects)) => runtime.block_on(async {
                let lists = ObjectLists::Files(objects);
                ignore_forbidden_holds(lists, snapshot, plan.changes).await;
                Ok(Self::read(lists, "", snapshot, plan).await)
            }),
            (None, None) => Ok(None),
        }
    }

    async fn read(
        lists: ObjectLists<'_>,
        namespace: &str,
        snapshot: &ClusterSnapshot,
        plan: EvictionPlan<'_>,
    ) -> Option<Self> {
        let mut unread = Vec::new();
        let deployment = eviction_delays::deployment(lists, namespace).await.unwrap_or_else(|error| {
            unread.push(format!("it is unknown whether the brake delays evictions: {error}"));
            None
        });
        let settings = DelaySettings {
            plans_budgets: plan.respect.is_some(),
            ..DelaySettings::of(deployment.as_ref(), snapshot.numeric())
        };
        let nodes = snapshot.nodes().iter().map(|node| &node.fact);
        if !EvictionFacts::can_delay(lists, settings, nodes).await {
            return (!unread.is_empty()).then(|| Self {
                departures: BTreeMap::new(),
                horizon: plan.until,
                unread,
            });
        }
        let horizon = plan.until.min(snapshot.now().mono.plus(HORIZON));
        let unknown = |error| format!("it is unknown whether an eviction policy delays evictions: {error}");
        let departures = match EvictionFacts::read(lists, settings, snapshot.now().wall).await {
            Ok(facts) => {
                unread.extend(facts.unread.as_ref().map(unknown));
                departures(&facts, &inputs(&facts, snapshot, plan), horizon)
            }
            Err(error) => {
                unread.push(unknown(&error));
                BTreeMap::new()
            }
        };
        Some(Self { departures, horizon, unread })
    }

    /// How a pod that is due then leaves, if a policy governs it or the brake delays it.
    pub(crate) fn departure(&self, pod: &Uid, due: Mono) -> Option<&PodDeparture> {
        self.departures.get(pod).filter(|one| one.policy.is_some() || one.is_delayed(due))
    }
}

/// How pods leave, by UID.
fn departures(
    facts: &EvictionFacts,
    changes: &[(Mono, EvictionInput)],
    horizon: Mono,
) -> BTreeMap<Uid, PodDeparture> {
    let mut all: BTreeMap<Uid, PodDeparture> = BTreeMap::new();
    let with = facts.predict(changes, ReplacementReadiness::Immediately, horizon);
    let without = facts.predict(changes, ReplacementReadiness::Never, horizon);
    add(&mut all, with, |departure, at, _| departure.with_replacements = Some(at));
    add(&mut all, without, |departure, at, is_forced| {
        (departure.without_replacements, departure.is_forced) = (Some(at), is_forced);
    });
    all
}

fn add(
    all: &mut BTreeMap<Uid, PodDeparture>,
    prediction: EvictionPrediction,
    leave: impl Fn(&mut PodDeparture, Mono, bool),
) {
    for delayed in prediction.delayed() {
        let departure = all.entry(delayed.pod.uid.clone()).or_default();
        departure.respects_budgets |= delayed.respects_budgets;
        departure.policy = delayed.policy.map(ToOwned::to_owned);
        let is_endless = matches!(delayed.reason.category(), DelayCategory::Budget | DelayCategory::Brake);
        departure.is_endless = is_endless && delayed.forced_at.is_none();
        departure.waits_for = Some(PodDelay::of(&delayed, None));
    }
    for one in prediction.evictions {
        let departure = all.entry(one.pod.uid.clone()).or_default();
        departure.wave = one.wave;
        departure.respects_budgets |= one.respects_budgets;
        departure.policy = one.policy.map(Into::into);
        leave(departure, one.at, one.is_forced);
    }
}

/// What the engine would learn about the nodes, and when, in the order of times.
fn inputs(
    facts: &EvictionFacts,
    snapshot: &ClusterSnapshot,
    plan: EvictionPlan<'_>,
) -> Vec<(Mono, EvictionInput)> {
    let now = snapshot.now().mono;
    let mut inputs = Vec::new();
    for change in plan.changes {
        let Some(node) = facts.node(&snapshot.nodes()[change.node].fact.name) else { continue };
        let moments: BTreeSet<Mono> =
            change.taints.iter().map(|planned| planned.from.max(now)).chain([now]).collect();
        for (nth, at) in (1..).zip(moments) {
            let fact = NodeFact {
                respect_budgets: respects(node, change, plan.respect),
                ..node_at(node, change, at, nth)
            };
            inputs.push((at, EvictionInput::Nodes(ObjectEvent::Applied { fact, listed: false })));
        }
    }
    inputs.sort_by_key(|(at, _)| *at);
    inputs
}

/// What the node's annotation about budgets will say: the same, and an entry for each new NoExecute taint.
fn respects(
    node: &NodeFact,
    change: &PlannedNodeChange,
    respect: Option<BudgetRespect>,
) -> Option<Box<NodeRespect>> {
    let Some(BudgetRespect { deadline }) = respect else { return node.respect_budgets.clone() };
    let is_new = |taint: &&Taint| {
        taint.effect == TaintEffect::NoExecute && !node.taints.iter().any(|known| known.is_same(taint))
    };
    let new = change.taints.iter().map(|planned| &planned.taint).filter(is_new);
    let new = new.map(|taint| TaintRespect {
        key: taint.key.clone(),
        value: taint.value.clone(),
        time_added: None,
        deadline,
    });
    let known = match node.respect_budgets.as_deref() {
        Some(NodeRespect::Taints(taints)) => &taints[..],
        Some(NodeRespect::Undecodable) | None => &[],
    };
    Some(Box::new(NodeRespect::Taints(known.iter().cloned().chain(new).collect())))
}

/// The node at a moment of the plan, after so many changes.
fn node_at(node: &NodeFact, change: &PlannedNodeChange, at: Mono, nth: u64) -> NodeFact {
    let known = |taint: &Taint| node.taints.iter().find(|known| known.is_same(taint));
    let taints = change.taints.iter().filter_map(|planned| match known(&planned.taint) {
        Some(known) => Some(known.clone()),
        None => (planned.from <= at).then(|| planned.taint.clone()),
    });
    NodeFact {
        taints: taints.collect(),
        version: node.version.map(|version| ResourceVersion(version.0.saturating_add(nth))),
        ..node.clone()
    }
}
