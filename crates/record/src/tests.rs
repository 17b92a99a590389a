//! Records an eviction engine, and reads the record again: whole, cut off, damaged, from another version, changed.

use crate::{
    CallTap, EngineRecorder, EngineTap, FolderLimits, Frame, FrameSink, RecordError, RecordReader,
    RecordedController, Replay, ReplayError, ReplaySummary, RingLimits, SegmentLimits, record_files,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, process};
use taintward_core::engine::{Engine as _, Lane, LiveRead};
use taintward_core::eviction::{EvictionConfig, EvictionEffect, EvictionEngine, EvictionInput};
use taintward_core::fact::{NodeFact, PodFact};
use taintward_core::hash::fnv1a;
use taintward_core::identity::{PodId, PodName, ResourceVersion, Uid};
use taintward_core::object_event::ObjectEvent;
use taintward_core::testkit::{node, node_health_tolerations, pod, taint, toleration};
use taintward_core::time::{Mono, Now, Span, Wall};

const PROGRAM: &str = "0.0.1-test";

fn at(second: i64) -> Now {
    Now::exact(Mono::from_secs(second), Wall::from_secs(1_800_000_000 + second))
}

fn recorder() -> EngineRecorder {
    EngineRecorder::in_memory(PROGRAM, RingLimits::default())
}

/// An engine and its tap, called as a control loop does. All requests succeed.
struct TappedLoop {
    engine: EvictionEngine,
    tap: Box<dyn CallTap<EvictionEngine>>,
    node: NodeFact,
}

impl TappedLoop {
    fn new(sink: impl FrameSink + Send + 'static, limits: SegmentLimits) -> Self {
        let engine = EvictionEngine::new(EvictionConfig::default());
        let tap = Box::new(EngineTap::new(RecordedController::TaintEviction, limits, sink));
        Self { engine, tap, node: node("n1") }
    }

    fn handle(&mut self, input: EvictionInput, now: Now) {
        self.tap.handle(&input, now);
        self.engine.handle(input, now);
    }

    fn respond(&mut self, effect: EvictionEffect, now: Now) {
        let input = match effect {
            EvictionEffect::ReadNode { node } => {
                let result = Ok(LiveRead::Found(self.node.clone()));
                EvictionInput::NodeConfirmed { node, sent: now.mono, result }
            }
            EvictionEffect::SetDisruptionTarget { pod, .. } => {
                EvictionInput::Marked { pod, result: Ok(Some(ResourceVersion(7))) }
            }
            EvictionEffect::DeletePod { pod, .. } => {
                self.handle(EvictionInput::Deleted { pod: pod.clone(), result: Ok(()) }, now);
                EvictionInput::Pods(ObjectEvent::Deleted(pod.into()))
            }
            other => panic!("unexpected: {other:?}"),
        };
        self.handle(input, now);
    }

    fn turn(&mut self, now: Now) {
        self.tap.turn(&self.engine, now);
        self.tap.tick(now);
        self.engine.tick(now.mono);
        loop {
            let effect = self.engine.next_effect(Lane::All, now);
            self.tap.pull(Lane::All, effect.as_ref(), now);
            let Some(effect) = effect else { break };
            self.respond(effect, now);
        }
        let notices = self.engine.take_notices();
        self.tap.notices(&notices, now);
    }

    /// Two minutes: one pod leaves at once and one after a minute, because of a taint that appears in second 10.
    fn run(&mut self) {
        self.turn(at(0));
        let pods =
            [pod("now").at_version(5), pod("later").at_version(6).tolerates([toleration("gpu", Some(60))])];
        self.list(pods, at(1));
        for second in 2..120 {
            if second == 10 {
                self.node = self.node.clone().tainted([taint("gpu")]);
                let event = ObjectEvent::Applied { fact: self.node.clone(), listed: false };
                self.handle(EvictionInput::Nodes(event), at(second));
            }
            self.turn(at(second));
        }
        self.tap.flush(at(120));
    }

    fn list(&mut self, pods: [PodFact; 2], now: Now) {
        let listed = ObjectEvent::Applied { fact: self.node.clone(), listed: true };
        for event in [ObjectEvent::ListStarted { silent_since: None }, listed, ObjectEvent::ListCompleted] {
            self.handle(EvictionInput::Nodes(event), now);
        }
        let listed = pods.map(|fact| ObjectEvent::Applied { fact, listed: true });
        let started = ObjectEvent::ListStarted { silent_since: None };
        for event in [started].into_iter().chain(listed).chain([ObjectEvent::ListCompleted]) {
            self.handle(EvictionInput::Pods(event), now);
        }
    }
}

/// A record of [`TappedLoop::run`].
fn recorded() -> Vec<u8> {
    let recorder = recorder();
    TappedLoop::new(recorder.clone(), SegmentLimits::default()).run();
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
    TappedLoop::new(recorder.clone(), limits).run();
    let (summaries, _) = replayed(&recorder.to_bytes()).unwrap();
    let (first, _) = summaries[0].times.unwrap();
    assert!(at(80).mono < first.mono && first.mono <= at(90).mono, "the ring keeps 30 s: {summaries:?}");
    // The last ones begin after both evictions, so the first state is one in which no pod is left to evict.
    assert_eq!(summaries[0].effects, 0);

    let recorder =
        EngineRecorder::in_memory(PROGRAM, RingLimits { age: Span::from_secs(60), bytes: usize::MAX });
    TappedLoop::new(recorder.clone(), limits).run();
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
    loops.list([pod("a").at_version(5), pod("b").at_version(6)], at(1));
    let node = node("n1").tainted([taint("gpu")]);
    loops.tap.handle(&EvictionInput::Nodes(ObjectEvent::Applied { fact: node, listed: false }), at(2));
    loops.turn(at(2));
    loops.tap.flush(at(3));
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
        TappedLoop::new(sink.clone(), SegmentLimits::default()).run();
        let (summaries, _) = replayed(&sink.sink.to_bytes()).unwrap();
        assert_eq!(summaries[0].segments, if at == 0 { 1 } else { 2 }, "frame {at}");
    }
}

/// A folder that is removed in the end.
struct RecordFolder(PathBuf);

impl RecordFolder {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("taintward-record-{name}-{}", process::id()));
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for RecordFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn limits(bytes: u64, age: Span) -> FolderLimits {
    FolderLimits { bytes, age }
}

const MUCH: u64 = 1 << 30;

/// Waits for each frame, because virtual time does not wait for the thread that writes.
struct Waits(EngineRecorder);

impl FrameSink for Waits {
    fn send(&self, frame: Frame, now: Now) -> bool {
        let is_sent = self.0.send(frame, now);
        self.0.finish();
        is_sent
    }
}

/// Runs an engine with segments of ten seconds.
fn run_in(folder: &Path, limits: FolderLimits) {
    let recorder = EngineRecorder::in_folder(folder, PROGRAM, limits).unwrap();
    let segments = SegmentLimits { age: Span::from_secs(10), bytes: usize::MAX };
    TappedLoop::new(Waits(recorder), segments).run();
}

fn replay_folder(folder: &Path) -> ReplaySummary {
    let mut replay = Replay::new();
    for path in record_files(folder).unwrap() {
        let bytes = fs::read(&path).unwrap();
        replay.read(&mut RecordReader::open(&bytes[..]).unwrap()).unwrap();
    }
    replay.summaries().next().unwrap().clone()
}

#[test]
fn a_folder_has_a_file_for_each_segment_and_can_be_replayed() {
    let folder = RecordFolder::new("whole");
    run_in(&folder.0.join("new/folder"), limits(MUCH, Span::from_secs(1000)));
    let folder = folder.0.join("new/folder");
    fs::write(folder.join("notes.txt"), "not a record").unwrap();
    let files = record_files(&folder).unwrap();
    assert_eq!(files.len(), 12);
    assert!(files[0].ends_with("20270115T080000.000000Z-taint-eviction-controller.record"), "{files:?}");
    let summary = replay_folder(&folder);
    assert_eq!((summary.segments, summary.effects), (12, 6));
    assert_eq!(summary.times, Some((at(0), at(119))));
}

#[test]
fn the_oldest_files_make_room_by_age_and_by_size() {
    let folder = RecordFolder::new("old");
    run_in(&folder.0, limits(MUCH, Span::from_secs(35)));
    // The last one begins in second 110, and those before it in 100, 90 and 80.
    assert_eq!(record_files(&folder.0).unwrap().len(), 4);
    let folder = RecordFolder::new("large");
    run_in(&folder.0, limits(3000, Span::from_secs(1000)));
    let files = record_files(&folder.0).unwrap();
    let sizes: Vec<u64> = files.iter().map(|path| fs::metadata(path).unwrap().len()).collect();
    let all_but_the_last: u64 = sizes[..sizes.len() - 1].iter().sum();
    assert!(files.len() > 1 && all_but_the_last <= 3000, "{sizes:?}");
    assert!(replay_folder(&folder.0).segments == files.len());
}

#[test]
fn a_folder_that_vanishes_stops_the_record_and_nothing_else() {
    let folder = RecordFolder::new("vanishes");
    let recorder =
        EngineRecorder::in_folder(&folder.0, PROGRAM, limits(MUCH, Span::from_secs(1000))).unwrap();
    fs::remove_dir_all(&folder.0).unwrap();
    let segments = SegmentLimits { age: Span::from_secs(10), bytes: usize::MAX };
    let mut tapped = TappedLoop::new(recorder.clone(), segments);
    tapped.run();
    recorder.finish();
    fs::create_dir_all(&folder.0).unwrap();
    // The tap learns of it with the next frame, and begins a new segment after its pause.
    for second in 120..140 {
        tapped.turn(at(second));
        recorder.finish();
    }
    tapped.tap.flush(at(140));
    recorder.finish();
    let summary = replay_folder(&folder.0);
    let (first, last) = summary.times.unwrap();
    assert!(at(120).mono < first.mono && last == at(139), "{summary:?}");
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error() {
    let folder = RecordFolder::new("file");
    fs::write(&folder.0, "a file").unwrap();
    assert!(EngineRecorder::in_folder(&folder.0, PROGRAM, limits(MUCH, Span::ZERO)).is_err());
    fs::remove_file(&folder.0).unwrap();
}

/// A pod as an API server shows it: random in what is random there, with the tolerations that admission adds.
fn random_pod(number: u64) -> PodFact {
    let mixed = |salt: u64| fnv1a(&format!("{number} {salt}"));
    let uid = format!(
        "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
        mixed(1) as u32,
        mixed(2) as u16,
        mixed(3) & 0xfff,
        mixed(4) & 0xfff,
        mixed(5) & 0xffff_ffff_ffff
    );
    let name = PodName::new("shop", &format!("web-{:010x}-{:05x}", number / 20, mixed(6) & 0xf_ffff));
    let fact = pod("web").on(&format!("node-{:04}.eu-central-1.compute.internal", number % 500));
    let tolerations = node_health_tolerations(Some(300), Some(300));
    PodFact { id: PodId::new(Uid::new(&uid), name), ..fact }
        .at_version(1_000_000 + number)
        .tolerates(tolerations)
}

/// The bytes of a record of these pods' events, for each event. A thousand events come in a second, eight in a batch.
fn bytes_per_event(pods: impl Iterator<Item = PodFact>) -> f64 {
    let recorder = recorder();
    let mut tapped = TappedLoop::new(recorder.clone(), SegmentLimits::default());
    tapped.turn(at(0));
    tapped.list([pod("a").at_version(5), pod("b").at_version(6)], at(0));
    let before = recorder.to_bytes().len();
    let mut events = 0;
    for fact in pods {
        let now = Mono::from_micros(events * 1_000 + events * 7919 % 613);
        let now = Now::new(now, at(0).wall_of(now), Some(Span::from_millis(1_004)));
        tapped.handle(EvictionInput::Pods(ObjectEvent::Applied { fact, listed: false }), now);
        events += 1;
        if events % 8 == 0 {
            tapped.turn(now);
        }
    }
    tapped.tap.flush(at(1_000));
    replayed(&recorder.to_bytes()).unwrap();
    (recorder.to_bytes().len() - before) as f64 / events as f64
}

#[test]
fn an_event_takes_few_bytes() {
    let of_new_pods = bytes_per_event((0..20_000).map(random_pod));
    // Most events are about pods that are known: a kubelet reports their status.
    let of_known_pods = bytes_per_event((0..20_000).map(|event| {
        let version = 2_000_000 + event * 3;
        random_pod(event * 7919 % 1_000).at_version(version)
    }));
    println!("bytes for each event: {of_new_pods:.1} of new pods, {of_known_pods:.1} of known pods");
    assert!(of_new_pods <= 40.0 && of_known_pods <= 40.0);
}
