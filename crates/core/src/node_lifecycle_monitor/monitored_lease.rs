//! Keeps what the monitor knows about one lease, which may arrive before its node and outlive it.

use crate::identity::ResourceVersion;
use crate::node_lifecycle::LeaseFact;
use crate::time::Wall;

/// A lease, as far as its renewals show life.
#[derive(Clone, Debug)]
pub(super) struct MonitoredLease {
    version: Option<ResourceVersion>,
    renewed: Option<Wall>,
    listed: bool,
}

impl MonitoredLease {
    pub(super) const fn new(fact: &LeaseFact) -> Self {
        Self { version: fact.version, renewed: fact.renewed, listed: true }
    }

    /// Returns whether it was renewed.
    pub(super) fn apply(&mut self, fact: &LeaseFact, listed: bool) -> bool {
        let is_late = self.version.is_some() && fact.version < self.version;
        self.listed = true;
        if is_late && !listed {
            return false;
        }
        let is_renewed = !is_late && self.renewed.is_some() && fact.renewed > self.renewed;
        (self.version, self.renewed) = (fact.version, fact.renewed);
        is_renewed
    }

    pub(super) const fn set_listed(&mut self, listed: bool) {
        self.listed = listed;
    }

    pub(super) const fn was_listed(&self) -> bool {
        self.listed
    }
}
