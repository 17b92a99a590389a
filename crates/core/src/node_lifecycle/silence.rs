//! Decides when a node counts as overdue and as silent, and when time alone changes that.

use crate::identity::NodeName;
use crate::time::{Mono, Span};
use alloc::collections::BTreeSet;

/// The clock's resolution: strictly later is one of these later.
const TICK: Span = Span::from_micros(1);

/// The end of a node's grace period; `None`: it can't be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct SilenceDeadline(pub(super) Option<Mono>);

impl SilenceDeadline {
    /// Since when the node is silent: strictly after its grace period (NL-12).
    pub(super) fn silent_since(self, now: Mono) -> Option<Mono> {
        self.0.filter(|until| *until < now)
    }

    /// A node with no more than this left of its grace period is overdue: renewals were missed. Nodes that fail together
    /// were last heard of up to the ten seconds apart that lie between two renewals, and count together by this.
    pub(super) fn is_overdue(self, overdue_max: Span, now: Mono) -> bool {
        self.0.is_some_and(|until| until.minus(overdue_max) < now)
    }

    /// When the node becomes overdue, or else silent, by time alone.
    pub(super) fn wakeup(self, overdue_max: Span, now: Mono) -> Option<Mono> {
        let until = self.0.filter(|until| *until >= now)?;
        let change = if self.is_overdue(overdue_max, now) { until } else { until.minus(overdue_max) };
        Some(change.plus(TICK))
    }
}

/// The moments at which time alone changes something about a node. A node remembers its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Wakeups(BTreeSet<(Mono, NodeName)>);

impl Wakeups {
    /// A node is to be looked at `after` and no longer `before`.
    pub(super) fn replace(&mut self, name: &NodeName, before: Option<Mono>, after: Option<Mono>) {
        if before == after {
            return;
        }
        if let Some(before) = before {
            self.0.remove(&(before, name.clone()));
        }
        if let Some(after) = after {
            self.0.insert((after, name.clone()));
        }
    }

    /// The first of them.
    pub(super) fn next(&self) -> Option<&(Mono, NodeName)> {
        self.0.first()
    }
}
