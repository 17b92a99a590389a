//! # Queue: whose turn it is
//! Room:     pods that go, in the order in which they go; retries by time; evictions under way.
//! Comes in: tickets, with the due date and the rank that order them.
//! Goes out: the next ticket of a lane.
//! Keeps:    a pod, by UID, is in at most one place (TE-26, TE-29); first tries never wait behind retries (L6).
//! Not here: whether it still has to go: that is asked again at its turn.

use super::roster::Rank;
use crate::effect::Failure;
use crate::names::{NodeName, PodName, Uid};
use crate::start::Start;
use crate::taint::Taint;
use crate::time::{Mono, Span};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};

/// One incarnation of a pod on its node: what every effect is decided for (D4).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodRef {
    /// The node it is bound to.
    pub node: NodeName,
    /// Its identity.
    pub uid: Uid,
}

/// A place in the queue: earliest due date first; on the same instant lower rank first; then by node and UID.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Ticket {
    pub(super) due: Mono,
    pub(super) rank: Rank,
    pub(super) pod: PodRef,
}

/// What is asked of the API server about a pod at its next turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Step {
    /// Evict: mark if needed, then delete.
    Evict,
    /// Read the pod first: a precondition failed, or an answer was lost.
    Look,
    /// Take the mark away: it is not going after all (S9).
    Withdraw,
}

/// The request that is out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Errand {
    Mark,
    Delete,
    Look,
    Unmark,
}

/// An eviction under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Attempt {
    pub(super) ticket: Ticket,
    pub(super) step: Step,
    /// The request that is out, if any.
    pub(super) errand: Option<Errand>,
    /// When it is to be tried again, if it waits for that.
    pub(super) retry_at: Option<Mono>,
    pub(super) failures: u32,
    pub(super) conflicts: u32,
    pub(super) last_failure: Option<Failure>,
    /// When the pod was last asked for, to be read.
    pub(super) looked: Option<Mono>,
    /// The watch said the pod is gone while a request was out.
    pub(super) vanished: bool,
    /// When it was known to be due.
    pub(super) known_due: Option<Mono>,
    /// It did not have to go in between, and was not seen to be due again since.
    pub(super) wavered: bool,
    /// Why it is being deleted, kept for the report.
    pub(super) grounds: Option<Box<Grounds>>,
}

impl Attempt {
    pub(super) fn new(ticket: Ticket, step: Step) -> Self {
        Self {
            ticket,
            step,
            errand: None,
            retry_at: None,
            failures: 0,
            conflicts: 0,
            last_failure: None,
            looked: None,
            vanished: false,
            known_due: None,
            wavered: false,
            grounds: None,
        }
    }
}

/// Why a pod was evicted: what events, logs and metrics say about it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Grounds {
    /// Namespace and name.
    pub name: PodName,
    /// The taint that was due first.
    pub taint: Taint,
    /// Its start and where that came from.
    pub start: Start,
    /// Since when it counted for the pod.
    pub counts_from: Mono,
    /// The toleration used: its position, and the seconds it granted; `None` if untolerated.
    pub toleration: Option<(usize, Span)>,
    /// How much of the time since then did not count, because it was held (NL-48).
    pub held: Span,
    /// When the pod was due.
    pub due: Mono,
    /// When it was known to be due.
    pub known_due: Mono,
    /// When the DELETE was decided.
    pub decided: Mono,
    /// When the confirming read of the node was sent (D5).
    pub confirmed: Mono,
}

/// Backoff of failing requests (D3, L2; TE-33, TE-45: the original gives up after 50 ms).
const RETRY_FIRST: Span = Span::from_millis(100);
const RETRY_MAX: Span = Span::from_secs(30);

/// How long to wait after so many failures: doubling from 0.1 s to 30 s, spread by ±25 % by a hash of the identity,
/// so that pods which failed together don't come back together; or longer if the server asks for it.
pub(crate) fn backoff(pod: &str, uid: &Uid, failures: u32, failure: Failure) -> Span {
    let doubled = RETRY_FIRST.as_micros().saturating_mul(1 << failures.saturating_sub(1).min(20));
    let base = doubled.min(RETRY_MAX.as_micros());
    let spread = base / 2 * i64::from(jitter(pod, uid, failures)) / 1024;
    let asked = match failure {
        Failure::Throttled(Some(asked)) => asked.min(RETRY_MAX),
        _ => Span::ZERO,
    };
    Span::from_micros(base - base / 4 + spread).max(asked)
}

/// A number below 1024 from identity and count; no randomness in the core.
fn jitter(node: &str, uid: &Uid, failures: u32) -> u16 {
    let opaque = match uid {
        Uid::Uuid(bytes) => &bytes[..],
        Uid::Opaque(text) => text.as_bytes(),
    };
    let bytes = node.bytes().chain(opaque.iter().copied()).chain(failures.to_le_bytes());
    let hash = bytes.fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    ((hash >> 7) & 0x3ff) as u16
}

/// All pods that go, wherever they are in the process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Queue {
    /// Marked pods and others whose next request continues what was begun; before all others (S9).
    pub(super) next: BTreeSet<Ticket>,
    /// Due pods, never tried. The value is when the engine knew that they were due.
    pub(super) due: BTreeMap<Ticket, Mono>,
    /// Pods waiting for another try.
    pub(super) later: BTreeSet<(Mono, Ticket)>,
    /// Evictions under way, wherever their ticket is.
    pub(super) attempts: BTreeMap<PodRef, Attempt>,
}

/// Which tickets a pull may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lane {
    /// Only first tries and what continues them.
    Fresh,
    /// Retries whose time has come as well.
    All,
}

impl Queue {
    /// The next ticket of a lane, taken out, with the time at which it was known to be due if it is a first try.
    pub(super) fn pull(&mut self, lane: Lane, now: Mono) -> Option<(Ticket, Option<Mono>)> {
        if let Some(ticket) = self.next.pop_first() {
            return Some((ticket, None));
        }
        if let Some((ticket, known)) = self.due.pop_first() {
            return Some((ticket, Some(known)));
        }
        match self.later.first() {
            Some((at, _)) if lane == Lane::All && *at <= now => {
                self.later.pop_first().map(|(_, ticket)| (ticket, None))
            }
            _ => None,
        }
    }

    /// Takes a pod's eviction out of wherever it is.
    pub(super) fn forget(&mut self, pod: &PodRef) -> Option<Attempt> {
        let attempt = self.attempts.remove(pod)?;
        self.unqueue(&attempt);
        Some(attempt)
    }

    fn unqueue(&mut self, attempt: &Attempt) {
        self.next.remove(&attempt.ticket);
        if let Some(at) = attempt.retry_at {
            self.later.remove(&(at, attempt.ticket.clone()));
        }
    }

    /// Another turn as soon as possible, unless the attempt is over.
    pub(super) fn again(&mut self, ticket: Ticket) {
        if self.attempt_of(&ticket).is_some() {
            self.next.insert(ticket);
        }
    }

    /// Another turn at a later moment, unless the attempt is over.
    pub(super) fn later_at(&mut self, ticket: Ticket, at: Mono) {
        if let Some(attempt) = self.attempt_of(&ticket) {
            attempt.retry_at = Some(at);
            self.later.insert((at, ticket));
        }
    }

    /// A ticket from before its pod was gone and told of again is worth nothing: the attempt of now has another one.
    fn attempt_of(&mut self, ticket: &Ticket) -> Option<&mut Attempt> {
        self.attempts.get_mut(&ticket.pod).filter(|attempt| attempt.ticket == *ticket)
    }

    /// When the next retry is due.
    pub(super) fn wake_at(&self) -> Option<Mono> {
        self.later.first().map(|(at, _)| *at)
    }
}
