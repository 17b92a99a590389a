//! # Demand: the switch of the watches that only pools need
//! Room:     whether nodes, pods and namespaces are handed over for pools.
//! Comes in: whether they are needed.
//! Goes out: a switch that watches read; a list, when it is switched on.
//! Not here: when they are needed (the core's `dedicated_pools/watch_demand.rs`); watching (`run/watches.rs`), handing over
//!           (`fan_out.rs`).
//!
//! Nodes and pods come by the watches that the other controllers have. When they are needed for pools these list once
//! more, out of their turn: it is what they do every few minutes anyway, and the world that comes of it is complete.

use taintward_kube::watch::RelistTrigger;
use tokio::sync::watch;

/// The switch.
pub(crate) struct PoolStreamDemand {
    on: watch::Sender<bool>,
    relist: RelistTrigger,
}

impl PoolStreamDemand {
    /// On, until it is known better.
    pub(crate) fn new(relist: RelistTrigger) -> Self {
        Self { on: watch::Sender::new(true), relist }
    }

    /// The switch, to read.
    pub(crate) fn on(&self) -> watch::Receiver<bool> {
        self.on.subscribe()
    }

    /// Turns it as it has to be.
    pub(super) fn set(&self, on: bool) {
        let turned = self.on.send_if_modified(|before| std::mem::replace(before, on) != on);
        if turned && on {
            // In this order: what begins from now on is handed over whole.
            self.relist.ask();
        }
    }
}
