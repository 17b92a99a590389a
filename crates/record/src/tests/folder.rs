//! Tests records in a folder: which files there are, and what becomes of a folder that cannot be written.

use super::{PROGRAM, at, replayed, run};
use crate::testkit::TappedLoop;
use crate::{
    EngineRecorder, FolderLimits, Frame, FrameSink, OpenBlock, RecordReader, RecordedController, Replay,
    ReplaySummary, RingLimits, SegmentLimits, record_files,
};
use std::path::{Path, PathBuf};
use std::{env, fs, io, process};
use taintward_core::time::{Now, Span};

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

    fn open_block(&self, controller: RecordedController) -> OpenBlock {
        self.0.open_block(controller)
    }
}

fn in_folder(folder: &Path, limits: FolderLimits) -> io::Result<EngineRecorder> {
    EngineRecorder::in_background(PROGRAM, RingLimits::default(), Some((folder, limits)))
}

/// Runs an engine with segments of ten seconds.
fn run_in(folder: &Path, limits: FolderLimits) {
    let recorder = in_folder(folder, limits).unwrap();
    let segments = SegmentLimits { age: Span::from_secs(10), bytes: usize::MAX };
    run(&mut TappedLoop::new(Waits(recorder), segments));
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
fn the_latest_segments_are_in_memory_too() {
    let folder = RecordFolder::new("memory");
    let recorder = in_folder(&folder.0, limits(MUCH, Span::from_secs(1000))).unwrap();
    run(&mut TappedLoop::new(Waits(recorder.clone()), SegmentLimits::default()));
    let (summaries, is_cut_off) = replayed(&recorder.to_bytes()).unwrap();
    assert_eq!((summaries, is_cut_off), (vec![replay_folder(&folder.0)], false));
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
    let recorder = in_folder(&folder.0, limits(MUCH, Span::from_secs(1000))).unwrap();
    fs::remove_dir_all(&folder.0).unwrap();
    let segments = SegmentLimits { age: Span::from_secs(10), bytes: usize::MAX };
    let mut tapped = TappedLoop::new(recorder.clone(), segments);
    run(&mut tapped);
    recorder.finish();
    fs::create_dir_all(&folder.0).unwrap();
    // The tap learns of it with the next frame, and begins a new segment after its pause.
    for second in 120..140 {
        tapped.turn(at(second));
        recorder.finish();
    }
    tapped.end(at(140));
    recorder.finish();
    let summary = replay_folder(&folder.0);
    let (first, last) = summary.times.unwrap();
    assert!(at(120).mono < first.mono && last == at(139), "{summary:?}");
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error() {
    let folder = RecordFolder::new("file");
    fs::write(&folder.0, "a file").unwrap();
    assert!(in_folder(&folder.0, limits(MUCH, Span::ZERO)).is_err());
    fs::remove_file(&folder.0).unwrap();
}

#[test]
fn a_process_that_ends_suddenly_writes_the_calls_that_wait() {
    let out = RecordFolder::new("sudden");
    fs::create_dir_all(&out.0).unwrap();
    let recorder = EngineRecorder::in_background(PROGRAM, RingLimits::default(), None).unwrap();
    let mut tapped = TappedLoop::new(Waits(recorder.clone()), SegmentLimits::default());
    run(&mut tapped);
    tapped.turn(at(121));
    let without = replayed(&recorder.to_bytes()).unwrap().0;
    assert_eq!(without[0].times.unwrap().1, at(119));
    let path = recorder.write_out(&out.0, at(122).wall).unwrap();
    assert!(path.ends_with("20270115T080202.000000Z-taintward.record"), "{path:?}");
    let (summaries, is_cut_off) = replayed(&fs::read(&path).unwrap()).unwrap();
    assert_eq!((summaries[0].times.unwrap().1, is_cut_off), (at(121), false));
    assert_eq!(record_files(&out.0).unwrap(), [path]);
    // A second one at the same time is not written over the first.
    assert!(recorder.write_out(&out.0, at(122).wall).is_err());
    // With a folder, they are written there, and the engine goes on in the same segment.
    let folder = RecordFolder::new("sudden-folder");
    let recorder = in_folder(&folder.0, limits(MUCH, Span::from_secs(1000))).unwrap();
    let mut tapped = TappedLoop::new(Waits(recorder.clone()), SegmentLimits::default());
    run(&mut tapped);
    tapped.turn(at(121));
    assert_eq!(recorder.write_out(&out.0, at(122).wall).unwrap(), folder.0);
    assert_eq!(replay_folder(&folder.0).times.unwrap().1, at(121));
    tapped.turn(at(123));
    tapped.end(at(124));
    recorder.finish();
    let summary = replay_folder(&folder.0);
    assert_eq!((summary.times.unwrap().1, summary.segments), (at(123), 1));
}
