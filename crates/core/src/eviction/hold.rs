//! Starts and ends a countdown hold (NL-48): judges the pods of all affected nodes again.

use super::cache::NodeEntry;
use super::{EvictionEngine, EvictionNotice};
use crate::countdown_hold::HoldHistory;
use crate::time::Mono;

impl EvictionEngine {
    pub(super) fn hold(&mut self, on: bool, now: Mono) {
        if on == self.state.holds.is_on() {
            return;
        }
        if on {
            self.state.holds.begin(now);
            self.reassess_held(now);
            self.state.notices.push(EvictionNotice::CountdownsHeld { pods: self.state.counts.held });
        } else if let Some(held) = self.state.holds.end(now) {
            self.state.notices.push(EvictionNotice::CountdownsResumed { held, pods: self.state.counts.held });
            self.reassess_held(now);
        }
    }

    /// Judges the pods of all nodes that a hold concerns.
    fn reassess_held(&mut self, now: Mono) {
        let concerned = |entry: &NodeEntry| {
            entry.taints().iter().any(|instance| HoldHistory::applies_to(&instance.taint))
        };
        let nodes = self.nodes.iter().filter(|(_, entry)| concerned(entry));
        let names: alloc::vec::Vec<_> = nodes.map(|(name, _)| name.clone()).collect();
        for name in names {
            self.reassess(&name, now);
        }
    }
}
