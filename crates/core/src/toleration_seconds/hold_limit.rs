//! Decides in which zones, or whether in the whole cluster, so many nodes are silent that their pods are held.
//!
//! - Invariant: a pure function of nodes and configuration: after a restart a hold ends at the same time.

use super::object_cache::HoldNodeEntry;
use crate::identity::NodeName;
use crate::node_lifecycle::ZoneKey;
use crate::node_limit::NodeLimit;
use crate::time::{Span, Wall};
use crate::toleration_hold::{HoldOrder, HoldOrigin};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// How many nodes may be silent, in each zone and in the cluster, before their pods are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct HoldLimit {
    /// The limit on silent nodes.
    pub silent: NodeLimit,
    /// A hold of a node's pods ends this long after the limit was exceeded, or after the node became silent if that
    /// was later.
    pub hold_for: Span,
}

/// Where a limit is exceeded.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum LimitScope {
    /// In the whole cluster.
    Cluster,
    /// In a zone.
    Zone(ZoneKey),
}

/// More nodes are silent than the limit allows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LimitExceeded {
    /// The scope.
    pub scope: LimitScope,
    /// How many are silent.
    pub silent: usize,
    /// How many there are.
    pub nodes: usize,
    /// How many may be silent.
    pub allowed: usize,
    /// Since when it has been exceeded.
    pub since: Wall,
    /// When the hold of the node that became silent last ends.
    pub until: Wall,
}

/// A change of a limit's state.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum LimitChange {
    /// It is exceeded, or the numbers have changed.
    Exceeded(LimitExceeded),
    /// It is no longer exceeded.
    Kept(LimitScope),
}

/// The limits that are exceeded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct LimitPlan {
    exceeded: BTreeMap<LimitScope, LimitExceeded>,
    hold_for: Span,
}

/// The nodes of a zone, or all nodes.
#[derive(Clone, Debug, Default)]
struct ScopeNodes {
    nodes: usize,
    silent_since: Vec<Wall>,
}

impl LimitPlan {
    pub(crate) fn of<'n>(
        limit: Option<HoldLimit>,
        nodes: impl Iterator<Item = (&'n NodeName, &'n HoldNodeEntry)>,
    ) -> Self {
        let Some(limit) = limit else { return Self::default() };
        let mut scopes = BTreeMap::<LimitScope, ScopeNodes>::new();
        for (_, node) in nodes {
            let Some(zone) = node.zone() else { continue };
            for scope in [LimitScope::Cluster, LimitScope::Zone(zone.clone())] {
                let counted = scopes.entry(scope).or_default();
                counted.nodes += 1;
                counted.silent_since.extend(node.silent_since());
            }
        }
        let exceeded = |(scope, ScopeNodes { nodes, mut silent_since }): (LimitScope, ScopeNodes)| {
            let (allowed, silent) = (limit.silent.allowed(nodes), silent_since.len());
            silent_since.sort_unstable();
            let since = *silent_since.get(allowed)?;
            let until = silent_since.last()?.plus(limit.hold_for);
            let is = LimitExceeded { scope: scope.clone(), silent, nodes, allowed, since, until };
            Some((scope, is))
        };
        Self { exceeded: scopes.into_iter().filter_map(exceeded).collect(), hold_for: limit.hold_for }
    }

    pub(crate) fn exceeded(&self) -> impl Iterator<Item = &LimitExceeded> {
        self.exceeded.values()
    }

    /// Returns the hold for the pods of a silent node: of zone and cluster the one that lasts longer. It counts from
    /// when the node became silent, so nodes that have been dead for long do not shorten the hold of other nodes.
    pub(crate) fn order(&self, node: &HoldNodeEntry) -> Option<HoldOrder> {
        let (silent_since, zone) = (node.silent_since()?, node.zone()?);
        let scopes = [LimitScope::Cluster, LimitScope::Zone(zone.clone())];
        let exceeded = scopes.iter().filter_map(|scope| self.exceeded.get(scope));
        let since = exceeded.map(|exceeded| exceeded.since.max(silent_since)).max()?;
        Some(HoldOrder { origin: HoldOrigin::Limit, since, until: since.plus(self.hold_for) })
    }

    /// Returns the differences from the previous plan.
    pub(crate) fn changes_since(&self, before: &Self) -> Vec<LimitChange> {
        let exceeded = self.exceeded.iter().filter(|(scope, is)| before.exceeded.get(scope) != Some(is));
        let exceeded = exceeded.map(|(_, is)| LimitChange::Exceeded(is.clone()));
        let kept = before.exceeded.keys().filter(|scope| !self.exceeded.contains_key(scope));
        exceeded.chain(kept.cloned().map(LimitChange::Kept)).collect()
    }
}
