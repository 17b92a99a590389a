//! Keeps what an observer was told that would have been written to a node.

use super::desired_taints::NodeSituation;
use super::managed_taints::ManagedTaints;

/// What would have been written to a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct DryRunState {
    conditions: bool,
    labels: bool,
    add: ManagedTaints,
    remove: ManagedTaints,
}

impl DryRunState {
    /// Its conditions would say Unknown.
    pub(super) fn set_conditions_unknown(&mut self) {
        self.conditions = true;
    }

    /// Whether its conditions would say Unknown.
    pub(super) const fn has_conditions(self) -> bool {
        self.conditions
    }

    /// Its labels would be there: of them no notice is given, and they hold nothing else up.
    pub(super) fn patch_labels(&mut self) {
        self.labels = true;
    }

    /// Whether its labels would be there.
    pub(super) const fn has_labels(self) -> bool {
        self.labels
    }

    /// These taints would be put on and taken off.
    pub(super) fn patch_taints(&mut self, add: ManagedTaints, remove: ManagedTaints) {
        self.add = self.add.without(remove).and(add);
        self.remove = self.remove.without(add).and(remove);
    }

    /// Other controllers have put these on or taken them off.
    pub(super) fn forget_taints(&mut self, changed: ManagedTaints) {
        (self.add, self.remove) = (self.add.without(changed), self.remove.without(changed));
    }

    /// What the node's situation would be.
    pub(super) fn apply(self, mut situation: NodeSituation) -> NodeSituation {
        situation.own = situation.own.without(self.remove).and(self.add);
        if self.conditions && situation.silent {
            situation.conditions.expire();
        }
        situation
    }

    /// Forgets what is done with: what a silence called for once it is over, and all once nothing is to be done.
    pub(super) fn settle(&mut self, is_silent: bool, is_done: bool, labels_missing: bool) {
        self.conditions &= is_silent;
        if is_done {
            *self = Self { labels: self.labels && labels_missing, ..Self::default() };
        }
    }
}
