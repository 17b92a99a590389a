//! Spaces evictions evenly, so that no minute has more of them than a policy allows.

use crate::identity::{PodRef, Uid};
use crate::time::{Mono, Span};
use alloc::collections::{BTreeMap, BTreeSet};

/// The evictions of a policy.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Rate {
    /// The next one may be sent at this moment.
    next_at: Mono,
    /// The pod whose eviction was sent last, and when the next one could have been sent without it.
    last: Option<(PodRef, Mono)>,
    /// Pods that may be evicted, and whose request has not been sent yet.
    pending: BTreeSet<PodRef>,
}

/// The evictions of every policy that limits them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Rates(BTreeMap<Uid, Rate>);

/// The interval between two evictions: the first of `per_minute` intervals that together last a minute or longer.
fn interval(per_minute: u32) -> Span {
    let minute = Span::from_secs(60).as_micros();
    Span::from_micros((minute + i64::from(per_minute) - 1) / i64::from(per_minute.max(1)))
}

/// How many pods may prepare their eviction at once: those of a second, and one more.
fn pending_max(per_minute: u32) -> usize {
    1 + per_minute as usize / 60
}

impl Rates {
    /// A policy limits evictions. Another process may have sent one just before.
    pub(crate) fn begin(&mut self, policy: &Uid, per_minute: u32, now: Mono) {
        let next_at = now.plus(interval(per_minute));
        self.0.entry(policy.clone()).or_insert(Rate { next_at, last: None, pending: BTreeSet::new() });
    }

    /// Whether another pod may prepare its eviction; otherwise from when on, if time alone allows it.
    pub(crate) fn is_open(&self, policy: &Uid, per_minute: u32, now: Mono) -> Result<(), Option<Mono>> {
        let Some(rate) = self.0.get(policy) else { return Err(None) };
        match rate.pending.len() < pending_max(per_minute) {
            true if rate.next_at <= now => Ok(()),
            true => Err(Some(rate.next_at)),
            false => Err(None),
        }
    }

    /// A pod prepares its eviction.
    pub(crate) fn prepare(&mut self, policy: &Uid, pod: &PodRef) {
        self.0.get_mut(policy).into_iter().for_each(|rate| _ = rate.pending.insert(pod.clone()));
    }

    /// A pod does not prepare its eviction any more.
    pub(crate) fn forget(&mut self, policy: &Uid, pod: &PodRef) -> bool {
        self.0.get_mut(policy).is_some_and(|rate| rate.pending.remove(pod))
    }

    /// Whether the eviction of a pod may be sent now, and counts as sent; otherwise when.
    pub(crate) fn send(
        &mut self,
        policy: &Uid,
        pod: &PodRef,
        per_minute: u32,
        now: Mono,
    ) -> Result<(), Mono> {
        let Some(rate) = self.0.get_mut(policy) else { return Ok(()) };
        if now < rate.next_at {
            return Err(rate.next_at);
        }
        rate.last = Some((pod.clone(), rate.next_at));
        rate.next_at = now.plus(interval(per_minute));
        Ok(())
    }

    /// A budget rejected the eviction of a pod: it does not count as sent. Returns whether the next one may be sent earlier.
    pub(crate) fn reject(&mut self, policy: &Uid, pod: &PodRef) -> bool {
        let Some(rate) = self.0.get_mut(policy) else { return false };
        let Some((_, next_at)) = rate.last.take_if(|(last, _)| last == pod) else { return false };
        rate.next_at = next_at;
        true
    }

    /// Another process evicts a pod.
    pub(crate) fn observe(&mut self, policy: &Uid, per_minute: u32, now: Mono) {
        let next_at = now.plus(interval(per_minute));
        let Some(rate) = self.0.get_mut(policy) else { return };
        (rate.next_at, rate.last) = (rate.next_at.max(next_at), None);
    }

    /// Policies without a limit, or that are gone, are forgotten.
    pub(crate) fn retain(&mut self, is_limited: impl Fn(&Uid) -> bool) {
        self.0.retain(|policy, _| is_limited(policy));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::pod_ref;

    /// Rounded up: no minute has more.
    #[test]
    fn evictions_are_spaced_evenly() {
        let seconds = [(1, 60_000_000), (7, 8_571_429), (60, 1_000_000), (600, 100_000), (0, 59_999_999)];
        for (per_minute, micros) in seconds {
            assert_eq!(interval(per_minute), Span::from_micros(micros), "{per_minute}");
        }
        assert_eq!([1, 59, 60, 120, 600].map(pending_max), [1, 1, 2, 3, 11]);
    }

    #[test]
    fn the_rate_of_a_policy_that_limits_no_more_begins_anew() {
        let (mut rates, policy) = (Rates::default(), Uid::new("p"));
        rates.begin(&policy, 60, Mono::from_secs(0));
        rates.prepare(&policy, &pod_ref("a"));
        assert_eq!(rates.send(&policy, &pod_ref("a"), 60, Mono::from_secs(10)), Ok(()));
        rates.retain(|_| true);
        assert_eq!(rates.is_open(&policy, 60, Mono::from_secs(10)), Err(Some(Mono::from_secs(11))));
        rates.retain(|uid| *uid != policy);
        assert_eq!(rates.is_open(&policy, 60, Mono::from_secs(10)), Err(None));
        rates.begin(&policy, 60, Mono::from_secs(20));
        assert!(!rates.forget(&policy, &pod_ref("a")), "nothing is left of before");
    }
}
