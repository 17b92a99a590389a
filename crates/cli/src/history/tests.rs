//! Tests histories of a record that an engine has written: a node that is not ready for ten minutes, with four pods.

use super::entry::{HistoryEntry, HistoryEvent, HistoryObject};
use super::filter::HistoryFilter;
use super::list::History;
use super::timeline::Timeline;
use crate::described::{check, schema};
use crate::output::Printable as _;
use std::collections::BTreeSet;
use std::path::Path;
use std::{env, fs};
use taintward_core::api_error::ApiFailure;
use taintward_core::fact::{PodFact, PodLifePhase};
use taintward_core::identity::{PodId, PodName, Uid};
use taintward_core::taint::{Taint, keys};
use taintward_core::testkit::{node, pod, taint, toleration};
use taintward_core::time::{Mono, Now, Span, Wall};
use taintward_record::testkit::TappedLoop;
use taintward_record::{EngineRecorder, RecordReader, RingLimits, SegmentLimits};

/// 2026-11-21T03:00:00Z.
const NIGHT: i64 = 1_795_230_000;

/// The record in the examples of the documentation.
const EXAMPLE: &str = "tests/cmd/explain.in/record/20261121T025959.000000Z-taint-eviction-controller.record";

fn at(second: i64) -> Now {
    Now::exact(Mono::from_secs(1_000 + second), Wall::from_secs(NIGHT + second))
}

fn named(namespace: &str, name: &str, uid: u8) -> PodFact {
    let uid = Uid::new(&format!("5f0c3a52-7d7e-4b1a-9c57-0000000000{uid:02x}"));
    PodFact { id: PodId::new(uid, PodName::new(namespace, name)), ..pod(name) }.on("n2")
}

fn not_ready(since: i64) -> Taint {
    taint(keys::NOT_READY).added(Wall::from_secs(NIGHT + since))
}

/// A recorded night. At 03:00, node n2 gets the taint not-ready, until 03:10.
fn night() -> Vec<u8> {
    let recorder = EngineRecorder::in_memory("0.1.0", RingLimits::default());
    let segments = SegmentLimits { age: Span::from_secs(400), ..SegmentLimits::default() };
    let mut tapped = TappedLoop::new(recorder.clone(), segments).with_latency(Span::from_millis(35));
    let api = named("shop", "api-7d4b9c6f5d-x7k2p", 1)
        .at_version(11)
        .tolerates([toleration(keys::NOT_READY, Some(300))]);
    let slow = named("shop", "db-0", 2).at_version(12).tolerates([toleration(keys::NOT_READY, Some(1_200))]);
    let agent = named("ops", "agent-fk2xv", 3).at_version(13).tolerates([toleration(keys::NOT_READY, None)]);
    tapped.turn(at(-1));
    tapped.list([node("n1"), node("n2")], [api, slow, agent], at(-1));
    for second in 0..900 {
        match second {
            0 => tapped.apply_node(node("n2").at_version(20).tainted([not_ready(0)]), at(second)),
            120 => tapped.apply_pod(named("shop", "batch-1", 4).at_version(21), at(second)),
            // A webhook rejects the first deletion of the API's pod.
            300 => tapped.fail_deletion(ApiFailure::Rejected),
            600 => tapped.apply_node(node("n2").at_version(30), at(second)),
            _ => {}
        }
        tapped.turn(at(second));
    }
    tapped.end(at(900));
    recorder.to_bytes()
}

fn history(record: &[u8], filter: HistoryFilter) -> History {
    let mut timeline = Timeline::new(filter);
    timeline.read(&mut RecordReader::open(record).unwrap()).unwrap();
    History { from: "record".to_owned(), entries: timeline.finish(), cut_off: Vec::new() }
}

/// `03:05:00 pod/shop/web-1 was deleted ...`, with the times in UTC.
fn lines(history: &History) -> Vec<String> {
    let line = |item: &serde_json::Value| {
        let (at, object) = (item["happenedAt"].as_str().unwrap(), &item["object"]);
        let name = object["name"].as_str().unwrap_or("cluster");
        format!("{} {name} {}", &at[11..19], item["message"].as_str().unwrap())
    };
    history.object()["items"].as_array().unwrap().iter().map(line).collect()
}

fn pod_filter(name: &str) -> HistoryFilter {
    HistoryFilter { pods: vec![name.to_owned()], ..HistoryFilter::default() }
}

const BECAUSE: &str = "node n2 has taint node.kubernetes.io/not-ready:NoExecute since 03:00:00 (observed live), and \
    spec.tolerations[0] tolerates it for";

#[test]
fn a_pod_that_was_evicted_has_a_history_from_the_taint_to_the_end() {
    let api = "api-7d4b9c6f5d-x7k2p";
    let expected = [
        "02:59:59 cluster Taintward lists all nodes and pods".to_owned(),
        "02:59:59 n2 has no NoExecute taint".to_owned(),
        format!("02:59:59 {api} runs on node n2, and stays: its node has no NoExecute taint"),
        "03:00:00 n2 got taint node.kubernetes.io/not-ready:NoExecute".to_owned(),
        format!("03:00:00 {api} leaves at 03:05:00, in 5m: {BECAUSE} 5m"),
        format!("03:05:00 {api} is due for eviction: {BECAUSE} 5m"),
        format!("03:05:00 {api} has the condition DisruptionTarget, 35 ms after Taintward requested that"),
        format!(
            "03:05:00 {api} Taintward requested its deletion, and 35 ms later it failed: an admission webhook or a \
             validation rejected it (4xx)"
        ),
        format!("03:05:01 {api} was deleted by Taintward, 1s after it was due: {BECAUSE} 5m"),
        format!("03:05:02 {api} is gone"),
    ];
    let history = history(&night(), pod_filter(api));
    assert_eq!(lines(&history), expected);
    // Its node goes on without it, and the other pods of the node are not reported.
    let late = history.entries.last().unwrap();
    assert_eq!((late.event, late.at), (HistoryEvent::PodDeleted, Wall::from_secs(NIGHT + 302)));
}

#[test]
fn a_pod_that_stayed_has_the_reason() {
    let reported = lines(&history(&night(), pod_filter("db-0")));
    assert_eq!(
        reported[3..],
        [
            "03:00:00 n2 got taint node.kubernetes.io/not-ready:NoExecute".to_owned(),
            format!("03:00:00 db-0 leaves at 03:20:00, in 20m: {BECAUSE} 20m"),
            "03:10:00 n2 lost taint node.kubernetes.io/not-ready:NoExecute".to_owned(),
            "03:10:00 db-0 stays: node n2 no longer has taint node.kubernetes.io/not-ready:NoExecute"
                .to_owned(),
        ]
    );
}

#[test]
fn without_a_name_there_are_the_decisions_alone() {
    let history = history(&night(), HistoryFilter::default());
    let reported: Vec<HistoryEvent> = history.entries.iter().map(|entry| entry.event).collect();
    assert_eq!(
        reported,
        [
            HistoryEvent::ListingBegan,
            HistoryEvent::RecordBegan,
            HistoryEvent::TaintsChanged,
            HistoryEvent::PodEvicted,
            HistoryEvent::PodEvicted,
            HistoryEvent::CountdownCancelled,
        ]
    );
    let [_, known, impact, first, ..] = &lines(&history)[..] else { panic!("{history:?}") };
    assert_eq!(
        known,
        "02:59:59 cluster Taintward knows 2 nodes and 3 pods; 0 nodes have NoExecute taints, and 0 pods count down"
    );
    assert_eq!(
        impact,
        "03:00:00 n2 has taint node.kubernetes.io/not-ready:NoExecute: 2 pods leave from 03:05:00 to 03:20:00, 1 stays"
    );
    assert!(first.starts_with("03:02:00 batch-1 was deleted by Taintward, "), "{first}");
    assert!(first.ends_with("the pod is there since 03:02:00, and the pod does not tolerate it"), "{first}");
}

#[test]
fn a_namespace_a_node_and_a_time_choose() {
    let pods = |filter| {
        let entries = history(&night(), filter).entries;
        let name = |entry: &HistoryEntry| match &entry.object {
            HistoryObject::Pod { name, .. } => Some(name.name().to_owned()),
            HistoryObject::Cluster | HistoryObject::Node(_) => None,
        };
        entries.iter().filter_map(name).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(" ")
    };
    let in_namespace =
        |name: &str| HistoryFilter { namespace: Some(name.to_owned()), ..HistoryFilter::default() };
    assert_eq!(pods(in_namespace("shop")), "api-7d4b9c6f5d-x7k2p batch-1 db-0");
    assert_eq!(pods(in_namespace("ops")), "");
    let of_node = |name: &str| HistoryFilter { nodes: vec![name.to_owned()], ..HistoryFilter::default() };
    assert_eq!(pods(of_node("n2")), "agent-fk2xv api-7d4b9c6f5d-x7k2p batch-1 db-0");
    assert_eq!(pods(of_node("n1")), "");
    let elsewhere = HistoryFilter { namespace: Some("ops".to_owned()), ..pod_filter("db-0") };
    assert_eq!(pods(elsewhere), "");
    let since = HistoryFilter { since: Some(Wall::from_secs(NIGHT + 600)), ..HistoryFilter::default() };
    assert_eq!(pods(since), "db-0");
}

#[test]
fn another_client_a_gap_and_a_missing_response_are_told() {
    let recorder = EngineRecorder::in_memory("0.1.0", RingLimits::default());
    let record = |sink: EngineRecorder| TappedLoop::new(sink, SegmentLimits::default());
    let pod = || named("shop", "web-0", 5).at_version(3);
    let mut before = record(recorder.clone());
    before.list([node("n2")], [pod(), named("shop", "web-1", 6).at_version(3)], at(0));
    before.turn(at(0));
    let terminating = PodFact { life_phase: PodLifePhase::Terminating, ..pod() }.at_version(4);
    before.apply_pod(terminating, at(5));
    before.turn(at(5));
    before.end(at(6));
    // The process begins anew; meanwhile, the first pod went.
    let mut after = record(recorder.clone());
    after.turn(at(60));
    after.list([node("n2")], [named("shop", "web-1", 6).at_version(3)], at(61));
    after.lose_responses();
    after.apply_node(node("n2").at_version(9).tainted([taint("gpu")]), at(62));
    after.turn(at(62));
    after.end(at(63));
    let reported = |name| lines(&history(&recorder.to_bytes(), pod_filter(name)));
    let first = reported("web-0");
    for line in [
        "03:00:05 web-0 is terminating: another client deleted it",
        "03:01:00 cluster nothing is recorded since 03:00:05",
        "03:01:01 web-0 is gone, since a time that is not recorded",
    ] {
        assert!(first.contains(&line.to_owned()), "{line}: {first:#?}");
    }
    let second = reported("web-1");
    let last = second.last().unwrap();
    assert_eq!(
        last,
        "03:01:02 web-1 Taintward requested the condition DisruptionTarget at 03:01:02, and the record ends before the response"
    );
    assert!(!second.iter().any(|line| line.contains("was deleted")), "{second:#?}");
}

#[test]
fn a_deletion_without_a_response_may_be_taintwards_own() {
    let last = |failure| {
        let recorder = EngineRecorder::in_memory("0.1.0", RingLimits::default());
        let mut tapped = TappedLoop::new(recorder.clone(), SegmentLimits::default());
        tapped.turn(at(0));
        let pod = || named("shop", "web-0", 5).at_version(3);
        tapped.list([node("n2")], [pod()], at(1));
        tapped.fail_deletion(failure);
        tapped.apply_node(node("n2").tainted([taint("gpu")]), at(2));
        tapped.turn(at(2));
        tapped.apply_pod(PodFact { life_phase: PodLifePhase::Terminating, ..pod() }.at_version(9), at(3));
        tapped.end(at(3));
        lines(&history(&recorder.to_bytes(), pod_filter("web-0"))).pop().unwrap()
    };
    assert_eq!(last(ApiFailure::Unavailable), "03:00:03 web-0 is terminating");
    assert_eq!(last(ApiFailure::Rejected), "03:00:03 web-0 is terminating: another client deleted it");
}

#[test]
fn a_segment_in_another_state_is_no_gap_if_no_time_is_missing() {
    let night = night();
    let header = night.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let mut frames = vec![header];
    while let Some(head) = night.get(frames[frames.len() - 1]..).filter(|rest| rest.len() > 14) {
        let packed = u32::from_le_bytes(head[6..10].try_into().unwrap());
        frames.push(frames[frames.len() - 1] + 14 + packed as usize);
    }
    // Without the second block, in which the pods are listed, this program decides differently from there on.
    let without = [&night[..frames[1]], &night[frames[2]..]].concat();
    let events = |record: &[u8]| -> Vec<HistoryEvent> {
        history(record, pod_filter("db-0")).entries.iter().map(|entry| entry.event).collect()
    };
    let (whole, damaged) = (events(&night), events(&without));
    assert!(
        whole.contains(&HistoryEvent::CountdownStarted) && !damaged.contains(&HistoryEvent::CountdownStarted)
    );
    assert!(!damaged.contains(&HistoryEvent::GapFound), "{damaged:?}");
    // The next segment begins with the state, so that the pod is known again.
    assert_eq!(damaged.last(), Some(&HistoryEvent::CountdownCancelled));
}

#[test]
fn the_schema_describes_what_is_printed() {
    let filter = HistoryFilter { nodes: vec!["n2".into()], ..HistoryFilter::default() };
    let history = history(&night(), filter);
    assert!(history.entries.len() > 10, "{history:?}");
    check(&schema("history.schema.json"), &history.object());
}

/// `RECORD=overwrite` writes it anew, after a change of the format.
#[test]
fn the_record_of_the_examples_is_that_of_the_night() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(EXAMPLE);
    if env::var("RECORD").as_deref() == Ok("overwrite") {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, night()).unwrap();
    }
    let stored = fs::read(&path).unwrap();
    let entries = |record: &[u8]| history(record, HistoryFilter::default()).entries;
    assert_eq!(entries(&stored), entries(&night()));
}
