//! Computes the names of nodes to which the admission policy may let pods be bound directly.
//!
//! - Invariant: a node that a pool owns or takes is listed only after the pool's status names it; so at no moment do
//!   both policies let a foreign pod through.

use super::fact::PoolFact;
use super::reconcile::PoolPlan;
use super::store::Store;
use crate::admission::pool::{DaemonSetPolicy, PoolValidity};
use crate::time::{Mono, Span};
use alloc::boxed::Box;
use alloc::collections::BTreeSet;

/// Every name is looked at: not at each pull.
const CHECK_PERIOD: Span = Span::from_millis(200);

/// They are written again after this time, because anyone may have written there.
const REWRITE_PERIOD: Span = Span::from_secs(60);

/// What becomes of pods that are tied to a node that is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownNodePolicy {
    /// They are let in: no pool keeps anything out.
    #[default]
    Allow,
    /// Those of DaemonSets are let in.
    AllowDaemonSets,
    /// They are refused.
    Deny,
}

impl UnknownNodePolicy {
    /// `AllowDaemonSets`
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "Allow",
            Self::AllowDaemonSets => "AllowDaemonSets",
            Self::Deny => "Deny",
        }
    }
}

/// What the ConfigMap is to say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownNodes {
    /// Their names.
    pub names: BTreeSet<Box<str>>,
    /// What becomes of pods that are tied to others.
    pub unknown: UnknownNodePolicy,
}

impl KnownNodes {
    /// Which nodes are known.
    pub(crate) fn of(plan: &PoolPlan, pools: &Store<PoolFact>) -> Self {
        let keeps_out = plan.pools().iter().zip(plan.validity());
        let mut keeping =
            keeps_out.filter(|(pool, validity)| pool.keeps_out() && **validity != PoolValidity::Refused);
        let Some((first, _)) = keeping.next() else { return Self::default() };
        let allow = |daemon_sets| daemon_sets == DaemonSetPolicy::Allow;
        let unknown = match allow(first.daemon_sets) && keeping.all(|(pool, _)| allow(pool.daemon_sets)) {
            true => UnknownNodePolicy::AllowDaemonSets,
            false => UnknownNodePolicy::Deny,
        };
        let mut names: BTreeSet<Box<str>> = plan.nodes().iter().map(|node| node.name.clone()).collect();
        for (fact, members) in plan.facts().iter().zip(plan.members()) {
            let recorded = pools.get(&fact.uid).and_then(|fact| fact.recorded.as_ref());
            let recorded = recorded.map(|recorded| recorded.status.members.as_slice()).unwrap_or_default();
            let missing = members.iter().filter(|member| recorded.binary_search(member).is_err());
            missing.for_each(|member| _ = names.remove(member));
        }
        Self { names, unknown }
    }
}

/// Which nodes the policy was last told are known, and when that is looked at again.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownNodesWrites {
    written: Option<(KnownNodes, Mono)>,
    checked: Option<Mono>,
    is_stale: bool,
}

impl KnownNodesWrites {
    /// Something has changed that they depend on, or a write failed.
    pub(crate) fn invalidate(&mut self) {
        self.is_stale = true;
    }

    /// When they are to be looked at; at once means `now`.
    pub(crate) fn check_at(&self, now: Mono) -> Mono {
        let rewrite = self.written.as_ref().map_or(now, |(_, at)| at.plus(REWRITE_PERIOD));
        let recheck = self.checked.map_or(now, |at| at.plus(CHECK_PERIOD));
        if self.is_stale { recheck } else { rewrite.max(recheck) }
    }

    /// Looks at them; what is to be written, if anything.
    pub(crate) fn check(&mut self, known: KnownNodes, now: Mono) -> Option<KnownNodes> {
        (self.checked, self.is_stale) = (Some(now), false);
        let same = |(written, at): &(KnownNodes, Mono)| *written == known && now < at.plus(REWRITE_PERIOD);
        (!self.written.as_ref().is_some_and(same)).then_some(known)
    }

    pub(crate) fn write_succeeded(&mut self, known: KnownNodes, now: Mono) {
        self.written = Some((known, now));
    }
}
