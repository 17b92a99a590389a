//! Decides whether a NoExecute taint may be added to a node, given how many healthy nodes would remain.
//!
//! - Invariant: missing facts allow the change; taints with which Kubernetes reports a lost node are always allowed.
//! - Only changes that take a healthy node away count; [`FleetHealth::recently_admitted`] corrects counts from watches.
//! - See `node_lifecycle/config.rs` for the rate at which node lifecycle adds taints (NL-26).

use super::messages::{few, text_of};
use super::request::Requester;
use crate::lint::Quoted;
use crate::taint::{Taint, TaintEffect, keys};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// A node's annotation that lets taints through: their keys, with commas between them, or `*` for any. One that is left
/// behind lets through no other key.
pub const ALLOW: &str = "taintward.io/allow-no-execute";

/// How hard it brakes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoExecuteGuard {
    /// No more than so many of a hundred nodes may have a NoExecute taint.
    pub percent: u32,
    /// Accounts that speak for Kubernetes or for pools, besides those that Kubernetes gives its own components.
    pub accounts: Vec<Box<str>>,
}

impl Default for NoExecuteGuard {
    fn default() -> Self {
        Self { percent: 50, accounts: Vec::new() }
    }
}

/// What is done to a node.
#[derive(Clone, Copy, Debug)]
pub struct NodeTaintUpdate<'c> {
    /// Its name.
    pub name: &'c str,
    /// Its taints before; `None` for a node that is created: nothing runs there yet.
    pub old: Option<&'c [Taint]>,
    /// Its taints after.
    pub new: &'c [Taint],
    /// Its annotation [`ALLOW`], after.
    pub allow: Option<&'c str>,
    /// Its condition `Ready` is true; `None`: not known.
    pub ready: Option<bool>,
    /// Who asks.
    pub requester: Option<&'c Requester>,
    /// The taints of the pool whose node it is.
    pub own: &'c [Taint],
}

/// How many nodes are well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FleetHealth {
    /// All nodes.
    pub total: u32,
    /// Those that are ready and have no NoExecute taint, but for those of the pool whose they are.
    pub healthy: u32,
    /// Those that have a NoExecute taint, but for those of the pool whose they are.
    pub tainted: u32,
    /// Healthy nodes whose tainting was allowed and is not in these numbers yet.
    pub recently_admitted: u32,
}

impl FleetHealth {
    /// Counts nodes: whether each is ready, its taints, and those of the pool whose node it is. The taint of a pool on a
    /// node of nobody's is like any other: somebody has put it there by hand.
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
    /// It puts no NoExecute taint on a node that runs pods.
    Harmless,
    /// All it puts there is what Kubernetes, or a pool's controller, says about the node.
    Spoken,
    /// The node was not healthy before.
    NotHealthy,
    /// [`ALLOW`] says so.
    Overridden,
    /// Enough nodes are left.
    Enough,
    /// How many nodes are left is not known.
    Unknown,
}

/// Whether a change goes through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuardDecision {
    /// It does.
    Allowed(GuardExemption),
    /// It does not: why, and the way out.
    Refused(String),
}

impl NoExecuteGuard {
    /// Whether a change goes through. `dedicated` are the taints of all pools; `fleet` is the cluster before it.
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
                Some(why) => GuardDecision::Refused(sentence(change.name, &new, &why)),
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

    /// What would be left, if it is not enough.
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

/// Put on, or changed so that pods that bore it may not bear it any more.
fn is_new(taint: &Taint, old: &[Taint]) -> bool {
    taint.effect == TaintEffect::NoExecute
        && !old.iter().any(|had| had.is_same(taint) && had.value == taint.value)
}

fn allows(text: &str, key: &str) -> bool {
    text.split(',').map(str::trim).any(|word| word == "*" || word == key)
}

fn sentence(node: &str, new: &[&Taint], why: &str) -> String {
    let shown: Vec<String> = new.iter().map(|taint| taint.to_string()).collect();
    let keys: Vec<&str> = new.iter().map(|taint| &*taint.key).collect();
    let value = Quoted(&keys.join(",")).to_string();
    format!(
        "{} would evict the pods of node {} and {why}; if you intend this: kubectl annotate node {} \
         {ALLOW}={value}, then retry",
        few(shown.iter().map(|text| &**text)),
        text_of(node),
        text_of(node)
    )
}
