//! Defines what a due pod that an eviction policy delays waits for, in words and by category.

use crate::cluster_snapshot::BudgetStatus;
use crate::eviction_policy::BudgetFact;
use crate::identity::{NodeName, PodName, PodRef};
use crate::time::Mono;
use crate::workload::Workload;
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use core::fmt;

/// The maximum number of nodes that a sentence names.
const NODES_MAX: usize = 3;

/// A due pod that an eviction policy or the brake delays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelayedEviction<'a> {
    /// The pod.
    pub pod: &'a PodRef,
    /// Its name.
    pub name: &'a PodName,
    /// Since when it has been due.
    pub due: Mono,
    /// The name of the policy, if it is known.
    pub policy: Option<&'a str>,
    /// Whether its policy respects budgets.
    pub respects_budgets: bool,
    /// When it is deleted in spite of its budgets; `None`: never, or its policy respects none.
    pub forced_at: Option<Mono>,
    /// What it waits for.
    pub reason: EvictionDelayReason<'a>,
}

/// A taint key that the brake delays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrakedKey {
    /// The key.
    pub key: Box<str>,
    /// How many nodes count.
    pub nodes: usize,
    /// How many may.
    pub limit: usize,
}

/// What a due pod waits for. `Display` continues the sentence "the pod ...".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvictionDelayReason<'a> {
    /// The brake: more nodes count for the key of its taint than the limit allows.
    Brake {
        /// The key; the pod may be due because of others that are braked too.
        key: &'a str,
        /// How many nodes count.
        nodes: usize,
        /// How many may.
        limit: usize,
    },
    /// The first complete list of an object that decides how it is evicted.
    Lists,
    /// A policy is invalid, or cannot be decoded.
    Policy,
    /// Its disruption budget allows no disruption, or evicts another pod just now.
    Budget(&'a BudgetFact),
    /// It has several disruption budgets: the eviction API evicts no such pod.
    SeveralBudgets,
    /// A disruption budget rejected its eviction, and none is known that selects it.
    UnknownBudget,
    /// As many replicas of its workload are unavailable as the policy allows.
    Replicas(&'a Workload),
    /// As many other nodes than its own are being emptied as the policy allows: these. A node is empty once its evicted pods
    /// are gone.
    Nodes {
        /// Its own, which may be among them.
        node: &'a NodeName,
        /// They.
        emptied: Option<&'a BTreeSet<NodeName>>,
    },
    /// Pods of its node that leave before it are not gone.
    Order,
    /// As many pods were evicted within a minute as the policy allows.
    Rate,
}

/// What delays a pod: a word of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DelayCategory {
    /// A disruption budget.
    Budget,
    /// One of its limits.
    Limit,
    /// Its order.
    Order,
    /// The policy itself: it is invalid, or what it needs is not known yet.
    Policy,
    /// The brake, which is no part of a policy.
    Brake,
}

impl DelayCategory {
    /// All, in their order.
    pub const ALL: [Self; 5] = [Self::Budget, Self::Limit, Self::Order, Self::Policy, Self::Brake];

    /// Those of policies, in their order.
    pub const OF_POLICIES: [Self; 4] = [Self::Budget, Self::Limit, Self::Order, Self::Policy];

    /// The word of the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Budget => "Budget",
            Self::Limit => "Limit",
            Self::Order => "Order",
            Self::Policy => "Policy",
            Self::Brake => "Brake",
        }
    }
}

/// How many due pods are delayed, by category.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DelayedPods([usize; DelayCategory::ALL.len()]);

impl DelayedPods {
    pub(crate) const fn add(&mut self, category: DelayCategory, pods: usize) {
        self.0[category as usize] += pods;
    }

    /// Those of one category.
    pub const fn of(self, category: DelayCategory) -> usize {
        self.0[category as usize]
    }

    /// All of them.
    pub fn total(self) -> usize {
        self.0.iter().sum()
    }
}

impl EvictionDelayReason<'_> {
    /// What it belongs to.
    pub const fn category(&self) -> DelayCategory {
        match self {
            Self::Lists | Self::Policy => DelayCategory::Policy,
            Self::Budget(_) | Self::SeveralBudgets | Self::UnknownBudget => DelayCategory::Budget,
            Self::Replicas(_) | Self::Nodes { .. } | Self::Rate => DelayCategory::Limit,
            Self::Order => DelayCategory::Order,
            Self::Brake { .. } => DelayCategory::Brake,
        }
    }

    /// What a person has to do, because the pod waits until then or until its deadline; `None`: its wait may end by itself.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::Budget(fact) if fact.budget.never_allows() => {
                Some("allow a disruption in the budget, or set respectBudgets.deadlineSeconds of the policy")
            }
            Self::SeveralBudgets => {
                Some("leave one budget for each pod, or set respectBudgets.deadlineSeconds of the policy")
            }
            Self::Policy => Some("correct the policy"),
            _ => None,
        }
    }
}

impl fmt::Display for EvictionDelayReason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Brake { key, nodes, limit } => write!(
                f,
                "waits for the brake: taint key {key} evicts pods of {nodes} nodes, and --brake-limit allows {limit}"
            ),
            Self::Lists => f.write_str("waits until the objects that eviction policies need are listed"),
            Self::Policy => f.write_str("waits until its policy, or the annotation of its node, is valid"),
            Self::Budget(fact) => {
                let budget = &fact.budget;
                write!(f, "waits for budget {}/{}", budget.namespace, budget.name)?;
                match budget.status {
                    _ if budget.never_allows() => f.write_str(", which never allows a disruption"),
                    // Pods that are not ready count as disrupted already, and yet the eviction API evicts none of them.
                    Some(BudgetStatus { healthy: 0, desired }) => write!(
                        f,
                        ": none of its pods is healthy, {desired} required; without \
                         unhealthyPodEvictionPolicy: AlwaysAllow it allows no disruption of them"
                    ),
                    Some(BudgetStatus { healthy, desired }) => {
                        write!(f, ": {healthy} pods are healthy, {desired} required")
                    }
                    None => f.write_str(": its pods are not counted yet"),
                }
            }
            Self::SeveralBudgets => {
                f.write_str("has several budgets, and the eviction API evicts no such pod")
            }
            Self::UnknownBudget => {
                f.write_str("was rejected by a budget that is not known, or cannot be read")
            }
            Self::Replicas(workload) => write!(
                f,
                "waits for replicas of {workload}: as many are unavailable as maxUnavailablePerWorkload allows"
            ),
            Self::Nodes { node, emptied } => {
                f.write_str("waits until other nodes are empty (maxNodesAtOnce)")?;
                let mut nodes = emptied.iter().flat_map(|nodes| nodes.iter()).filter(|other| other != node);
                for (position, node) in nodes.by_ref().take(NODES_MAX).enumerate() {
                    write!(f, "{} {node}", if position == 0 { ":" } else { "," })?;
                }
                if nodes.next().is_some() { f.write_str(", ...") } else { Ok(()) }
            }
            Self::Order => f.write_str("waits for pods of its node that leave before it (order)"),
            Self::Rate => f.write_str("waits for its turn (maxPodsPerMinute)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster_snapshot::{DisruptionBudget, DisruptionLimit, IntOrPercent};
    use crate::identity::Uid;
    use alloc::string::{String, ToString as _};

    fn budget(floor: DisruptionLimit) -> BudgetFact {
        let status = Some(BudgetStatus { healthy: 4, desired: 4 });
        let (namespace, name) = ("shop".into(), "web".into());
        let budget = DisruptionBudget { namespace, name, selector: None, floor: Some(floor), status };
        BudgetFact { uid: Uid::new("b1"), version: None, budget, allowed: Some(0) }
    }

    #[test]
    fn the_nodes_that_are_being_emptied_are_named() {
        let sentence = |count: usize| {
            let nodes: BTreeSet<NodeName> =
                (0..=count).map(|number| NodeName::new(&alloc::format!("n{number}"))).collect();
            let own = NodeName::new("n0");
            let sentence = EvictionDelayReason::Nodes { node: &own, emptied: Some(&nodes) }.to_string();
            sentence.strip_prefix("waits until other nodes are empty (maxNodesAtOnce)").map(String::from)
        };
        assert_eq!(sentence(0).as_deref(), Some(""));
        assert_eq!(sentence(1).as_deref(), Some(": n1"));
        assert_eq!(sentence(3).as_deref(), Some(": n1, n2, n3"));
        assert_eq!(sentence(4).as_deref(), Some(": n1, n2, n3, ..."));
    }

    #[test]
    fn a_budget_that_can_allow_says_what_it_counts_and_another_what_to_do() {
        let at_times = budget(DisruptionLimit::MinAvailable(IntOrPercent::Count(4)));
        let reason = EvictionDelayReason::Budget(&at_times);
        assert_eq!(reason.to_string(), "waits for budget shop/web: 4 pods are healthy, 4 required");
        assert_eq!(reason.remedy(), None);
        let mut unhealthy = at_times.clone();
        unhealthy.budget.status = Some(BudgetStatus { healthy: 0, desired: 0 });
        assert_eq!(
            EvictionDelayReason::Budget(&unhealthy).to_string(),
            "waits for budget shop/web: none of its pods is healthy, 0 required; without \
             unhealthyPodEvictionPolicy: AlwaysAllow it allows no disruption of them"
        );
        for never in [
            DisruptionLimit::MaxUnavailable(IntOrPercent::Count(0)),
            DisruptionLimit::MaxUnavailable(IntOrPercent::Percent(0)),
            DisruptionLimit::MinAvailable(IntOrPercent::Percent(100)),
        ] {
            let never = budget(never);
            let reason = EvictionDelayReason::Budget(&never);
            assert_eq!(reason.to_string(), "waits for budget shop/web, which never allows a disruption");
            assert!(reason.remedy().is_some_and(|remedy| remedy.starts_with("allow a disruption")));
        }
    }

    #[test]
    fn categories_have_the_words_of_the_api_and_are_counted_apart() {
        let words = DelayCategory::ALL.map(DelayCategory::as_str);
        assert_eq!(words, ["Budget", "Limit", "Order", "Policy", "Brake"]);
        let mut delayed = DelayedPods::default();
        for (pods, category) in DelayCategory::ALL.into_iter().enumerate() {
            delayed.add(category, pods);
        }
        assert_eq!(DelayCategory::ALL.map(|category| delayed.of(category)), [0, 1, 2, 3, 4]);
        assert_eq!(delayed.total(), 10);
    }

    #[test]
    fn several_budgets_need_a_person() {
        let remedy = EvictionDelayReason::SeveralBudgets.remedy().unwrap_or_default();
        assert!(remedy.starts_with("leave one budget for each pod"), "{remedy}");
        assert_eq!(EvictionDelayReason::UnknownBudget.remedy(), None);
        assert_eq!(EvictionDelayReason::Policy.remedy(), Some("correct the policy"));
    }
}
