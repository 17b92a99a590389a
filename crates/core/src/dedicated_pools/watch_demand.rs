//! Decides whether nodes, namespaces and pods must be watched: only while there are pools, and for a while afterwards.

use crate::time::{Mono, Span};

/// For this long after the last pool all objects stay cached: pools that come and go do not cost a list each. A process
/// that has just started waits as long to find out whether there are pools, so that pods are not listed twice.
const LINGER: Span = Span::from_secs(60);

/// Whether the other watches are needed.
#[derive(Clone, Debug, Default)]
pub(crate) struct WatchDemand {
    /// Until when they are needed if no pool appears; `None` before the first input.
    until: Option<Mono>,
    has_pools: bool,
    had_pools: bool,
    is_over: bool,
}

impl WatchDemand {
    /// `all_known`: the list of pools is complete.
    pub(crate) fn update(&mut self, has_pools: bool, all_known: bool, now: Mono) -> bool {
        let until = self.until.get_or_insert(now.plus(LINGER));
        self.has_pools = has_pools;
        if has_pools {
            (self.had_pools, *until) = (true, now.plus(LINGER));
        } else if all_known && !self.had_pools {
            *until = now;
        }
        self.is_over = now >= *until;
        !self.is_over
    }

    pub(crate) fn is_needed(&self) -> bool {
        !self.is_over
    }

    /// When the demand ends by itself.
    pub(crate) fn ends_at(&self) -> Option<Mono> {
        self.until.filter(|_| !self.has_pools && !self.is_over)
    }
}
