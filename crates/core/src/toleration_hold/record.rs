//! Defines the record of a held pod: each toleration's own seconds, and the order by which it is held.
//!
//! - Invariant: a toleration that another writer changed meanwhile is no longer in the record; it is dropped, never
//!   overwritten.

use super::{HoldOrder, HoldOrigin};
use crate::taint::TaintEffect;
use crate::time::{Span, Wall};
use crate::toleration::{Toleration, TolerationOperator};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// A released pod gets at least this many seconds, or its own if those are fewer.
pub const REMAINDER_MIN: i64 = 30;

/// A toleration with its own seconds, and those that Taintward has set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct HoldRecord {
    pub(super) order: Option<HoldOrder>,
    pub(super) changed: Wall,
    pub(super) ran: Span,
    pub(super) counted_since: Option<Wall>,
    pub(super) tolerations: Vec<HeldToleration>,
}

impl HoldRecord {
    /// Makes the record of an annotation.
    pub const fn recorded(
        tolerations: Vec<HeldToleration>,
        order: Option<HoldOrder>,
        changed: Wall,
        ran: Span,
        counted_since: Option<Wall>,
    ) -> Self {
        Self { order, changed, ran, counted_since, tolerations }
    }

    /// The order by which the pod is held; `None`: it was released, or its own seconds come back after a pause.
    pub const fn order(&self) -> Option<HoldOrder> {
        self.order
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

    /// The fewest seconds that a toleration of a held pod gets at its release, if its node is silent as it was.
    pub fn remaining_seconds(&self) -> i64 {
        let remainders = self.tolerations.iter().map(|held| held.remainder(self.ran));
        remainders.min().unwrap_or_default()
    }

    /// Returns these tolerations, and of a released pod with the seconds from the begin of the countdown that was held
    /// to its deadline: what it got back counts from its release.
    pub fn counted_from_taint(&self, mut tolerations: Vec<Toleration>) -> Vec<Toleration> {
        let Some(since) = self.counted_since else { return tolerations };
        let before = (self.changed.as_micros() - since.as_micros()).max(0) / Span::from_secs(1).as_micros();
        for held in &self.tolerations {
            if let (Some(at), Some(given)) = (held.position_in(&tolerations), held.given)
                && tolerations[at].seconds == Some(given)
            {
                tolerations[at].seconds = Some(given.saturating_add(before));
            }
        }
        tolerations
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

    /// Whether this countdown is not the one that the record is about: the node became silent again.
    pub(super) fn is_other_silence(&self, counts_since: Option<Wall>) -> bool {
        counts_since.is_some() && self.counted_since != counts_since
    }

    /// The record of a held pod under this order. The limit holds a pod once each time its node becomes silent: within
    /// one silence its hold may end earlier than recorded, never later.
    pub(super) fn held_by(&self, order: HoldOrder, counts_since: Option<Wall>, now: Wall) -> Self {
        let is_other_silence = self.is_other_silence(counts_since);
        let stays = |recorded: HoldOrder| match (recorded.origin, order.origin) {
            (HoldOrigin::Limit, HoldOrigin::Limit) => {
                !is_other_silence && recorded.ends_at() <= order.ends_at()
            }
            _ => recorded == order,
        };
        if self.order.filter(|recorded| recorded.has_begun(now)).is_some_and(stays) {
            return self.clone();
        }
        let held = Self { order: Some(order), ..self.clone() };
        // Without seconds, the new countdown does not run.
        if is_other_silence { held.with_ran(Span::ZERO, counts_since) } else { held }
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

    /// Gives each toleration these seconds, or removes its seconds.
    pub(super) fn with_given(mut self, given: impl Fn(&HeldToleration) -> Option<i64>) -> Self {
        for held in &mut self.tolerations {
            held.given = given(held);
        }
        self
    }

    /// Sets for how long the countdown that counts since then has run.
    pub(super) fn with_ran(self, ran: Span, counted_since: Option<Wall>) -> Self {
        Self { ran, counted_since, ..self }
    }

    /// Returns each toleration's position in the pod's list, and the seconds that the record sets.
    pub(super) fn seconds_in(&self, tolerations: &[Toleration]) -> Vec<(usize, Option<i64>)> {
        self.tolerations
            .iter()
            .filter_map(|held| Some((held.position_in(tolerations)?, held.given)))
            .collect()
    }
}
