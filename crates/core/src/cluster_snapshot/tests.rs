//! Tests what a snapshot contains after its objects were added.

mod contents;

use super::*;
use crate::fact::BindingTimes;
use crate::identity::Uid;
use crate::node_lifecycle::ZoneLabels;
use crate::taint::{Taint, keys};
use crate::testkit::{node, pod_spec, taint, toleration};
use crate::time::{Span, Wall};
use crate::toleration_guard::GuardRecord;
use crate::toleration_hold::{HeldToleration, HoldOrder, HoldOrigin, HoldRecord};
use crate::toleration_seconds::RecordState;
use alloc::string::ToString;
use alloc::vec;

pub(crate) const WALL: Wall = Wall::from_secs(1_800_000_000);

pub(crate) fn builder() -> SnapshotBuilder {
    SnapshotBuilder::new(WALL, NumericOperators::Off, true)
}

pub(crate) fn labels(of: &[(&str, &str)]) -> Labels {
    of.iter().map(|&(key, value)| (key.into(), value.into())).collect()
}

/// A ready node with 4 CPUs.
pub(crate) fn node_record(name: &str, taints: Vec<Taint>) -> NodeRecord {
    NodeRecord {
        fact: node(name).tainted(taints),
        labels: Labels::new(),
        unschedulable: false,
        allocatable: [("cpu".into(), 4_000)].into(),
        pods_max: 110,
        ready: Some(true),
        zone: ZoneKey::of(ZoneLabels::default()),
        excluded: false,
    }
}

pub(crate) fn pod_record<'a>(name: &str, node: &'a str, owner: Option<OwnerReference<'a>>) -> PodRecord<'a> {
    PodRecord {
        uid: Uid::new(name),
        name: PodName::new("shop", name),
        node,
        labels: Labels::new(),
        owner,
        job_index: None,
        spec: pod_spec(),
        beyond: false,
        life_phase: PodLifePhase::Live,
        mirror: false,
        marked: false,
        ready: true,
        record: RecordState::Absent,
        holds: None,
        arrival: BindingTimes { created: Some(Wall::from_secs(1_790_000_000)), ..BindingTimes::default() },
    }
}

#[test]
fn pods_are_found_on_their_nodes_in_any_order_of_input() {
    let mut reported = builder();
    reported.pod(pod_record("b", "n2", None));
    reported.pod(pod_record("waiting", "", None));
    reported.node(node_record("n2", vec![]));
    reported.pod(pod_record("a", "n2", None));
    reported.node(node_record("n1", vec![]));
    reported.pod(pod_record("stray", "n9", None));
    let snapshot = reported.finish();
    let names = |range: Range<usize>| -> Vec<_> {
        snapshot.pods()[range].iter().map(|pod| pod.name.name().to_string()).collect()
    };
    assert_eq!(snapshot.node_at("n2"), Some(1));
    assert_eq!(snapshot.node_at("n9"), None);
    assert_eq!(names(snapshot.pods_on(0)), [""; 0]);
    assert_eq!(names(snapshot.pods_on(1)), ["a", "b"]);
    assert_eq!(names(snapshot.unbound()), ["waiting"]);
    let lost = [(PodName::new("shop", "stray"), NodeName::new("n9"))];
    assert_eq!(snapshot.lost(), lost, "a pod on an unknown node is named");
}

#[test]
fn of_two_with_the_same_name_the_last_counts_and_another_uid_is_reported() {
    let mut reported = builder();
    assert!(!reported.node(node_record("n1", vec![])));
    assert!(!reported.node(node_record("n1", vec![])), "the same again");
    let mut other = node_record("n1", vec![]);
    other.fact.uid = Uid::new("another");
    assert!(reported.node(other));
    assert!(!reported.pod(pod_record("a", "n1", None)));
    assert!(!reported.pod(pod_record("a", "n1", None)));
    assert!(reported.pod(PodRecord { uid: Uid::new("another"), ..pod_record("a", "n1", None) }));
    assert_eq!(reported.finish().pods().len(), 1);
}

#[test]
fn a_node_is_filled_by_its_pods_that_have_not_terminated() {
    let load = ResourceRequests { requested: [("cpu".into(), 500)].into(), ..ResourceRequests::default() };
    let spec = PodSchedulingSpec { load, ..PodSchedulingSpec::default() };
    let mut reported = builder();
    reported.node(node_record("n1", vec![]));
    for (name, life_phase) in
        [("a", PodLifePhase::Live), ("b", PodLifePhase::Terminating), ("c", PodLifePhase::Finished)]
    {
        reported.pod(PodRecord { spec: spec.clone(), life_phase, ..pod_record(name, "n1", None) });
    }
    let snapshot = reported.finish();
    let node = &snapshot.nodes()[0];
    assert_eq!((node.pods, node.used.requested["cpu"]), (2, 1_000));
    assert_eq!(snapshot.shapes().len(), 1, "equal pods are stored once");
}

#[test]
fn the_workload_is_the_top_level_owner() {
    let hash = labels(&[("pod-template-hash", "abc")]);
    let none = Labels::new();
    let of = |labels: &Labels, group, kind, name| {
        Workload::of("shop", "p", labels, Some(OwnerReference { group, kind, name })).to_string()
    };
    assert_eq!(of(&hash, "apps", "ReplicaSet", "web-abc"), "Deployment shop/web");
    assert_eq!(of(&hash, "apps", "ReplicaSet", "web-abd"), "ReplicaSet shop/web-abd");
    assert_eq!(of(&none, "apps", "ReplicaSet", "web-abc"), "ReplicaSet shop/web-abc");
    assert_eq!(of(&hash, "apps", "ReplicaSet", "-abc"), "ReplicaSet shop/-abc");
    let empty = labels(&[("pod-template-hash", "")]);
    assert_eq!(of(&empty, "apps", "ReplicaSet", "web-"), "ReplicaSet shop/web-");
    assert_eq!(of(&none, "apps", "DaemonSet", "logs"), "DaemonSet shop/logs");
    assert_eq!(of(&none, "example.com", "DaemonSet", "logs"), "DaemonSet shop/logs");
    assert_eq!(
        Workload::of(
            "s",
            "p",
            &none,
            Some(OwnerReference { group: "example.com", kind: "DaemonSet", name: "x" })
        )
        .kind
        .returns(),
        RecreationPolicy::Unknown,
        "a kind of another API group with the same name is another kind"
    );
    assert_eq!(Workload::of("shop", "p", &none, None).to_string(), "Pod shop/p");
}

#[test]
fn percentages_are_parsed_and_rounded_up() {
    for (text, all, expected) in
        [("2", 5, Some(2)), ("50%", 5, Some(3)), ("0%", 5, Some(0)), ("100%", 5, Some(5)), ("x", 5, None)]
    {
        assert_eq!(IntOrPercent::parse(text).map(|portion| portion.of(all)), expected, "{text}");
    }
    assert_eq!(DisruptionLimit::MaxUnavailable(IntOrPercent::Percent(30)).of(10), 7);
    assert_eq!(DisruptionLimit::MaxUnavailable(IntOrPercent::Count(20)).of(10), 0);
}

/// A pod on a node that has been unreachable since 100 s before now.
fn judged(seconds: Option<i64>, record: RecordState) -> (ClusterSnapshot, Verdict) {
    let taints = vec![
        taint(keys::UNREACHABLE).added(Wall::from_secs(1_799_999_900)),
        taint("example.com/later").added(WALL),
    ];
    let mut reported = builder();
    reported.node(node_record("n1", taints));
    let later = toleration("example.com/later", Some(5_000));
    let tolerations = vec![toleration(keys::UNREACHABLE, seconds), later];
    let spec = PodSchedulingSpec { tolerations, ..PodSchedulingSpec::default() };
    reported.pod(PodRecord { spec, record, ..pod_record("a", "n1", None) });
    let snapshot = reported.finish();
    let verdict = snapshot.judge(&snapshot.pods()[0], &snapshot.instances(0));
    (snapshot, verdict)
}

/// The moment this many seconds after now.
fn after_now(seconds: i64) -> Mono {
    Mono::from_secs(1_800_000_000 + seconds)
}

#[test]
fn a_guarded_pod_has_its_own_deadline_and_a_ceiling() {
    let held = HeldToleration::recorded(&toleration(keys::UNREACHABLE, Some(300)), Some(3_600)).unwrap();
    let record = RecordState::Guarded(GuardRecord::recorded(vec![held]).unwrap().into());
    let (snapshot, verdict) = judged(Some(3_600), record.clone());
    let ceiling = |snapshot: &ClusterSnapshot| snapshot.ceiling(&snapshot.pods()[0], &snapshot.instances(0));
    assert_eq!(verdict.outcome, Outcome::StaysUntil(after_now(200)));
    assert_eq!(ceiling(&snapshot), Some(after_now(3_500)));
    // Of another taint's deadline, kube-controller-manager decides, too.
    let taints = &snapshot.instances(0)[1..];
    let pod = &snapshot.pods()[0];
    assert_eq!(snapshot.judge(pod, taints).outcome, Outcome::StaysUntil(after_now(5_000)));
    assert_eq!(snapshot.ceiling(pod, taints), None);
    // Another writer has changed the seconds: they are the pod's own.
    let (snapshot, verdict) = judged(Some(1_000), record);
    assert_eq!(snapshot.pods()[0].record, CountdownRecord::None);
    assert_eq!(verdict.outcome, Outcome::StaysUntil(after_now(900)));
    assert_eq!(ceiling(&snapshot), None);
}

#[test]
fn a_held_pod_has_no_deadline_and_a_released_one_counts_from_its_release() {
    let record = |given, order| {
        let held = HeldToleration::recorded(&toleration(keys::UNREACHABLE, Some(300)), given).unwrap();
        let (changed, since) = (Wall::from_secs(1_799_999_990), Wall::from_secs(1_799_999_900));
        let record = HoldRecord::recorded(vec![held], order, changed, Span::from_secs(80), Some(since));
        assert_eq!(record.remaining_seconds(), 220);
        RecordState::Known(record.into())
    };
    let (since, until) = (Wall::from_secs(1_799_999_950), Wall::from_secs(1_800_000_500));
    let order = Some(HoldOrder { origin: HoldOrigin::Person, since, until });
    let (snapshot, verdict) = judged(None, record(None, order));
    // Only the countdown of the other taint runs.
    assert_eq!(verdict.outcome, Outcome::StaysUntil(after_now(5_000)));
    assert!(verdict.reasons[0].is_held);
    assert!(matches!(snapshot.pods()[0].record, CountdownRecord::Held(_)));
    assert_eq!(snapshot.shape(&snapshot.pods()[0]).spec.tolerations[0].seconds, Some(300));
    // Ten seconds ago it got back 220 s.
    let (_, verdict) = judged(Some(220), record(Some(220), None));
    assert_eq!(verdict.outcome, Outcome::StaysUntil(after_now(210)));
    // Its author gave it other seconds since.
    let (_, verdict) = judged(Some(600), record(Some(220), None));
    assert_eq!(verdict.outcome, Outcome::StaysUntil(after_now(500)));
}
