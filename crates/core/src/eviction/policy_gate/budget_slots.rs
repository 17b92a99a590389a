//! Sends one eviction at a time for each disruption budget, so that a budget is used fully and never raced.

use crate::backoff::jitter;
use crate::eviction_policy::BudgetFact;
use crate::identity::{PodRef, Uid};
use crate::time::{Mono, Span};
use alloc::collections::BTreeMap;

/// How long the first pod waits after the API server rejected an eviction because of a budget, unless the budget's status
/// changes before; it doubles up to the maximum.
const REJECTED_PAUSE: Span = Span::from_secs(5);
const REJECTED_PAUSE_MAX: Span = Span::from_secs(60);

/// What is known about a budget beyond its object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct BudgetSlot {
    /// The pod whose eviction may be in flight.
    holder: Option<PodRef>,
    /// For pods that are ready.
    ready: BudgetPause,
    /// For pods that are not: the eviction API may let them go although the budget allows no disruption.
    unready: BudgetPause,
}

/// For how long no pod of a kind is tried.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct BudgetPause {
    /// No eviction is tried before this moment.
    closed_until: Option<Mono>,
    /// How often the budget has rejected such pods since its object changed.
    rejections: u32,
}

impl BudgetSlot {
    const fn pause(&mut self, is_ready: bool) -> &mut BudgetPause {
        if is_ready { &mut self.ready } else { &mut self.unready }
    }
}

/// Every budget that an eviction had to do with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct BudgetSlots {
    budgets: BTreeMap<Uid, BudgetSlot>,
    /// Pods that a budget rejected although none is known that selects them: it cannot be decoded, or its watch is late.
    unknown: BTreeMap<PodRef, Rejections>,
}

/// The rejections of a pod by budgets that are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Rejections {
    count: u32,
    /// No eviction is tried before this moment.
    closed_until: Mono,
}

impl BudgetSlots {
    /// Whether the eviction of a pod, or of any, may be tried now; otherwise from when on, if time alone allows it.
    pub(crate) fn is_open(
        &mut self,
        fact: &BudgetFact,
        is_ready: bool,
        pod: Option<&PodRef>,
        now: Mono,
    ) -> Result<(), Option<Mono>> {
        let slot = self.budgets.entry(fact.uid.clone()).or_default();
        match &slot.holder {
            Some(holder) if Some(holder) != pod => return Err(None),
            Some(_) => return Ok(()),
            None => {}
        }
        let pause = slot.pause(is_ready);
        match (pause.closed_until, fact.allowed) {
            (Some(until), _) if until <= now => Ok(()),
            (Some(until), _) => Err(Some(until)),
            (None, Some(0)) if is_ready => {
                let until = now.plus(REJECTED_PAUSE);
                pause.closed_until = Some(until);
                Err(Some(until))
            }
            (None, _) => Ok(()),
        }
    }

    /// The eviction of this pod is tried.
    pub(crate) fn take(&mut self, budget: &Uid, pod: &PodRef) {
        self.budgets.entry(budget.clone()).or_default().holder = Some(pod.clone());
    }

    /// The eviction of a pod is not in flight any more. Returns whether it was.
    pub(crate) fn give_back(&mut self, budget: &Uid, pod: &PodRef) -> bool {
        let slot = self.budgets.get_mut(budget).filter(|slot| slot.holder.as_ref() == Some(pod));
        slot.is_some_and(|slot| slot.holder.take().is_some())
    }

    /// The budget rejected the eviction of a pod: returns when the next one is tried.
    pub(crate) fn reject(&mut self, budget: &Uid, is_ready: bool, pod: &PodRef, now: Mono) -> Mono {
        let closed = self.budgets.entry(budget.clone()).or_default().pause(is_ready);
        let until = now.plus(pause(pod, closed.rejections));
        closed.rejections = closed.rejections.saturating_add(1);
        closed.closed_until = Some(until);
        until
    }

    /// A budget rejected the eviction of a pod that no known budget selects: returns when the next one is tried.
    pub(crate) fn reject_unknown(&mut self, pod: &PodRef, now: Mono) -> Mono {
        let count = self.unknown.get(pod).map_or(0, |rejections| rejections.count);
        let closed_until = now.plus(pause(pod, count));
        self.unknown.insert(pod.clone(), Rejections { count: count.saturating_add(1), closed_until });
        closed_until
    }

    /// Until when the eviction of a pod that no known budget selects is not tried.
    pub(crate) fn unknown_until(&self, pod: &PodRef, now: Mono) -> Option<Mono> {
        self.unknown.get(pod).map(|rejections| rejections.closed_until).filter(|until| *until > now)
    }

    /// A pod is gone, or a known budget selects it.
    pub(crate) fn forget_unknown(&mut self, pod: &PodRef) {
        self.unknown.remove(pod);
    }

    /// The object of the budget has changed, or is gone.
    pub(crate) fn budget_changed(&mut self, budget: &Uid) {
        if let Some(slot) = self.budgets.get_mut(budget) {
            (slot.ready, slot.unready) = (BudgetPause::default(), BudgetPause::default());
            if slot.holder.is_none() {
                self.budgets.remove(budget);
            }
        }
    }
}

/// The pause after so many rejections.
fn pause(pod: &PodRef, before: u32) -> Span {
    let pause = REJECTED_PAUSE.as_micros().saturating_mul(1 << before.min(8));
    let pause = pause.min(REJECTED_PAUSE_MAX.as_micros());
    let share = i64::from(jitter(pod.node.as_str(), &pod.uid, before));
    Span::from_micros(pause - pause / 4 * share / 1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::pod_ref;
    use alloc::format;
    use alloc::vec::Vec;

    /// By at most a quarter shorter, so that pods of one budget are not all tried at the same moment.
    #[test]
    fn pauses_double_up_to_a_minute_and_are_spread() {
        for (before, seconds) in [(0, 5), (1, 10), (2, 20), (3, 40), (4, 60), (5, 60), (40, 60)] {
            let longest = Span::from_secs(seconds).as_micros();
            let pauses: Vec<i64> =
                (0..64).map(|pod| pause(&pod_ref(&format!("{pod}")), before).as_micros()).collect();
            assert!(
                pauses.iter().all(|pause| (longest / 4 * 3..=longest).contains(pause)),
                "{before}: {pauses:?}"
            );
            let (least, most) = (pauses.iter().min(), pauses.iter().max());
            let spread = most.zip(least).map(|(most, least)| most - least);
            assert!(spread.is_some_and(|spread| spread > longest / 8), "{before}: {pauses:?}");
        }
    }

    #[test]
    fn a_pod_of_no_known_budget_waits_until_the_moment_and_is_forgotten() {
        let (mut slots, pod) = (BudgetSlots::default(), pod_ref("a"));
        assert_eq!(slots.unknown_until(&pod, Mono::from_secs(0)), None);
        let first = slots.reject_unknown(&pod, Mono::from_secs(0));
        assert_eq!(slots.unknown_until(&pod, first.minus(Span::from_micros(1))), Some(first));
        assert_eq!(slots.unknown_until(&pod, first), None);
        let second = slots.reject_unknown(&pod, first);
        assert!(second.since(first) > first.since(Mono::from_secs(0)), "the pause grows");
        slots.forget_unknown(&pod);
        assert_eq!(slots.reject_unknown(&pod, first), first.plus(first.since(Mono::from_secs(0))));
    }
}
