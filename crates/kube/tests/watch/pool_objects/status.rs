//! Tests that a written pool status is decoded again unchanged.

use super::sample::{pool, seen};
use serde_json::Value;
use taintward_core::admission::pool::{
    AppliedMark, NamedPod, PoolAssessment, PoolNode, PoolStatus, PoolValidity, Reason, RecordTrust, assess,
    remembered, status,
};
use taintward_core::dedicated_pools::{ELSEWHERE, PoolFact, RecordedStatus, observed_status};
use taintward_core::identity::PodName;
use taintward_core::taint::TaintEffect;
use taintward_core::time::Wall;
use taintward_kube::pools::status_patch;

const T0: i64 = 1_800_000_000;

fn counts() -> PoolStatus {
    let violating =
        NamedPod { pod: PodName::new("ns", "p"), node: "n1".into(), message: "toleration 0".into() };
    let exempt = NamedPod { pod: PodName::new("ns", "q"), node: "n1".into(), message: "it is".into() };
    PoolStatus {
        validity: PoolValidity::Applied,
        members: vec!["n1".into()],
        nodes: 1,
        conflicts: 2,
        pods: 3,
        elsewhere: 4,
        exempt: 5,
        exempt_pods: vec![exempt],
        unknown: 6,
        violations: 1,
        violating_pods: vec![violating],
        evicted: vec![],
    }
}

/// The pool after its status was written.
fn written(before: &PoolFact, reported: &RecordedStatus, past: &[AppliedMark]) -> PoolFact {
    let patch: Value = serde_json::from_slice(&status_patch(before, reported, past).unwrap()).unwrap();
    assert_eq!(patch["metadata"], serde_json::json!({"uid": "uid-1", "resourceVersion": "41"}));
    assert_eq!(patch.as_object().unwrap().len(), 2, "only the status is written");
    let mut object = pool();
    object["status"] = patch["status"].clone();
    seen(&object)
}

fn condition<'t>(reported: &'t RecordedStatus, kind: &str) -> (&'t str, &'t str) {
    let one = reported.conditions.iter().find(|one| *one.kind == *kind).unwrap();
    (&one.status, &one.reason)
}

#[test]
fn a_written_status_is_read_back_and_not_written_twice() {
    let before = seen(&pool());
    let odd = AppliedMark::Taint { key: "old".into(), value: "".into(), effect: TaintEffect::NoExecute };
    let past: Vec<AppliedMark> = [before.pool.marks(), vec![odd]].concat();
    let changes =
        observed_status(&before, &PoolAssessment::default(), counts(), Wall::from_micros(T0 * 1_000_000 + 7));
    let after = written(&before, &changes, &past);
    assert_eq!(after.recorded.as_ref(), Some(&changes));
    assert_eq!(after.pool.applied_marks, past);
    assert_eq!(status_patch(&after, &changes, &past), None);
    assert!(status_patch(&after, &changes, &past[1..]).is_some());
    let again = observed_status(&after, &PoolAssessment::default(), counts(), Wall::from_secs(T0 + 60));
    assert_eq!(again, changes, "nothing has changed, including the transition time");
}

#[test]
fn a_condition_that_changes_has_a_new_time() {
    let before = seen(&pool());
    let at = |seconds| Wall::from_secs(T0 + seconds);
    let changes = observed_status(&before, &PoolAssessment::default(), counts(), at(0));
    let after = written(&before, &changes, &[]);
    let clean = observed_status(&after, &PoolAssessment::default(), PoolStatus::default(), at(5));
    let since: Vec<Wall> = clean.conditions.iter().map(|one| one.since).collect();
    assert_eq!(since, [at(5), at(5), at(0)]);
    assert_eq!(condition(&changes, "Ready"), ("False", ELSEWHERE));
    assert_eq!(condition(&clean, "Ready"), ("True", "Applied"));
    assert_eq!(condition(&changes, "Offended"), ("True", "Offenders"));
    assert_eq!(condition(&clean, "Offended"), ("False", "NoOffenders"));
}

#[test]
fn conditions_report_the_cores_findings() {
    let of = |change: &dyn Fn(&mut Value)| {
        let mut object = pool();
        change(&mut object);
        let seen = seen(&object);
        let nodes = [PoolNode { name: "n1".into(), ..PoolNode::default() }, PoolNode::default()];
        let assessed = assess(std::slice::from_ref(&seen.pool), Some(&nodes), RecordTrust::Pools);
        let validity = [assessed[0].validity];
        let pools = std::slice::from_ref(&seen.pool);
        let status =
            status(pools, &validity, &nodes.each_ref(), Vec::new(), &Default::default(), RecordTrust::Pools);
        observed_status(&seen, &assessed[0], status[0].clone(), Wall::from_secs(T0))
    };
    let good = of(&|object| object["spec"]["nodes"] = serde_json::json!({"names": ["n1"]}));
    assert_eq!(good.status.nodes, 1);
    assert_eq!(condition(&good, "Ready"), ("True", "Applied"));
    assert_eq!(condition(&good, "Advised"), ("True", Reason::LabelOfKubelets.as_str()));
    let bad = of(&|object| object["spec"]["taint"]["key"] = "a/b/c".into());
    assert_eq!(condition(&bad, "Ready"), ("False", Reason::BadTaint.as_str()));
    assert_eq!((good.status.validity, bad.status.validity), (PoolValidity::Applied, PoolValidity::Rejected));
    let none = of(&|object| object["spec"]["nodes"] = serde_json::json!({"names": ["elsewhere"]}));
    assert_eq!(condition(&none, "Ready"), ("True", "Applied"));
    let leaving = of(&|object| object["metadata"]["deletionTimestamp"] = "2027-01-15T09:00:00Z".into());
    assert_eq!(condition(&leaving, "Ready"), ("False", "Leaving"));
}

#[test]
fn a_damaged_status_is_written_again() {
    let mut object = pool();
    for odd in [r#"{"observedGeneration":"1"}"#, r#"{"observedGeneration":1,"nodes":-1}"#, "{}"] {
        object["status"] = serde_json::from_str(odd).unwrap();
        let read = seen(&object);
        assert_eq!(read.recorded, None, "{odd}");
        let changes =
            observed_status(&read, &PoolAssessment::default(), PoolStatus::default(), Wall::from_secs(T0));
        assert!(status_patch(&read, &changes, &remembered(&read.pool, &[])).is_some());
    }
}
