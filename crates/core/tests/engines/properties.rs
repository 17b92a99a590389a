//! Tests properties of the eviction engine with random sequences of commands.
//!
//! - `PROPTEST_CASES` sets the number of cases.
//! - See `common/cluster.rs` for the exact rule, `common/storm.rs` for the loop around the engine.

mod chaos;
pub(crate) mod commands;
mod equality;

use crate::cases::cases;
use crate::common::cluster::SECOND;
use crate::common::storm::{Storm, WINDOW};
use commands::{EvictionCommand, calm, perform, restarting, stormy, wrong_clocks};
use proptest::prelude::*;
use proptest::test_runner::Config as Runs;
use taintward_core::eviction::EvictionConfig;
use taintward_core::fact::PodLifePhase;
use taintward_core::verdict::Outcome;

fn runs() -> Runs {
    Runs { max_shrink_iters: 20_000, ..cases(2_000) }
}

/// Longer than every finite toleration period in a test.
const DAYS: i64 = 40 * 86_400 * SECOND;

/// Nothing is in progress, nothing is due, and every known pod exists.
fn assert_rest(storm: &Storm) {
    let census = storm.engine.stats();
    assert_eq!((census.due, census.in_hand, storm.in_flight()), (0, 0, 0), "{census:?}");
    assert!(census.pods <= storm.cluster.pods.len() && census.nodes <= storm.cluster.nodes.len());
}

proptest! {
    #![proptest_config(runs())]

    /// L1, D2, TE-25, NL-48: without faults, a pod is evicted exactly at the instant at which it is due, and every
    /// other pod stays.
    #[test]
    fn in_calm_every_pod_is_evicted_exactly_when_due(commands in calm()) {
        let mut storm = Storm::new(EvictionConfig::default(), 0);
        storm.grace = Some(0);
        for command in commands {
            perform(&mut storm, command);
        }
        storm.pass(DAYS);
        assert_rest(&storm);
        storm.hold(false);
        storm.pass(DAYS);
        assert_rest(&storm);
        for deleted in &storm.cluster.deleted {
            assert!(deleted.due.is_some_and(|due| due <= deleted.at));
        }
    }

    /// S4, L3: restarts move no deadline earlier (the cluster would panic), and none later by more than a second if
    /// there is a `timeAdded`.
    #[test]
    fn restarts_move_no_deadline(commands in restarting()) {
        let mut storm = Storm::new(EvictionConfig::default(), 0);
        storm.grace = Some(SECOND);
        for command in commands {
            perform(&mut storm, command);
        }
        assert_same_plan(&storm);
        storm.pass(DAYS);
        assert_rest(&storm);
    }

    /// S3, S4, L5: whatever a new process' wall clock shows, no pod is evicted early because of it (the cluster would
    /// panic), nor later than by twice the clock's maximum error and a second. A process to which the server's clock is
    /// unknown counts from its first observation.
    #[test]
    fn wrong_clocks_evict_no_pod_early_or_late_without_bounds(commands in wrong_clocks()) {
        let mut storm = Storm::new(EvictionConfig::default(), 0);
        let skew = |command: &EvictionCommand| match command {
            EvictionCommand::Clock { ahead, more } => more.map(|more| (ahead.abs() + more) * 1_000),
            _ => Some(0),
        };
        let skew_max = commands.iter().map(skew).try_fold(0, |most, skew| Some(most.max(skew?)));
        storm.grace = skew_max.map(|skew_max| SECOND + 2 * skew_max);
        for command in commands {
            perform(&mut storm, command);
        }
        storm.pass(DAYS);
        assert_rest(&storm);
        assert_eq!(storm.overdue(0).filter(|due| *due <= storm.cluster.now).count(), 0, "L1");
    }

    /// S1, S2, S3, S10, S11, D5 hold at every commit (the cluster panics otherwise), whatever goes wrong; and when
    /// nothing goes wrong any more, all pods that must be evicted are gone (L1, L2, L4), and no remaining pod has a
    /// mark (S9).
    #[test]
    fn in_a_storm_no_pod_is_evicted_early_and_in_the_end_all_due_pods_are(
        commands in stormy(),
        tape in prop::collection::vec(any::<u8>(), 0..120),
    ) {
        let mut storm = Storm::new(EvictionConfig::default(), WINDOW);
        storm.tape = tape.into();
        for command in commands {
            perform(&mut storm, command);
        }
        ends_well(&mut storm);
    }
}

/// Nothing goes wrong any more: all pods that must leave are gone (L1, L2, L4), and none has a mark that stays (S9).
pub(crate) fn ends_well(storm: &mut Storm) {
    calm_down(storm);
    // The longest backoff, and S9's minute.
    storm.pass(70 * SECOND);
    assert_rest(storm);
    let stray = storm.cluster.pods.values().filter_map(|pod| pod.stray);
    assert_eq!(stray.filter(|since| since + 62 * SECOND <= storm.cluster.now).count(), 0, "S9");
    storm.hold(false);
    storm.pass(DAYS);
    assert_eq!(storm.overdue(0).filter(|due| *due <= storm.cluster.now).count(), 0, "L1");
    assert_rest(storm);
    assert_once(storm);
}

/// Faults stop; lost events are made up by a list.
fn calm_down(storm: &mut Storm) {
    storm.tape.clear();
    storm.capacity = usize::MAX;
    storm.deaf = false;
    (storm.nodes.lag, storm.pods.lag) = (0, 0);
    storm.list();
}

/// S10: no pod is deleted twice, unless a crashed process sent no version.
fn assert_once(storm: &Storm) {
    let mut deleted: Vec<_> = storm.cluster.deleted.iter().map(|deleted| &deleted.uid).collect();
    let all = deleted.len();
    deleted.sort();
    deleted.dedup();
    assert_eq!(all, deleted.len(), "S10: {:?}", storm.cluster.deleted);
}

/// A process that starts now makes the same plan, at most a second later (S4).
fn assert_same_plan(storm: &Storm) {
    let mut successor = storm.clone();
    successor.restart();
    let now = storm.cluster.clock();
    let due = |storm: &Storm, id: u8| {
        let fact = &storm.cluster.pods.get(&id)?.fact;
        let pod = taintward_core::identity::PodRef { node: fact.node.clone(), uid: fact.id.uid().clone() };
        match storm.engine.explain(&pod, now)?.1.outcome {
            Outcome::Stays(_) => None,
            Outcome::StaysUntil(due) | Outcome::Leaves { due } => Some(due.as_micros()),
        }
    };
    for (&id, pod) in &storm.cluster.pods {
        if pod.fact.life_phase != PodLifePhase::Live || pod.unreadable {
            continue;
        }
        match (due(storm, id), due(&successor, id)) {
            (None, None) => {}
            (Some(was), Some(is)) if was <= is && is <= was.saturating_add(SECOND) => {}
            plans => panic!("{id}: {plans:?}"),
        }
    }
}

/// The commands are meaningful: in most sequences some pod is evicted.
#[test]
fn sequences_evict() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut evicting = 0;
    for _ in 0..100 {
        let commands: Vec<EvictionCommand> = stormy().new_tree(&mut runner).expect("a sequence").current();
        let mut storm = Storm::new(EvictionConfig::default(), WINDOW);
        commands.into_iter().for_each(|command| perform(&mut storm, command));
        evicting += usize::from(!storm.cluster.deleted.is_empty());
    }
    assert!(evicting > 35, "{evicting} of 100");
}
