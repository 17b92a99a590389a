//! Switches the watches of nodes, pods and namespaces for pools on and off.
//!
//! - The watches of other controllers are shared: when pools need them, they list once more, as they do every few
//!   minutes.

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
