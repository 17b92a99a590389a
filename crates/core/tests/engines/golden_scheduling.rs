//! Compares quantities, requests, scores, affinity and messages with recorded results of the Go functions
//! (`golden/scheduling.txt`; AD-2, DS-1, DS-2).

use crate::rows::section;
use taintward_core::admission::{DefaultSeconds, default_tolerations};
use taintward_core::quantity::{Quantity, QuantityError};
use taintward_core::scheduling::{
    ContainerRequests, FilterRejection, Labels, NodeInfo, NodeOperator, NodeRequirement, NodeTerm,
    PodRequests, PodSchedulingSpec, ResourceRequests, Resources, SchedulerPlugin, UnschedulableReason,
    filter, score, why_none,
};
use taintward_core::testkit::{node_info, pod_spec, toleration_of};
use taintward_core::toleration::{Toleration, daemon_tolerations};
use taintward_core::toleration_matching::NumericOperators::Off;

const ROWS: &str = include_str!("../golden/scheduling.txt");

fn number(text: &str) -> i64 {
    text.parse().expect("a whole number")
}

/// Below zero Go rounds one way or the other and overflows within 64 bits, depending on how the number was written; no
/// pod can request less than nothing.
fn check_amount(ours: i64, go: &str, text: &str) {
    match go {
        "max" => assert_eq!(ours, i64::MAX, "{text:?}"),
        "min" => assert_eq!(ours, i64::MIN, "{text:?}"),
        _ if text.starts_with('-') => assert!(ours <= 0, "{text:?}"),
        go => assert_eq!(ours, number(go), "{text:?}"),
    }
}

#[test]
fn quantities_are_gos() {
    let (mut read, mut rejected) = (0, 0);
    for row in section(ROWS, "quantity") {
        let text = &row[1];
        match &row[2..] {
            [error] => {
                let expected = match error.as_str() {
                    "shape" => QuantityError::Shape,
                    "number" => QuantityError::Number,
                    "suffix" => QuantityError::Suffix,
                    other => panic!("{other}"),
                };
                assert_eq!(Quantity::parse(text), Err(expected), "{text:?}");
                rejected += 1;
            }
            [units, milli, _] => {
                let ours = Quantity::parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
                check_amount(ours.units(), units, text);
                check_amount(ours.milli(), milli, text);
                read += 1;
            }
            _ => panic!("{row:?}"),
        }
    }
    assert!(read > 800 && rejected > 800, "{read} {rejected}");
}

fn containers(texts: &str) -> Vec<ContainerRequests> {
    let one = |text: &str| {
        let (sidecar, amount) = text.strip_prefix('*').map_or((false, text), |amount| (true, amount));
        let amount = Quantity::parse(amount).expect("a quantity");
        ContainerRequests { requests: [("cpu".into(), amount)].into(), sidecar }
    };
    texts.split(' ').filter(|text| !text.is_empty()).map(one).collect()
}

#[test]
fn requests_are_gos() {
    let mut compared = 0;
    for row in section(ROWS, "requests") {
        let (containers, init_containers) = (containers(&row[1]), containers(&row[2]));
        let pod = PodRequests { containers, init_containers, ..PodRequests::default() };
        let cpu = pod.load().requested.get("cpu").copied().unwrap_or(0);
        assert_eq!(cpu, number(&row[3]), "{row:?}");
        compared += 1;
    }
    assert!(compared > 3_000, "{compared}");
}

fn resources(of: &[(&str, i64)]) -> Resources {
    of.iter().map(|&(name, amount)| (name.into(), amount)).collect()
}

fn load(of: &[(&str, i64)]) -> ResourceRequests {
    ResourceRequests { requested: resources(of), assumed: resources(of) }
}

fn small_node(allocatable: &[(&str, i64)]) -> NodeInfo {
    NodeInfo { allocatable: resources(allocatable), pods_max: 3, ..node_info("n") }
}

fn requesting(load: ResourceRequests) -> PodSchedulingSpec {
    PodSchedulingSpec { load, ..pod_spec() }
}

#[test]
fn fits_is_gos() {
    let (mut fitting, mut unfit) = (0, 0);
    for row in section(ROWS, "fits") {
        let [cpu, memory, gpu, used_cpu, used_memory, pods] = [1, 2, 3, 4, 5, 6].map(|at| number(&row[at]));
        let mut wanted = vec![("cpu", cpu), ("memory", memory)];
        wanted.extend((gpu >= 0).then_some(("example.com/gpu", gpu)));
        let used = load(&[("cpu", used_cpu), ("memory", used_memory)]);
        let candidate = NodeInfo { used, pods, ..small_node(&[("cpu", 4_000), ("memory", 1_000)]) };
        let go: Vec<&str> = row[7].split(';').filter(|reason| !reason.is_empty()).collect();
        match filter(&requesting(load(&wanted)), &candidate, Off) {
            Ok(()) => {
                fitting += 1;
                assert!(go.is_empty(), "{row:?}");
            }
            Err(ours) => {
                unfit += 1;
                assert_eq!(
                    ours.preemption_may_help,
                    go.iter().all(|reason| !reason.starts_with('!')),
                    "{row:?}"
                );
                let mut reasons: Vec<String> = ours.reasons.iter().map(ToString::to_string).collect();
                let mut go: Vec<&str> = go.into_iter().map(|reason| reason.trim_start_matches('!')).collect();
                reasons.sort();
                go.sort();
                assert_eq!(reasons, go, "{row:?}");
            }
        }
    }
    assert!(fitting > 10 && unfit > 100, "{fitting} {unfit}");
}

#[test]
fn balance_is_gos() {
    let mut compared = 0;
    for row in section(ROWS, "balance") {
        let [cpu, memory, used_cpu, used_memory, all_cpu, all_memory, go] =
            [1, 2, 3, 4, 5, 6, 7].map(|at| number(&row[at]));
        let used = load(&[("cpu", used_cpu), ("memory", used_memory)]);
        let candidate = NodeInfo { used, ..small_node(&[("cpu", all_cpu), ("memory", all_memory)]) };
        let ours =
            score(&requesting(load(&[("cpu", cpu), ("memory", memory)])), &[&candidate], Off)[0].balance;
        // Go does not score a pod without requests.
        assert_eq!(ours, if cpu == 0 && memory == 0 { 0 } else { go }, "{row:?}");
        compared += 1;
    }
    assert!(compared > 10_000, "{compared}");
}

#[test]
fn room_is_gos() {
    let mut compared = 0;
    for row in section(ROWS, "room") {
        let candidate =
            NodeInfo { used: load(&[("cpu", number(&row[1]))]), ..small_node(&[("cpu", number(&row[2]))]) };
        assert_eq!(score(&pod_spec(), &[&candidate], Off)[0].room, number(&row[3]), "{row:?}");
        compared += 1;
    }
    assert!(compared > 200, "{compared}");
}

#[test]
fn affinity_is_gos() {
    let nodes: Vec<(String, Labels)> = section(ROWS, "affinity")
        .filter(|row| row[0] == "node")
        .map(|row| {
            (
                row[1].clone(),
                (row[2] != "-").then(|| ("k".into(), row[2].as_str().into())).into_iter().collect(),
            )
        })
        .collect();
    let mut compared = 0;
    for row in section(ROWS, "affinity").filter(|row| row[0] == "row") {
        let requirement = NodeRequirement {
            key: row[2].as_str().into(),
            operator: NodeOperator::new(&row[3]),
            values: row[4].split('/').skip(1).map(Into::into).collect(),
        };
        let term = match row[1].as_str() {
            "label" => NodeTerm { expressions: vec![requirement], fields: vec![] },
            _ => NodeTerm { expressions: vec![], fields: vec![requirement] },
        };
        for ((name, labels), go) in nodes.iter().zip(row[5].chars()) {
            assert_eq!(term.matches(name, labels), go == '1', "{row:?} {name} {labels:?}");
            compared += 1;
        }
    }
    assert!(compared > 10_000, "{compared}");
}

fn reason(text: &str) -> UnschedulableReason {
    match text {
        "node(s) were unschedulable" => UnschedulableReason::Unschedulable,
        "node(s) had untolerated taint(s)" => UnschedulableReason::UntoleratedTaint,
        "node(s) didn't match Pod's node affinity/selector" => UnschedulableReason::NodeAffinity,
        "Too many pods" => UnschedulableReason::TooManyPods,
        other => UnschedulableReason::Insufficient(
            other.strip_prefix("Insufficient ").expect("a known reason").into(),
        ),
    }
}

/// SC-1, SC-4.
#[test]
fn messages_are_gos() {
    let mut compared = 0;
    for row in section(ROWS, "message") {
        let unfit = |reason: UnschedulableReason| {
            let by = match &reason {
                UnschedulableReason::Unschedulable => SchedulerPlugin::NodeUnschedulable,
                UnschedulableReason::UntoleratedTaint => SchedulerPlugin::TaintToleration,
                UnschedulableReason::NodeAffinity => SchedulerPlugin::NodeAffinity,
                _ => SchedulerPlugin::NodeResourcesFit,
            };
            FilterRejection {
                by,
                reasons: vec![reason],
                preemption_may_help: by == SchedulerPlugin::NodeResourcesFit,
            }
        };
        let unfit: Vec<FilterRejection> = row[1].split(';').map(reason).map(unfit).collect();
        assert_eq!(why_none(&pod_spec(), &unfit), row[2]);
        compared += 1;
    }
    assert!(compared > 300, "{compared}");
}

fn tolerations(text: &str) -> Vec<Toleration> {
    let one = |text: &str| {
        let [key, operator, value, effect, seconds] = text.split(',').collect::<Vec<_>>()[..] else {
            panic!("{text}")
        };
        let seconds = (seconds != "-").then(|| number(seconds));
        Toleration { seconds, ..toleration_of(key, operator, value, effect) }
    };
    text.split(';').filter(|text| !text.is_empty()).map(one).collect()
}

#[test]
fn ds_1_and_ds_2_are_gos() {
    let mut compared = 0;
    for row in section(ROWS, "daemon") {
        let made = daemon_tolerations(&tolerations(&row[2]), row[1] == "true");
        assert_eq!(made, tolerations(&row[3]), "{row:?}");
        compared += 1;
    }
    assert!(compared > 200, "{compared}");
}

#[test]
fn ad_2_is_gos() {
    let mut compared = 0;
    for row in section(ROWS, "defaults") {
        let mut all = tolerations(&row[1]);
        all.extend(default_tolerations(&all, DefaultSeconds::default()));
        assert_eq!(all, tolerations(&row[2]), "{row:?}");
        compared += 1;
    }
    assert!(compared > 100, "{compared}");
}
