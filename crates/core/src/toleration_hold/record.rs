//! Defines the record of a held pod: each toleration's own seconds, and since and until when it is held.
//!
//! - Invariant: a toleration that another writer changed meanwhile is no longer in the record; it is dropped, never
//!   overwritten.

use super::{HoldOrder, HoldOrigin};
use crate::taint::TaintEffect;
use crate::time::{Span, Wall};
use crate::toleration::{Toleration, TolerationOperator};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// The maximum length of a hold, whatever its record says: a forged one ends, too.
pub const MAX_HOLD: Span = Span::from_secs(24 * 60 * 60);

/// How far in the future a time written as "now" may be when it is read: clocks step back a little when they are set. A
/// time further in the future is forged.
pub(super) const CLOCK_STEP_MAX: Span = Span::from_secs(30);

/// A released pod gets at least this many seconds, or its own if those are fewer.
pub const REMAINDER_MIN: i64 = 30;

/// A toleration with its own seconds, and those that Taintward has set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HeldToleration {
    key: Box<str>,
    operator: TolerationOperator,
    value: Box<str>,
    effect: Option<TaintEffect>,
    own: i64,
    given: Option<i64>,
}

impl HeldToleration {
    /// Makes it from a toleration that has seconds.
    pub fn of(toleration: &Toleration) -> Option<Self> {
        let Toleration { key, operator, value, effect, seconds } = toleration.clone();
        Some(Self { key, operator, value, effect, own: seconds?, given: seconds })
    }

    /// Makes it from a record: the toleration with its own seconds, and the seconds it has now (`None`: held).
    pub fn recorded(toleration: &Toleration, given: Option<i64>) -> Option<Self> {
        Self::of(toleration).map(|held| Self { given, ..held })
    }

    /// Its own seconds.
    pub const fn own(&self) -> i64 {
        self.own
    }

    /// The seconds it has now; `None` while it is held.
    pub const fn given(&self) -> Option<i64> {
        self.given
    }

    /// The toleration with its own seconds.
    pub fn toleration(&self) -> Toleration {
        let Self { key, operator, value, effect, own, .. } = self.clone();
        Toleration { key, operator, value, effect, seconds: Some(own) }
    }

    /// Returns what it gets back after its countdown ran for this long: whole seconds, rounded up.
    pub(super) fn remainder(&self, ran: Span) -> i64 {
        let ran = ran.as_micros() / Span::from_secs(1).as_micros();
        self.own.saturating_sub(ran).max(self.own.min(REMAINDER_MIN))
    }

    /// Whether it is the same toleration, with at least as many seconds of its own.
    pub(crate) fn continues(&self, earlier: &Self) -> bool {
        let Self { own, given, .. } = *earlier;
        Self { own, given, ..self.clone() } == *earlier && self.own >= own
    }

    /// Whether the pod has it with the recorded seconds.
    pub(crate) fn is_in(&self, tolerations: &[Toleration]) -> bool {
        self.position_in(tolerations).is_some_and(|at| tolerations[at].seconds == self.given)
    }

    /// Returns the position of the first toleration with this identity: of equal ones, only the first counts (MATCH-9).
    pub(crate) fn position_in(&self, tolerations: &[Toleration]) -> Option<usize> {
        tolerations.iter().position(|one| {
            one.key == self.key
                && one.operator == self.operator
                && one.value == self.value
                && one.effect == self.effect
        })
    }
}

/// The annotation of a held or released pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HoldRecord {
    since: Wall,
    until: Wall,
    changed: Wall,
    ran: Span,
    counted_since: Option<Wall>,
    tolerations: Vec<HeldToleration>,
}

impl HoldRecord {
    pub(super) const fn new(tolerations: Vec<HeldToleration>, since: Wall, until: Wall) -> Self {
        Self { since, until, changed: since, ran: Span::ZERO, counted_since: None, tolerations }
    }

    /// Makes the record of an annotation; `changed` is when the seconds were last written.
    pub const fn recorded(
        tolerations: Vec<HeldToleration>,
        [since, until, changed]: [Wall; 3],
        ran: Span,
        counted_since: Option<Wall>,
    ) -> Self {
        Self { since, until, changed, ran, counted_since, tolerations }
    }

    /// Since when the pod is or was held.
    pub const fn since(&self) -> Wall {
        self.since
    }

    /// The end of the hold when the record was written.
    pub const fn until(&self) -> Wall {
        self.until
    }

    /// When the seconds were last written.
    pub const fn changed(&self) -> Wall {
        self.changed
    }

    /// For how long the countdown had already run.
    pub const fn ran(&self) -> Span {
        self.ran
    }

    /// Since when the countdown of [`Self::ran`] counted; `None`: the node was not silent.
    pub const fn counted_since(&self) -> Option<Wall> {
        self.counted_since
    }

    /// The tolerations in the record.
    pub fn tolerations(&self) -> &[HeldToleration] {
        &self.tolerations
    }

    /// Whether the pod has seconds again.
    pub fn is_released(&self) -> bool {
        self.tolerations.iter().any(|held| held.given.is_some())
    }

    /// Whether these still have other seconds than their own because of this record.
    pub(crate) fn still_applies(&self, tolerations: &[Toleration]) -> bool {
        !self.has_own_seconds() && self.names_any_of(tolerations)
    }

    /// Whether one of these has the seconds that this record says.
    pub(crate) fn names_any_of(&self, tolerations: &[Toleration]) -> bool {
        self.tolerations.iter().any(|held| held.is_in(tolerations))
    }

    /// Whether these have the seconds that this record says.
    pub(crate) fn is_kept_by(&self, tolerations: &[Toleration]) -> bool {
        self.tolerations.iter().all(|held| held.is_in(tolerations))
    }

    /// Whether this record, which replaced an earlier one of a pod with these tolerations, names all that is left of
    /// the earlier one, with no fewer seconds. Additional ones may come from another leader; accepting them lets two
    /// processes agree.
    pub(crate) fn continues(&self, earlier: &Self, tolerations: &[Toleration]) -> bool {
        let is_named = |held: &HeldToleration| self.tolerations.iter().any(|one| one.continues(held));
        earlier.without_changed_by_others(tolerations).tolerations.iter().all(is_named)
    }

    /// When this pod's hold ends under this order. An administrator's newer order may prolong it, and any order may
    /// shorten it. A record that claims to start in the future ends now, unless a clock may have stepped back.
    pub fn ends_at(&self, order: HoldOrder, now: Wall) -> Wall {
        if self.since > now.plus(CLOCK_STEP_MAX) {
            return now;
        }
        let own = if order.origin == HoldOrigin::Person { order.until } else { self.until.min(order.until) };
        own.min(self.since.plus(MAX_HOLD))
    }

    pub(super) fn has_own_seconds(&self) -> bool {
        self.tolerations.iter().all(|held| held.given == Some(held.own))
    }

    /// Keeps the tolerations that the pod still has as recorded.
    pub(super) fn without_changed_by_others(&self, tolerations: &[Toleration]) -> Self {
        let mut record = self.clone();
        record.tolerations.retain(|held| held.is_in(tolerations));
        record
    }

    pub(super) fn with_given(&self, now: Wall, given: impl Fn(&HeldToleration) -> Option<i64>) -> Self {
        self.clone().with_given_unchanged(given).changed_at(now)
    }

    pub(super) fn with_given_unchanged(mut self, given: impl Fn(&HeldToleration) -> Option<i64>) -> Self {
        for held in &mut self.tolerations {
            held.given = given(held);
        }
        self
    }

    pub(super) fn changed_at(self, now: Wall) -> Self {
        Self { changed: now, ..self }
    }

    /// Sets for how long the countdown that counts since then has run.
    pub(super) fn with_ran(&self, ran: Span, counted_since: Option<Wall>) -> Self {
        Self { ran, counted_since, ..self.clone() }
    }

    /// The record of another hold.
    pub(super) fn again(&self, now: Wall, until: Wall) -> Self {
        Self { since: now, until, changed: now, ..self.clone() }
    }

    /// Returns each toleration's position in the pod's list, and the seconds that the record sets.
    pub(super) fn seconds_in(&self, tolerations: &[Toleration]) -> Vec<(usize, Option<i64>)> {
        self.tolerations
            .iter()
            .filter_map(|held| Some((held.position_in(tolerations)?, held.given)))
            .collect()
    }
}
