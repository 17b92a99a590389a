//! Random histories of rejections: several kinds of them, of all requests or of one verb, everywhere or in one namespace,
//! always or often, overlap and end. Every pod that became due meanwhile leaves soon after the last one, and no more
//! requests are sent than a throttling server can serve.

use crate::fleet::{Dice, Fleet};
use std::collections::BTreeSet;
use taintward_core::api_error::ApiFailure;
use taintward_core::eviction::EvictionEffect;
use taintward_core::time::Span;

/// How late the last pod may leave after the first request that succeeds, in addition to what the server asked for.
const LATE_MAX: f64 = 5.0;

/// The longest `Retry-After`, in seconds.
const REQUESTED_MAX: u64 = 3;

const HISTORIES: u64 = 40;
const NAMESPACES: [&str; 3] = ["a", "b", "c"];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RejectedVerb {
    Read,
    Mark,
    Delete,
}

impl RejectedVerb {
    const fn of(effect: &EvictionEffect) -> Self {
        match effect {
            EvictionEffect::ReadNode { .. } | EvictionEffect::ReadPod { .. } => Self::Read,
            EvictionEffect::SetDisruptionTarget { .. } | EvictionEffect::ClearDisruptionTarget { .. } => {
                Self::Mark
            }
            EvictionEffect::DeletePod { .. } | EvictionEffect::EvictPod { .. } => Self::Delete,
        }
    }
}

/// From one second to another, so many in ten requests fail that way.
#[derive(Debug)]
struct Rejections {
    from: f64,
    to: f64,
    failure: ApiFailure,
    verb: Option<RejectedVerb>,
    namespace: Option<&'static str>,
    in_ten: u64,
}

impl Rejections {
    fn any(dice: &mut Dice) -> Self {
        let failure = match dice.below(5) {
            0 => ApiFailure::Forbidden,
            1 => ApiFailure::Throttled(Some(Span::from_secs(1 + dice.below(REQUESTED_MAX).cast_signed()))),
            2 => ApiFailure::Throttled(None),
            3 => ApiFailure::Rejected,
            _ => ApiFailure::Unavailable,
        };
        let verb = [None, Some(RejectedVerb::Read), Some(RejectedVerb::Mark), Some(RejectedVerb::Delete)]
            [dice.below(4) as usize];
        let namespace = (dice.below(2) == 0).then(|| NAMESPACES[dice.below(3) as usize]);
        let from = 3.0 + dice.below(25) as f64;
        let to = from + 2.0 + dice.below(30) as f64 + dice.below(100) as f64 / 100.0;
        Self { from, to, failure, verb, namespace, in_ten: if dice.below(3) == 0 { 7 } else { 10 } }
    }

    fn hits(&self, now: f64, effect: &EvictionEffect, dice: &mut Dice) -> bool {
        let namespace = match effect {
            EvictionEffect::ReadNode { .. } => None,
            EvictionEffect::ReadPod { name, .. }
            | EvictionEffect::SetDisruptionTarget { name, .. }
            | EvictionEffect::DeletePod { name, .. }
            | EvictionEffect::EvictPod { name, .. }
            | EvictionEffect::ClearDisruptionTarget { name, .. } => Some(name.namespace()),
        };
        (self.from..self.to).contains(&now)
            && self.verb.is_none_or(|verb| verb == RejectedVerb::of(effect))
            && self.namespace.is_none_or(|rejected| namespace == Some(rejected))
            && dice.below(10) < self.in_ten
    }
}

const fn kind(failure: ApiFailure) -> &'static str {
    match failure {
        ApiFailure::Forbidden => "403",
        ApiFailure::Throttled(_) => "429",
        ApiFailure::Rejected => "denied",
        ApiFailure::Budget => "budget",
        ApiFailure::Unavailable => "5xx",
        ApiFailure::NotFound | ApiFailure::Conflict => "no refusal",
    }
}

#[test]
fn after_any_refusals_every_due_pod_leaves_soon() {
    let (mut rejected, mut latest) = (BTreeSet::new(), 0.0_f64);
    for seed in 1..=HISTORIES {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let failures: Vec<Rejections> = (0..1 + dice.below(4)).map(|_| Rejections::any(&mut dice)).collect();
        let end = failures.iter().map(|one| one.to).fold(0.0, f64::max);
        let (nodes, count) = (1 + dice.below(6) as usize, 10 + dice.below(60));
        let any_pod =
            |dice: &mut Dice| (NAMESPACES[dice.below(3) as usize], 2 + dice.below(50).cast_signed());
        let pods: Vec<_> = (0..count).map(|_| any_pod(&mut dice)).collect();
        let mut fleet = Fleet::new(nodes, &pods);
        fleet.run(end + 20.0, |fleet, effect| {
            let failure = failures.iter().find(|one| one.hits(fleet.now, effect, &mut dice));
            let failure = failure.map(|one| one.failure);
            rejected.extend(failure.map(|failure| (kind(failure), RejectedVerb::of(effect))));
            (failure, 0.01 + dice.below(20) as f64 / 1000.0)
        });
        let late = fleet.last_left(end) - (fleet.first_success(end) - end).min(2.0);
        assert!(late <= LATE_MAX + REQUESTED_MAX as f64, "seed {seed}: {late} s after {failures:?}");
        latest = latest.max(late);
        let rate = fleet.rate_max(0.0, end);
        assert!(rate <= 100 + pods.len(), "seed {seed}: {rate} requests in a second of {failures:?}");
        assert!(fleet.half_deleted.is_empty(), "no DELETE was carried out in part");
    }
    println!("at most {latest} s late");
    assert_eq!(rejected.len(), 4 * 3, "each kind of refusal of each verb occurs: {rejected:?}");
}
