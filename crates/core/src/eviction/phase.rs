//! Defines where a pod stands between its facts and its deletion, and counts pods by it.

use crate::time::Mono;

/// Where a pod stands in the engine state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum EvictionPhase {
    /// Nothing is planned.
    #[default]
    Idle,
    /// It has a deadline.
    CountingDown(Mono),
    /// It would have one, but its time is held (NL-48).
    OnHold(LastNotice),
    /// It goes, and waits for its turn in the queue under this due date.
    Due(Mono),
    /// Its eviction is under way (`attempts`).
    InProgress,
    /// Its deletion is accepted; the watch has not said so yet. Newer news that it is alive ends this.
    Deleted,
}

/// What was last told of a pod's going.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum LastNotice {
    /// Nothing, or that it stays.
    None,
    /// That it has a deadline.
    Countdown,
    /// That it is due.
    Due,
}

/// How many pods are in the stages that are asked for all the time. A phase is changed only together with them
/// (`PodEntry::set_phase`), so that they are right whoever changes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct CountdownCounts {
    counting: usize,
    held: usize,
}

impl CountdownCounts {
    /// Pods with a deadline.
    pub(super) const fn counting(&self) -> usize {
        self.counting
    }

    /// Pods whose time is held.
    pub(super) const fn held(&self) -> usize {
        self.held
    }

    pub(super) fn change(&mut self, from: EvictionPhase, to: EvictionPhase) {
        let counting = |phase| usize::from(matches!(phase, EvictionPhase::CountingDown(_)));
        let held = |phase| usize::from(matches!(phase, EvictionPhase::OnHold(_)));
        self.counting = self.counting + counting(to) - counting(from);
        self.held = self.held + held(to) - held(from);
    }
}
