//! Decides the steps of leader election by client-go's rules, as a state machine without I/O or clocks.
//!
//! - Invariant: at most one process leads at any moment, while clock rates differ by less than lease duration to renew
//!   deadline (S5); after any outage the election continues by itself (L8).

use super::{ElectionAction, Leadership, LeaseRecord, LeaseResponse};
use crate::api_time::micro_time;
use crate::split_mix::SplitMix64;
use taintward_core::time::{Mono, Now, Span, Wall};

/// The three timings of an election, ordered: retry < renew < lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElectionTimings {
    /// Another process's lease without an observed change for this long is free.
    pub lease: Span,
    /// A leader that could not renew for this long stops leading.
    pub renew: Span,
    /// The time between two attempts.
    pub retry: Span,
}

/// A write whose outcome is unknown, and that cannot be mistaken for another.
#[derive(Clone, Debug)]
struct UnprovenWrite {
    record: LeaseRecord,
    sent: Mono,
}

/// The lease as last observed or written.
#[derive(Clone, Debug)]
struct ObservedLease {
    record: LeaseRecord,
    /// When this process first observed the record, by the local clock. Times in the record are never compared with a
    /// clock (P28).
    since: Mono,
}

/// A record that is being written.
#[derive(Clone, Debug)]
struct LeaseClaim {
    record: LeaseRecord,
    /// Whether no earlier record has the same content.
    unique: bool,
}

#[derive(Clone, Debug)]
enum ElectionPhase {
    Waiting { until: Mono },
    Reading,
    Writing { is_absent: bool, has_read: bool },
    InFlight { claim: Option<LeaseClaim>, sent: Mono, has_read: bool },
    Done,
}

/// One candidate.
#[derive(Clone, Debug)]
pub(super) struct Election {
    rules: ElectionTimings,
    identity: String,
    rng: SplitMix64,
    observed: Option<ObservedLease>,
    /// Whether the store contains `seen` as far as is known; not while a write is in flight or its outcome unknown.
    current: bool,
    /// A record of this process may be in the store.
    may_hold: bool,
    unproven: Option<UnprovenWrite>,
    /// The latest time in any record of this process.
    latest: Wall,
    phase: ElectionPhase,
    valid_until: Option<Mono>,
    renewed: Option<Mono>,
    stopping: bool,
}

impl Election {
    /// A candidate that starts immediately. `chance` is the seed of its waiting times; it should differ between
    /// candidates.
    pub(super) fn new(rules: ElectionTimings, identity: &str, chance: u64) -> Self {
        Self {
            rules,
            identity: identity.to_owned(),
            rng: SplitMix64(chance),
            observed: None,
            current: false,
            may_hold: false,
            unproven: None,
            latest: Wall::from_micros(i64::MIN),
            phase: ElectionPhase::Reading,
            valid_until: None,
            renewed: None,
            stopping: false,
        }
    }

    /// Until when this process leads, counted from before the last successful renewal was sent (S5).
    pub(super) const fn valid_until(&self) -> Option<Mono> {
        self.valid_until
    }

    /// Reports the leader, as far as it is known now.
    pub(super) fn report(&self, now: Mono, leadership: &mut Leadership) {
        leadership.leading = self.valid_until.is_some_and(|until| now < until);
        if let Some(until) = self.valid_until {
            leadership.valid_until = until;
        } else {
            leadership.valid_until = leadership.valid_until.min(now);
        }
        leadership.last_renew_ok = self.renewed.or(leadership.last_renew_ok);
        if let Some(record) = self.record() {
            leadership.holder.clone_from(&record.holder);
            leadership.transitions = record.transitions;
        }
    }

    /// Whether the process ends, and releases the lease.
    pub(super) const fn is_stopping(&self) -> bool {
        self.stopping
    }

    /// The record last observed or written.
    fn record(&self) -> Option<&LeaseRecord> {
        self.observed.as_ref().map(|observed| &observed.record)
    }

    /// Stops leading immediately and releases the lease.
    pub(super) fn stop(&mut self) {
        self.stopping = true;
        self.valid_until = None;
        // A record that is current and not of this process has ended `may_hold`.
        self.phase = match (self.may_hold, self.current) {
            (false, _) => ElectionPhase::Done,
            (true, true) => ElectionPhase::Writing { is_absent: false, has_read: false },
            (true, false) => ElectionPhase::Reading,
        };
    }

    /// Returns the next action. An action without a response counts as [`LeaseResponse::Unknown`].
    pub(super) fn next(&mut self, now: Now) -> ElectionAction {
        self.lapse(now.mono);
        if matches!(self.phase, ElectionPhase::InFlight { .. }) {
            self.on_response(now, LeaseResponse::Unknown);
        }
        match &self.phase {
            ElectionPhase::Waiting { until } if now.mono < *until => ElectionAction::Wait(*until),
            ElectionPhase::Waiting { .. } if self.valid_until.is_some() && self.current => {
                self.write(now, false)
            }
            ElectionPhase::Waiting { .. } | ElectionPhase::Reading => {
                self.phase = ElectionPhase::InFlight { claim: None, sent: now.mono, has_read: true };
                ElectionAction::Read
            }
            ElectionPhase::Writing { has_read, .. } => self.write(now, *has_read),
            ElectionPhase::InFlight { .. } | ElectionPhase::Done => ElectionAction::Done,
        }
    }

    /// Handles the result of the last action.
    pub(super) fn on_response(&mut self, now: Now, response: LeaseResponse) {
        let ElectionPhase::InFlight { claim, sent, has_read } = self.phase.clone() else { return };
        self.lapse(now.mono);
        match (response, claim) {
            (LeaseResponse::Found(record), None) => self.found(now.mono, record),
            (LeaseResponse::Absent, None) => self.absent(now.mono),
            (LeaseResponse::Written, Some(claim)) => self.written(now.mono, sent, claim.record),
            (LeaseResponse::Conflict, Some(claim)) => {
                self.doubt(claim, sent);
                // The lease changed meanwhile: read it immediately; but only once per attempt.
                self.phase = if has_read { self.rest(now.mono) } else { ElectionPhase::Reading };
            }
            // An unexpected response proves nothing. The next attempt is due a while after this one started: the time
            // spent waiting for a response counts.
            (_, claim) => {
                if let Some(claim) = claim {
                    self.doubt(claim, sent);
                }
                self.current = false;
                self.phase = self.rest(sent);
            }
        }
    }

    /// A write may have been done without a response; a conflict may be one with itself, if the server tried twice.
    fn doubt(&mut self, claim: LeaseClaim, sent: Mono) {
        self.current = false;
        let LeaseClaim { record, unique } = claim;
        self.unproven = unique.then_some(UnprovenWrite { record, sent });
    }

    fn found(&mut self, now: Mono, record: LeaseRecord) {
        // Only a changed record shows an active holder; the object may change without it.
        let since = match &self.observed {
            Some(observed) if observed.record == record => observed.since,
            _ => now,
        };
        let free_at = since.plus(self.validity(&record));
        let mine = record.holder == self.identity;
        // Exactly the sent record is there: the write was done, after it was sent. Any process that reads it waits from
        // then on.
        let proven = self.unproven.take().filter(|unproven| unproven.record == record);
        let free = mine || record.holder.is_empty() || free_at <= now;
        self.observed = Some(ObservedLease { record, since });
        self.current = true;
        self.may_hold &= mine;
        if !mine {
            self.valid_until = None;
        } else if let Some(UnprovenWrite { sent, .. }) = proven {
            self.renewed_at(now, sent);
        }
        self.phase = match (self.stopping, mine, free) {
            (true, false, _) => ElectionPhase::Done,
            (true, true, _) | (false, _, true) => ElectionPhase::Writing { is_absent: false, has_read: true },
            (false, _, false) => match self.rest(now) {
                ElectionPhase::Waiting { until } => ElectionPhase::Waiting { until: until.min(free_at) },
                other => other,
            },
        };
    }

    /// A deleted lease does not end its holder's right: a process that observed the holder waits as if the lease still
    /// existed.
    fn absent(&mut self, now: Mono) {
        self.current = false;
        let other_holder = self.observed.as_ref().filter(|observed| {
            let holder = &observed.record.holder;
            !holder.is_empty()
                && *holder != self.identity
                && observed.since.plus(self.validity(&observed.record)) > now
        });
        self.phase = match (self.stopping, other_holder.is_some()) {
            (true, _) => ElectionPhase::Done,
            (false, true) => self.rest(now),
            (false, false) => ElectionPhase::Writing { is_absent: true, has_read: true },
        };
    }

    fn written(&mut self, now: Mono, sent: Mono, record: LeaseRecord) {
        self.observed = Some(ObservedLease { record, since: now });
        self.current = true;
        self.unproven = None;
        self.phase = if self.stopping {
            ElectionPhase::Done
        } else {
            ElectionPhase::Waiting { until: sent.plus(self.rules.retry) }
        };
        self.renewed_at(now, sent);
    }

    /// The write that was sent at this moment was done.
    fn renewed_at(&mut self, now: Mono, sent: Mono) {
        if !self.stopping {
            self.valid_until = Some(sent.plus(self.rules.renew));
            self.renewed = Some(sent);
        }
        self.lapse(now);
    }

    /// Writes a claim or, when stopping, a free lease.
    fn write(&mut self, now: Now, has_read: bool) -> ElectionAction {
        let absent = matches!(self.phase, ElectionPhase::Writing { is_absent: true, .. });
        let time = micro_time(now.wall);
        let record = if self.stopping {
            // client-go leaves one second behind: then a client that compares the lease with a clock finds it expired,
            // too.
            let transitions = self.record().map_or(0, |record| record.transitions);
            let duration = Span::from_secs(1);
            LeaseRecord {
                holder: String::new(),
                duration,
                acquired: time.clone(),
                renewed: time,
                transitions,
            }
        } else {
            let acquired = match self.record() {
                Some(record) if record.holder == self.identity && !absent => record.acquired.clone(),
                _ => time.clone(),
            };
            let (holder, duration) = (self.identity.clone(), self.rules.lease);
            LeaseRecord { holder, duration, acquired, renewed: time, transitions: self.terms() }
        };
        self.may_hold = true;
        self.current = false;
        // A wall clock that was set back may show the time of an earlier record again.
        let unique = now.wall > self.latest;
        self.latest = self.latest.max(now.wall);
        let claim = Some(LeaseClaim { record: record.clone(), unique });
        self.phase = ElectionPhase::InFlight { claim, sent: now.mono, has_read };
        if absent { ElectionAction::Create(record) } else { ElectionAction::Replace(record) }
    }

    /// The number of transitions once this process holds the lease.
    fn terms(&self) -> i32 {
        match self.record() {
            Some(record) if record.holder == self.identity => record.transitions,
            Some(record) => record.transitions.saturating_add(1),
            None => 0,
        }
    }

    /// How long a record is respected: for its own duration; without one, for the configured one.
    fn validity(&self, record: &LeaseRecord) -> Span {
        if record.duration == Span::ZERO { self.rules.lease } else { record.duration }
    }

    /// Ends an expired leadership.
    pub(super) fn lapse(&mut self, now: Mono) {
        if self.valid_until.is_some_and(|until| until <= now) {
            self.valid_until = None;
        }
    }

    /// Waits for the next attempt: client-go's spread of waiting times (factor 2.2), but ending at the retry period
    /// instead of starting there, so that a released lease has a new holder within one period (L8). A release is
    /// urgent.
    fn rest(&mut self, from: Mono) -> ElectionPhase {
        let longest = self.rules.retry.as_micros();
        let shortest = longest / 11 * 5;
        let spread = (longest - shortest).unsigned_abs().max(1);
        let chance = i64::try_from(self.rng.next() % spread).unwrap_or(0);
        let wait = if self.stopping { longest / 10 } else { shortest + chance };
        ElectionPhase::Waiting { until: from.plus(Span::from_micros(wait)) }
    }
}

#[cfg(test)]
mod tests;
