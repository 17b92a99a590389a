//! Predicts what would have happened in a record under other policies.

use super::{at, recorder};
use crate::testkit::TappedLoop;
use crate::{PolicyReplay, RecordReader, SegmentLimits};
use taintward_core::eviction::EvictionInput;
use taintward_core::eviction_policy::{
    BudgetRespect, EvictionPolicy, EvictionPolicyFact, RecordedPolicyStatus, UnavailableLimit,
};
use taintward_core::fact::{PodFact, PodLifePhase};
use taintward_core::identity::{PodId, PodName, Uid};
use taintward_core::object_event::{ObjectEvent, ObjectRef};
use taintward_core::testkit::{node, pod, taint, toleration};
use taintward_core::time::Span;

const PODS: i64 = 4;

/// The pods leave in seconds 10 to 13 of the record, which ends in second 200.
fn record(applies_policies: bool) -> Vec<u8> {
    let recorder = recorder();
    let limits = SegmentLimits { age: Span::from_secs(60), ..SegmentLimits::default() };
    let tapped = TappedLoop::new(recorder.clone(), limits);
    let mut tapped = if applies_policies { tapped.applying_policies() } else { tapped };
    tapped.turn(at(0));
    tapped.handle(EvictionInput::PolicyDefinitionAbsent(true), at(0));
    tapped.list([node("n1")], (0..PODS).map(counting), at(1));
    for second in 2..=200 {
        tapped.handle(EvictionInput::PolicyDefinitionAbsent(true), at(second));
        match second {
            10 => tapped.apply_node(node("n1").tainted([taint("gpu")]), at(second)),
            // It is terminating, and the list below does not show it: neither matters to a pod that lives on.
            15 => tapped.apply_pod(
                PodFact { life_phase: PodLifePhase::Terminating, ..counting(3) }.at_version(9),
                at(second),
            ),
            100 => tapped.list([node("n1").tainted([taint("gpu")])], [], at(second)),
            _ => {}
        }
        tapped.turn(at(second));
    }
    tapped.end(at(200));
    recorder.to_bytes()
}

fn counting(number: i64) -> PodFact {
    let name = PodName::new("shop", &format!("web-{number}"));
    let id = PodId::new(Uid::new(&format!("00000000-0000-4000-8000-{number:012x}")), name);
    PodFact { id, ..pod("p") }.at_version(5).tolerates([toleration("gpu", Some(number))])
}

fn fact(policy: EvictionPolicy) -> EvictionPolicyFact {
    let policy = EvictionPolicy { name: "slow".into(), ..policy }.into();
    let recorded = RecordedPolicyStatus::default();
    EvictionPolicyFact { uid: Uid::new("slow"), version: None, generation: 1, policy, recorded }
}

fn replay(bytes: &[u8]) -> PolicyReplay {
    let (mut replay, mut reader) = (PolicyReplay::default(), RecordReader::open(bytes).unwrap());
    while let Some(frame) = reader.next_frame().unwrap() {
        replay.read(&frame).unwrap();
    }
    replay
}

#[test]
fn a_limit_would_have_delayed_pods_and_pods_that_left_live_on() {
    let replay = replay(&record(true));
    let processes: Vec<_> = replay.processes().collect();
    let [process] = &processes[..] else { panic!("{} processes", processes.len()) };
    assert!(process.applies_policies());
    let recorded: Vec<i64> = process
        .evicted
        .iter()
        .map(|(_, reason)| reason.decided.since(at(0).mono).as_micros() / 1_000_000)
        .collect();
    assert_eq!(recorded, [10, 11, 12, 13]);
    let seconds = |policy| {
        let predicted = process.under(&[fact(policy)]);
        let evicted: Vec<i64> = predicted
            .prediction
            .evictions
            .iter()
            .map(|one| one.at.since(at(0).mono).as_micros() / 1_000_000)
            .collect();
        (evicted, predicted.prediction.delayed().count())
    };
    assert_eq!(seconds(EvictionPolicy::default()), (vec![10, 11, 12, 13], 0), "it delays nothing");
    let (evicted, delayed) =
        seconds(EvictionPolicy { pods_per_minute: Some(1), ..EvictionPolicy::default() });
    assert!(evicted.len() + delayed == 4 && delayed > 0, "{evicted:?} {delayed}");
    assert!(evicted.windows(2).all(|pair| pair[1] - pair[0] >= 59), "{evicted:?}");
}

#[test]
fn what_the_record_does_not_show_is_named() {
    let with_budgets =
        EvictionPolicy { budgets: Some(BudgetRespect { deadline: None }), ..EvictionPolicy::default() };
    let limit = UnavailableLimit { replicas: Some(1), percent: None };
    let with_limit = EvictionPolicy { unavailable_per_workload: Some(limit), ..EvictionPolicy::default() };
    let replay = replay(&record(true));
    let process = replay.processes().next().unwrap();
    for (policy, budgets, workloads) in
        [(EvictionPolicy::default(), false, false), (with_budgets, true, false), (with_limit, false, true)]
    {
        let predicted = process.under(&[fact(policy)]);
        assert_eq!((predicted.lacks_budgets, predicted.lacks_workloads), (budgets, workloads));
        // They delay nothing.
        assert_eq!(predicted.prediction.evictions.len(), 4);
    }
    assert!(!self::replay(&record(false)).processes().next().unwrap().applies_policies());
}

#[test]
fn a_deletion_by_another_client_counts_as_it_happened() {
    let recorder = recorder();
    let mut tapped = TappedLoop::new(recorder.clone(), SegmentLimits::default()).applying_policies();
    tapped.turn(at(0));
    tapped.handle(EvictionInput::PolicyDefinitionAbsent(true), at(0));
    tapped.list([node("n1")], [counting(5), counting(50)], at(1));
    tapped.turn(at(2));
    tapped.apply_node(node("n1").tainted([taint("gpu")]), at(10));
    tapped.handle(
        EvictionInput::Pods(ObjectEvent::Deleted(ObjectRef::pod(
            counting(50).id.uid().clone(),
            Some(pod("p").node),
        ))),
        at(20),
    );
    (20..80).for_each(|second| tapped.turn(at(second)));
    tapped.end(at(80));
    let replay = replay(&recorder.to_bytes());
    let predicted = replay.processes().next().unwrap().under(&[fact(EvictionPolicy::default())]);
    let names: Vec<&str> = predicted.prediction.evictions.iter().map(|one| one.name.name()).collect();
    assert_eq!(names, ["web-5"]);
}
