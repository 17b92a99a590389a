//! # Demand: whether anything but pools has to be known
//! Room:     whether nodes, pods and namespaces are listened to for pools, and for how long after the last of them.
//! Comes in: whether there are pools, as far as is known.
//! Goes out: a switch that streams read; a list, when it is switched on.
//! Not here: listening (`run/watches.rs`), handing over (`split.rs`), what is known (`pool_cache.rs`).
//!
//! Most clusters have no pool, and very many pods. So nodes and pods are heard of on the streams that the other loops
//! listen to, and nothing is kept of them unless there is a pool. When the first one appears these streams list once more,
//! out of their turn: it is what they do every few minutes anyway, the world that comes of it is complete by the streams'
//! own promise, and no other loop has to keep for everybody what only pools ask about (whose a pod is).

use taintward_core::time::{Mono, Span};
use taintward_kube::watch::RelistTrigger;
use tokio::sync::watch;

/// So long after the last pool everything is still known: pools that come and go do not cost a list each. It is also how
/// long a process that has just begun waits to hear whether there are any, so that pods need not be listed twice.
const LINGER: Span = Span::from_secs(60);

/// The switch, and whoever turns it.
pub(crate) struct PoolStreamDemand {
    on: watch::Sender<bool>,
    relist: RelistTrigger,
    until: Mono,
    had_pools: bool,
}

impl PoolStreamDemand {
    /// On, until it is known better.
    pub(crate) fn new(relist: RelistTrigger, now: Mono) -> Self {
        Self { on: watch::Sender::new(true), relist, until: now.plus(LINGER), had_pools: false }
    }

    /// The switch, to read.
    pub(crate) fn on(&self) -> watch::Receiver<bool> {
        self.on.subscribe()
    }

    /// Turns the switch as it has to be; `all_known`: there is no pool but those that are known.
    pub(super) fn is_on(&mut self, has_pools: bool, all_known: bool, now: Mono) -> bool {
        if has_pools {
            (self.had_pools, self.until) = (true, now.plus(LINGER));
        } else if all_known && !self.had_pools {
            self.until = now;
        }
        let on = now < self.until;
        let turned = self.on.send_if_modified(|before| std::mem::replace(before, on) != on);
        if turned && on {
            // In this order: what begins from now on is handed over whole.
            self.relist.ask();
        }
        on
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_on_until_it_is_known_that_there_are_no_pools_and_a_while_after_the_last() {
        let at = Mono::from_secs;
        let mut demand = PoolStreamDemand::new(RelistTrigger::default(), at(0));
        let on = demand.on();
        assert!(*on.borrow() && demand.is_on(false, false, at(1)), "the first list may serve");
        assert!(!demand.is_on(false, true, at(2)) && !*on.borrow(), "at once: nothing was ever needed");
        assert!(demand.is_on(true, true, at(100)) && *on.borrow());
        assert!(demand.is_on(false, true, at(159)) && demand.is_on(true, false, at(159)));
        assert!(demand.is_on(false, true, at(218)) && !demand.is_on(false, true, at(219)) && !*on.borrow());
        // Nobody says whether there are pools: what they would need is not kept for ever.
        let mut demand = PoolStreamDemand::new(RelistTrigger::default(), at(0));
        assert!(demand.is_on(false, false, at(59)) && !demand.is_on(false, false, at(60)));
    }
}
