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
    /// Creates the switch. It is on until the cluster is known.
    pub(crate) fn new(relist: RelistTrigger) -> Self {
        Self { on: watch::Sender::new(true), relist }
    }

    /// The state of the switch.
    pub(crate) fn on(&self) -> watch::Receiver<bool> {
        self.on.subscribe()
    }

    /// Turns the switch on or off.
    pub(super) fn set(&self, on: bool) {
        let turned = self.on.send_if_modified(|before| std::mem::replace(before, on) != on);
        if turned && on {
            // In this order: consumers that start now receive the whole list.
            self.relist.request();
        }
    }
}
