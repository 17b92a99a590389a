//! Decides whether a NoExecute taint may be added to a node, given how many healthy nodes would remain.
//!
//! - Invariant: missing facts allow the change; taints with which Kubernetes reports a lost node are always allowed.
//! - Only changes that cost a healthy node count; [`FleetHealth::recently_admitted`] corrects counts from watches.
//! - See `node_lifecycle/config.rs` for the rate at which node lifecycle adds taints (NL-26).

use super::messages::{few, text_of};
use super::request::Requester;
use crate::taint::{Taint, TaintEffect, keys};
use crate::text::Quoted;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// The annotation of a node that allows taints despite the guard: their keys, separated by commas, or `*` for any. An
/// annotation that is left behind allows no other key.
pub const ALLOW: &str = "taintward.io/allow-no-execute";

/// How strictly the guard rejects taints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoExecuteGuard {
    /// At most this percentage of the nodes may have a NoExecute taint.
    pub percent: u32,
    /// Accounts that may report the state of a node or act for pools, besides those that Kubernetes gives its own
    /// components.
    pub accounts: Vec<Box<str>>,
}

impl Default for NoExecuteGuard {
    fn default() -> Self {
        Self { percent: 50, accounts: Vec::new() }
    }
}

/// A change of a node's taints.
#[derive(Clone, Copy, Debug)]
pub struct NodeTaintUpdate<'c> {
    /// Its name.
    pub name: &'c str,
    /// Its taints before; `None` for a node that is being created: no pods run there yet.
    pub old: Option<&'c [Taint]>,
    /// Its taints after.
    pub new: &'c [Taint],
    /// Its annotation [`ALLOW`], after.
    pub allow: Option<&'c str>,
    /// Whether its condition `Ready` is true; `None`: unknown.
    pub ready: Option<bool>,
    /// The requester.
    pub requester: Option<&'c Requester>,
    /// The taints of the pool that owns the node.
    pub own: &'c [Taint],
}

/// How many nodes are healthy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FleetHealth {
    /// All nodes.
    pub total: u32,
    /// Nodes that are ready and have no NoExecute taint other than those of their own pool.
    pub healthy: u32,
    /// Nodes that have a NoExecute taint other than those of their own pool.
    pub tainted: u32,
    /// Healthy nodes whose tainting was allowed and is not yet in these numbers.
    pub recently_admitted: u32,
}

impl FleetHealth {
    /// Counts nodes: whether each is ready, its taints, and the taints of the pool that owns it. A pool's taint on a
    /// node that belongs to no pool counts like any other taint: a user has added it by hand.
    pub fn count<'n>(nodes: impl IntoIterator<Item = (bool, &'n [Taint], &'n [Taint])>) -> Self {
        let mut fleet = Self::default();
        for (ready, taints, dedicated) in nodes {
            let tainted = sends_away(taints, dedicated);
            fleet.total += 1;
            fleet.healthy += u32::from(ready && !tainted);
            fleet.tainted += u32::from(tainted);
        }
        fleet
    }
}

fn sends_away(taints: &[Taint], dedicated: &[Taint]) -> bool {
    taints.iter().any(|taint| taint.effect == TaintEffect::NoExecute && !is_dedicated(taint, dedicated))
}

fn is_dedicated(taint: &Taint, dedicated: &[Taint]) -> bool {
    dedicated.iter().any(|own| own.is_same(taint) && own.value == taint.value)
}

/// Why a change is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GuardExemption {
    /// The change adds no NoExecute taint to a node that runs pods.
    Harmless,
    /// All added taints are what Kubernetes, or a pool's controller, reports about the node.
    Spoken,
    /// The node was not healthy before.
    NotHealthy,
    /// [`ALLOW`] allows it.
    Overridden,
    /// Enough nodes remain.
    Enough,
    /// It is unknown how many nodes remain.
    Unknown,
}

/// Whether a change is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuardDecision {
    /// The change is allowed.
    Allowed(GuardExemption),
    /// The change is rejected: why, and the remedy.
    Rejected(String),
}

impl NoExecuteGuard {
    /// Decides whether a change is allowed. `dedicated` are the taints of all pools; `fleet` is the cluster before the
    /// change.
    pub fn judge(
        &self,
        change: &NodeTaintUpdate<'_>,
        dedicated: &[Taint],
        fleet: Option<FleetHealth>,
    ) -> GuardDecision {
        let Some(old) = change.old else { return GuardDecision::Allowed(GuardExemption::Harmless) };
        let new: Vec<&Taint> = change.new.iter().filter(|taint| is_new(taint, old)).collect();
        if new.is_empty() {
            return GuardDecision::Allowed(GuardExemption::Harmless);
        }
        let spoken = |taint: &&Taint| {
            (keys::ALL.contains(&&*taint.key) || is_dedicated(taint, dedicated))
                && change.requester.is_none_or(|who| self.speaks(who))
        };
        if new.iter().all(spoken) {
            return GuardDecision::Allowed(GuardExemption::Spoken);
        }
        if change.ready == Some(false) || sends_away(old, change.own) {
            return GuardDecision::Allowed(GuardExemption::NotHealthy);
        }
        if new.iter().all(|taint| change.allow.is_some_and(|text| allows(text, &taint.key))) {
            return GuardDecision::Allowed(GuardExemption::Overridden);
        }
        match fleet.filter(|_| change.ready.is_some()) {
            None => GuardDecision::Allowed(GuardExemption::Unknown),
            Some(fleet) => match self.too_much(fleet) {
                None => GuardDecision::Allowed(GuardExemption::Enough),
                Some(why) => GuardDecision::Rejected(sentence(change.name, &new, &why)),
            },
        }
    }

    fn speaks(&self, who: &Requester) -> bool {
        let known =
            ["system:kube-controller-manager", "system:cloud-controller-manager", "system:node-controller"];
        known.contains(&&*who.user)
            || self.accounts.contains(&who.user)
            || who.is_in("system:serviceaccounts:kube-system")
    }

    /// Returns how many nodes would remain, if they are too few.
    fn too_much(&self, fleet: FleetHealth) -> Option<String> {
        let healthy = fleet.healthy.saturating_sub(fleet.recently_admitted);
        let tainted = fleet.tainted.saturating_add(fleet.recently_admitted).saturating_add(1);
        if healthy <= 1 {
            return Some(format!("it is the last healthy node of {}", fleet.total));
        }
        let beyond = u64::from(tainted) * 100 > u64::from(self.percent) * u64::from(fleet.total);
        beyond.then(|| {
            format!(
                "{tainted} of {} nodes would have such a taint, and at most {} % may",
                fleet.total, self.percent
            )
        })
    }
}

/// Whether the taint is added, or changed so that pods that tolerated it may no longer do so.
fn is_new(taint: &Taint, old: &[Taint]) -> bool {
    taint.effect == TaintEffect::NoExecute
        && !old.iter().any(|had| had.is_same(taint) && had.value == taint.value)
}

/// Whether the annotation [`ALLOW`] allows taints with this key.
pub(crate) fn allows(text: &str, key: &str) -> bool {
    text.split(',').map(str::trim).any(|word| word == "*" || word == key)
}

fn sentence(node: &str, new: &[&Taint], why: &str) -> String {
    let shown: Vec<String> = new.iter().map(|taint| taint.to_string()).collect();
    let keys: Vec<&str> = new.iter().map(|taint| &*taint.key).collect();
    let value = Quoted(&keys.join(",")).to_string();
    format!(
        "{} would evict the pods of node {}, and {why}; if you intend this: kubectl annotate node {} \
         {ALLOW}={value}, then retry",
        few(shown.iter().map(|text| &**text)),
        text_of(node),
        text_of(node)
    )
}
