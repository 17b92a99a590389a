//! Records an eviction engine, and reads the record again: whole, cut off, damaged, from another version, changed.

mod folder;
mod format;
mod policies;
mod redact;
mod regressions;
mod size;

use crate::testkit::TappedLoop;
use crate::{
    EngineRecorder, Frame, FrameSink, RecordError, RecordReader, RecordedController, Replay, ReplayError,
    ReplaySummary, RingLimits, SegmentLimits,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use taintward_core::eviction::EvictionInput;
use taintward_core::object_event::ObjectEvent;
use taintward_core::testkit::{node, pod, taint, toleration};
use taintward_core::time::{Mono, Now, Span, Wall};

const PROGRAM: &str = "0.0.1-test";

fn at(second: i64) -> Now {
    Now::exact(Mono::from_secs(second), Wall::from_secs(1_800_000_000 + second))
}

fn recorder() -> EngineRecorder {
    EngineRecorder::in_memory(PROGRAM, RingLimits::default())
}

/// Two minutes: one pod leaves at once and one after a minute, because of a taint that appears in second 10.
fn run(tapped: &mut TappedLoop) {
    tapped.turn(at(0));
    let pods =
        [pod("now").at_version(5), pod("later").at_version(6).tolerates([toleration("gpu", Some(60))])];
    tapped.list([node("n1")], pods, at(1));
    for second in 2..120 {
        if second == 10 {
            tapped.apply_node(node("n1").tainted([taint("gpu")]), at(second));
        }
        tapped.turn(at(second));
    }
    tapped.end(at(120));
}

/// A record of [`run`].
fn recorded() -> Vec<u8> {
    let recorder = recorder();
    run(&mut TappedLoop::new(recorder.clone(), SegmentLimits::default()));
    recorder.to_bytes()
}

fn replayed(bytes: &[u8]) -> Result<(Vec<ReplaySummary>, bool), ReplayError> {
    let mut reader = RecordReader::open(bytes)?;
    let mut replay = Replay::new();
    replay.read(&mut reader)?;
    Ok((replay.summaries().cloned().collect(), reader.is_cut_off()))
}

fn error_of(bytes: &[u8]) -> String {
    replayed(bytes).unwrap_err().to_string()
}

#[test]
fn a_replay_finds_the_same_effects_and_notices() {
    let (summaries, is_cut_off) = replayed(&recorded()).unwrap();
    let [summary] = &summaries[..] else { panic!("{summaries:?}") };
    assert!(!is_cut_off);
    // Two pods: each is marked and deleted after a read of the node.
    assert_eq!((summary.segments, summary.effects, summary.inputs), (1, 6, 16));
    assert!(summary.notices >= 4, "{summary:?}");
    assert_eq!(summary.times, Some((at(0), at(119))));
}

#[test]
fn every_segment_can_be_replayed_without_those_before() {
    let limits = SegmentLimits { age: Span::from_secs(7), bytes: usize::MAX };
    let recorder =
        EngineRecorder::in_memory(PROGRAM, RingLimits { age: Span::from_secs(30), bytes: usize::MAX });
    run(&mut TappedLoop::new(recorder.clone(), limits));
    let (summaries, _) = replayed(&recorder.to_bytes()).unwrap();
    let (first, _) = summaries[0].times.unwrap();
    assert!(at(80).mono < first.mono && first.mono <= at(90).mono, "the ring keeps 30 s: {summaries:?}");
    // The last ones begin after both evictions, so the first state is one in which no pod is left to evict.
    assert_eq!(summaries[0].effects, 0);

    let recorder =
        EngineRecorder::in_memory(PROGRAM, RingLimits { age: Span::from_secs(60), bytes: usize::MAX });
    run(&mut TappedLoop::new(recorder.clone(), limits));
    let (summaries, _) = replayed(&recorder.to_bytes()).unwrap();
    let (first, _) = summaries[0].times.unwrap();
    assert!(at(10).mono < first.mono, "the taint was observed before: {summaries:?}");
    assert_eq!(summaries[0].effects, 3, "the second pod leaves by the state that the record begins with");
}

#[test]
fn another_decision_is_a_difference() {
    // A program that ignores the taint decides otherwise.
    let recorder = recorder();
    let mut loops = TappedLoop::new(recorder.clone(), SegmentLimits::default());
    loops.turn(at(0));
    loops.list([node("n1")], [pod("a").at_version(5), pod("b").at_version(6)], at(1));
    let node = node("n1").tainted([taint("gpu")]);
    loops.record(&EvictionInput::Nodes(ObjectEvent::Applied { fact: node, listed: false }), at(2));
    loops.turn(at(2));
    loops.end(at(3));
    let error = error_of(&recorder.to_bytes());
    let (before, after) = error.split_once(", and this program does ").unwrap();
    assert_eq!(before, "after 8 inputs, taint-eviction-controller did None");
    assert_eq!(after, "Some(ReadNode { node: node/n1 })");
}

#[test]
fn a_record_that_is_cut_off_anywhere_is_read_up_to_there() {
    let whole = recorded();
    let header = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for length in (header..whole.len()).step_by(7) {
        let (summaries, is_cut_off) = replayed(&whole[..length]).unwrap();
        assert_eq!(is_cut_off, length > header && !ends_at_a_frame(&whole, length), "{length}");
        assert!(summaries.iter().all(|summary| summary.effects <= 6));
    }
    // The file system had allocated more.
    let zeros = [&whole[..], &[0; 100]].concat();
    let (summaries, is_cut_off) = replayed(&zeros).unwrap();
    assert!(is_cut_off);
    assert_eq!(summaries[0].effects, 6);
}

fn ends_at_a_frame(whole: &[u8], length: usize) -> bool {
    let mut at = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    while at < length {
        let packed = u32::from_le_bytes(whole[at + 6..at + 10].try_into().unwrap());
        at += 14 + packed as usize;
    }
    at == length
}

#[test]
fn requests_that_violate_a_property_are_found() {
    let check = |record: &[u8]| {
        let mut replay = Replay::new();
        let replayed = replay.read(&mut RecordReader::open(record).unwrap());
        let found: Vec<String> = replay.check().violations.iter().map(ToString::to_string).collect();
        (replayed.is_ok(), replay.check().checked, found)
    };
    assert_eq!(check(&recorded()), (true, 6, Vec::new()));
    // An engine that knew other tolerations than the record says sends requests that the record does not justify.
    let recorder = recorder();
    let mut tapped = TappedLoop::new(recorder.clone(), SegmentLimits::default());
    tapped.turn(at(0));
    let tolerates = pod("a").at_version(5).tolerates([toleration("gpu", None)]);
    tapped.list([node("n1")], [tolerates], at(1));
    let fact = pod("a").at_version(5);
    tapped.handle_unrecorded(EvictionInput::Pods(ObjectEvent::Applied { fact, listed: false }), at(2));
    tapped.apply_node(node("n1").tainted([taint("gpu")]), at(2));
    tapped.turn(at(2));
    tapped.end(at(3));
    let (is_same, _, found) = check(&recorder.to_bytes());
    assert!(!is_same && found.len() == 2, "the condition and the deletion: {found:?}");
    assert_eq!(
        found[0],
        "S3: pod default/a (UID a) on node n1: no NoExecute taint of its node evicts it yet"
    );
}

#[test]
fn a_changed_byte_is_found() {
    let whole = recorded();
    let header = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for at in (header..whole.len()).step_by(11) {
        let mut changed = whole.clone();
        changed[at] ^= 0x10;
        match replayed(&changed) {
            // The last frame may have been written in part, and so may one that seems to be longer than the file.
            Ok((_, is_cut_off)) => assert!(is_cut_off, "byte {at}"),
            Err(ReplayError::Record(RecordError::Damaged { at: frame, .. })) => {
                assert!(frame <= at as u64 && frame >= header as u64, "byte {at}: {frame}");
            }
            Err(other) => panic!("byte {at}: {other}"),
        }
    }
}

#[test]
fn other_files_are_named() {
    for other in [&b""[..], b"kind: Pod\n", b"{}\n", b"{\"taintwardRecord\":\"1\"}\n", &[0xff; 5000]] {
        let error = error_of(other);
        assert_eq!(error, "this is no record of Taintward: its first line is not the header of a record");
    }
    let newer = b"{\"taintwardRecord\":99,\"program\":\"9.9.9\"}\nwhatever";
    assert_eq!(
        error_of(newer),
        "taintward 9.9.9 wrote this record in format 99, and this program reads format 1: replay it with that version"
    );
}

#[test]
fn a_frame_that_unpacks_to_more_than_it_says_is_damaged() {
    let header = b"{\"taintwardRecord\":1,\"program\":\"x\"}\n";
    let frame = Frame {
        content: crate::FrameContent::Calls,
        controller: RecordedController::TaintEviction,
        bytes: vec![7; 1 << 20],
    };
    let mut packed = frame.pack().unwrap();
    packed[2..6].copy_from_slice(&10_u32.to_le_bytes());
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&packed[..10]);
    hasher.update(&packed[14..]);
    packed[10..14].copy_from_slice(&hasher.finalize().to_le_bytes());
    let more = [header, &packed[..], &packed[..]].concat();
    assert_eq!(
        error_of(&more),
        format!(
            "the record is damaged at byte {}: the content has another length than the frame says",
            header.len()
        )
    );
}

/// Drops one frame.
#[derive(Clone)]
struct DropsOne {
    sink: EngineRecorder,
    at: usize,
    sent: Arc<AtomicUsize>,
}

impl FrameSink for DropsOne {
    fn send(&self, frame: Frame, now: Now) -> bool {
        let number = self.sent.fetch_add(1, Ordering::Relaxed);
        number != self.at && self.sink.send(frame, now)
    }
}

#[test]
fn after_a_dropped_frame_a_new_segment_begins() {
    for at in 0..20 {
        let sink = DropsOne { sink: recorder(), at, sent: Arc::default() };
        run(&mut TappedLoop::new(sink.clone(), SegmentLimits::default()));
        let (summaries, _) = replayed(&sink.sink.to_bytes()).unwrap();
        assert_eq!(summaries[0].segments, if at == 0 { 1 } else { 2 }, "frame {at}");
    }
}
