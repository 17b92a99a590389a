//! Plans the episodes: which faults happen, and how long they last, by the seed and the number of an episode alone.

use super::campaign_fault::CampaignFault;
use fastrand::Rng;
use std::time::Duration;

/// How many in a hundred episodes have a second fault.
const SECOND: u32 = 25;

/// The time of changes before and after the fault, at least.
const AROUND: Duration = Duration::from_millis(1_000);

/// An episode.
#[derive(Debug, PartialEq)]
pub(crate) struct EpisodePlan {
    pub(crate) faults: Vec<CampaignFault>,
    /// From the start of the controller to the fault.
    pub(crate) before: Duration,
    pub(crate) lasts: Duration,
    /// From the end of the fault to the last change.
    pub(crate) after: Duration,
    /// For what happens in it.
    pub(crate) seed: u64,
}

impl EpisodePlan {
    /// The plan of the episode with this number. Faults take turns, so that each has its share.
    pub(crate) fn of(seed: u64, number: u64, faults: &[CampaignFault]) -> Self {
        let mut rng = Rng::with_seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(number));
        let turn = usize::try_from(number).unwrap_or(usize::MAX) % faults.len();
        let first = faults[turn];
        let mut chosen = vec![first];
        let seconds: Vec<_> =
            faults.iter().filter(|fault| fault.may_be_second() && **fault != first).collect();
        if first.may_be_first() && rng.u32(..100) < SECOND && !seconds.is_empty() {
            let second = *seconds[rng.usize(..seconds.len())];
            chosen.extend(first.allows(second).then_some(second));
        }
        let milliseconds = match first {
            // Longer than the lease, which lasts 15 s.
            CampaignFault::LeaderPaused => rng.u64(16_000..19_000),
            _ => rng.u64(1_500..6_000),
        };
        Self {
            faults: chosen,
            before: AROUND + Duration::from_millis(rng.u64(..1_000)),
            lasts: Duration::from_millis(milliseconds),
            after: AROUND + Duration::from_millis(rng.u64(..1_000)),
            seed: rng.u64(..),
        }
    }

    /// The row of the table that it belongs to.
    pub(crate) fn row(&self) -> String {
        match *self.faults {
            [one] => one.describe().1,
            _ => "two faults at once".to_owned(),
        }
    }

    /// Its faults by their names.
    pub(crate) fn names(&self) -> String {
        self.faults.iter().map(|fault| fault.describe().0).collect::<Vec<_>>().join("+")
    }

    pub(crate) fn any(&self, is: impl Fn(CampaignFault) -> bool) -> bool {
        self.faults.iter().any(|fault| is(*fault))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum as _;
    use std::collections::BTreeSet;

    #[test]
    fn a_plan_follows_from_its_number_and_all_faults_take_turns() {
        let faults = CampaignFault::value_variants();
        let plan = |number| EpisodePlan::of(1, number, faults);
        let all: Vec<_> = (0..200).map(plan).collect();
        assert_eq!(all, (0..200).map(plan).collect::<Vec<_>>());
        assert_ne!(all[0].seed, EpisodePlan::of(2, 0, faults).seed);
        let firsts: BTreeSet<_> = all[..faults.len()].iter().map(|plan| plan.faults[0]).collect();
        assert_eq!(firsts.len(), faults.len());
        let both = all.iter().filter(|plan| plan.faults.len() == 2).count();
        assert!((15..60).contains(&both), "{both}");
    }

    #[test]
    fn a_paused_leader_loses_its_lease() {
        let plan = EpisodePlan::of(1, 0, &[CampaignFault::LeaderPaused]);
        assert!(plan.lasts > Duration::from_secs(15), "{plan:?}");
    }
}
