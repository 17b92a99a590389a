//! Tests what Jobs do when their pods are evicted.

use super::*;
use alloc::vec;
use proptest::prelude::*;

fn job(backoff_limit: u32, rules: Vec<PodFailureRule>) -> JobRecord {
    JobRecord {
        namespace: "ml".into(),
        name: "train".into(),
        rules,
        backoff_limit: Some(backoff_limit),
        backoff_limit_per_index: None,
        max_failed_indexes: None,
        failed: 0,
        failed_indexes: 0,
        phase: JobPhase::Active,
    }
}

const fn rule(matches: FailureMatch, action: FailureAction) -> PodFailureRule {
    PodFailureRule { matches, action }
}

fn evictions(job: &JobRecord, count: usize) -> Vec<JobPodOutcome> {
    let mut progress = JobProgress::of(job);
    (0..count).map(|_| progress.evict(None)).collect()
}

#[test]
fn nb_3_evictions_count_towards_the_backoff_limit() {
    let failed = |failures| JobPodOutcome::Recreated { failures, limit: Some(3) };
    let fails = JobPodOutcome::JobFails(JobFailure::BackoffLimit(3));
    let one = JobRecord { failed: 1, ..job(3, vec![]) };
    assert_eq!(evictions(&one, 4), [failed(2), failed(3), fails, fails]);
    let none = JobRecord { backoff_limit: None, failed: 7, ..job(0, vec![]) };
    assert_eq!(evictions(&none, 1), [JobPodOutcome::Recreated { failures: 8, limit: None }]);
    assert_eq!(evictions(&job(0, vec![]), 1), [JobPodOutcome::JobFails(JobFailure::BackoffLimit(0))]);
}

#[test]
fn nb_3_the_first_rule_for_the_disruption_decides() {
    use FailureAction::{Count, FailJob, Ignore, Unknown};
    use FailureMatch::{Disruption, ExitCodes, OtherConditions};
    let fails = |rule| JobPodOutcome::JobFails(JobFailure::Rule(rule));
    let counts = JobPodOutcome::Recreated { failures: 1, limit: Some(6) };
    for (rules, expected) in [
        (vec![rule(Disruption, FailJob), rule(Disruption, Ignore)], fails(0)),
        (vec![rule(OtherConditions, FailJob), rule(Disruption, Ignore)], JobPodOutcome::Ignored { rule: 1 }),
        (vec![rule(Disruption, Unknown), rule(Disruption, FailJob)], fails(1)),
        (vec![rule(Disruption, Count), rule(Disruption, FailJob)], counts),
        (vec![rule(OtherConditions, FailJob)], counts),
        // A rule on exit codes decides only where it makes a difference.
        (vec![rule(ExitCodes, FailJob)], JobPodOutcome::ExitCodes { rule: 0, action: FailJob }),
        (
            vec![rule(ExitCodes, Ignore), rule(Disruption, FailJob)],
            JobPodOutcome::ExitCodes { rule: 0, action: Ignore },
        ),
        (vec![rule(ExitCodes, FailJob), rule(Disruption, FailJob)], fails(1)),
        (vec![rule(ExitCodes, Count), rule(Disruption, Ignore)], JobPodOutcome::Ignored { rule: 1 }),
        (vec![rule(Disruption, FailJob), rule(ExitCodes, Ignore)], fails(0)),
    ] {
        assert_eq!(evictions(&job(6, rules.clone()), 1), [expected], "{rules:?}");
    }
    let ignored = job(0, vec![rule(Disruption, Ignore)]);
    assert_eq!(
        evictions(&ignored, 2),
        [JobPodOutcome::Ignored { rule: 0 }; 2],
        "the limit does not count it"
    );
}

#[test]
fn nb_3_an_index_has_its_own_limit() {
    let indexed = JobRecord { backoff_limit: None, backoff_limit_per_index: Some(1), ..job(0, vec![]) };
    let pod = |index, failures| Some(JobIndex { index, failures });
    let fails = |index| JobPodOutcome::IndexFails { index, cause: IndexFailure::BackoffLimit(1) };
    let mut progress = JobProgress::of(&indexed);
    let recreated = JobPodOutcome::Recreated { failures: 1, limit: Some(1) };
    assert_eq!(
        [progress.evict(pod(0, 0)), progress.evict(pod(3, 1)), progress.evict(pod(4, 1))],
        [recreated, fails(3), fails(4)]
    );
    let few = JobRecord { max_failed_indexes: Some(2), failed_indexes: 1, ..indexed.clone() };
    let mut progress = JobProgress::of(&few);
    let over = JobPodOutcome::JobFails(JobFailure::MaxFailedIndexes(2));
    assert_eq!([progress.evict(pod(3, 1)), progress.evict(pod(4, 1))], [fails(3), over]);
    let rules = vec![rule(FailureMatch::Disruption, FailureAction::FailIndex)];
    let by_rule = JobRecord { rules, ..indexed };
    let cause = IndexFailure::Rule(0);
    assert_eq!(JobProgress::of(&by_rule).evict(pod(5, 0)), JobPodOutcome::IndexFails { index: 5, cause });
}

#[test]
fn nb_3_a_job_that_does_not_run_recreates_no_pod() {
    for (phase, expected) in
        [(JobPhase::Suspended, JobPodOutcome::Suspended), (JobPhase::Finished, JobPodOutcome::Finished)]
    {
        let outcomes = evictions(&JobRecord { phase, ..job(6, vec![]) }, 1);
        assert_eq!(outcomes, [expected]);
        assert!(!outcomes[0].is_recreated());
    }
}

proptest! {
    /// A Job that has failed stays failed; without a rule, exactly the evictions beyond the limit fail it.
    #[test]
    fn a_job_fails_once_and_for_good(limit in 0..6_u32, failed in 0..6_u32, count in 1..10_usize, ignores in any::<bool>()) {
        let rules = if ignores { vec![rule(FailureMatch::Disruption, FailureAction::Ignore)] } else { vec![] };
        let job = JobRecord { failed, ..job(limit, rules) };
        for (at, outcome) in evictions(&job, count).iter().enumerate() {
            let total = failed + u32::try_from(at).unwrap() + 1;
            prop_assert_eq!(outcome.is_recreated(), ignores || total <= limit);
        }
    }
}
