//! # Hold: countdowns stand still, and go on
//! Room:     the two moments of a hold (NL-48): all pods of nodes that it concerns are judged anew.
//! Comes in: what node health asks for.
//! Goes out: plans as the verdicts now are; one notice each time.
//! Keeps:    entering and leaving costs one pass over tainted nodes; in between nothing costs more than without.
//! Not here: what a hold does to a deadline (`hold.rs` of the core, `verdict.rs`).

use super::roster::Seat;
use super::{Engine, Notice};
use crate::hold::Holds;
use crate::time::Mono;

impl Engine {
    pub(super) fn hold(&mut self, on: bool, now: Mono) {
        if on == self.book.holds.is_on() {
            return;
        }
        if on {
            self.book.holds.begin(now);
            self.reassess_held(now);
            self.book.notices.push(Notice::CountdownsHeld { pods: self.book.counts.held });
        } else if let Some(held) = self.book.holds.end(now) {
            self.book.notices.push(Notice::CountdownsGoOn { held, pods: self.book.counts.held });
            self.reassess_held(now);
        }
    }

    /// Judges the pods of all nodes that a hold concerns.
    fn reassess_held(&mut self, now: Mono) {
        let concerned = |seat: &Seat| seat.taints().iter().any(|instance| Holds::concern(&instance.taint));
        let nodes = self.nodes.iter().filter(|(_, seat)| concerned(seat));
        let names: alloc::vec::Vec<_> = nodes.map(|(name, _)| name.clone()).collect();
        for name in names {
            self.reassess(&name, now);
        }
    }
}
