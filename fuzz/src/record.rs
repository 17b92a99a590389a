//! Fuzzes the reading of records: no panic, no hang, bounded memory.
//!
//! - Run with libFuzzer (`cargo xtask fuzz record`), or on files
//!   (`cargo run --manifest-path fuzz/Cargo.toml --bin record -- FILE...`).
//! - An input is read as a record, and as the content of a frame, which a checksum protects in a record. Its first byte says of
//!   which. No engine gets what is decoded: a state that no engine was in may make it panic.

#![cfg_attr(feature = "libfuzzer", no_main)]

use taintward_record::{Frame, FrameContent, FrameWriter, RecordReader, RecordedController, RecordedNames};

const FRAMES: [(FrameContent, RecordedController); 6] = [
    (FrameContent::State, RecordedController::TaintEviction),
    (FrameContent::Calls, RecordedController::TaintEviction),
    (FrameContent::State, RecordedController::NodeLifecycle),
    (FrameContent::Calls, RecordedController::NodeLifecycle),
    (FrameContent::State, RecordedController::TolerationSeconds),
    (FrameContent::Calls, RecordedController::TolerationSeconds),
];

/// The number of frames that could be decoded.
fn read(bytes: &[u8]) -> usize {
    let names = RecordedNames::default();
    let mut decoded = 0;
    if let Ok(mut reader) = RecordReader::open(bytes) {
        while let Ok(Some(frame)) = reader.next_frame() {
            decoded += usize::from(names.read(&frame).is_ok());
        }
    }
    let Some((first, content)) = bytes.split_first() else { return decoded };
    let (kind, controller) = FRAMES[usize::from(*first) % FRAMES.len()];
    let frame = Frame { content: kind, controller, bytes: content.to_vec() };
    if names.read(&frame).is_ok() {
        decoded += 1;
        let redacted = names.redaction().redact(&frame).expect("it was decoded before");
        let mut writer = FrameWriter::new(Vec::new(), "fuzz").expect("memory");
        writer.write(&redacted).expect("memory");
        let record = writer.finish().expect("memory");
        let mut reader = RecordReader::open(&record[..]).expect("a record");
        assert_eq!(reader.next_frame().expect("a frame"), Some(redacted));
    }
    decoded
}

#[cfg(feature = "libfuzzer")]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    read(bytes);
});

#[cfg(not(feature = "libfuzzer"))]
fn main() -> std::io::Result<()> {
    for path in std::env::args_os().skip(1) {
        println!("{}: {} frames", path.display(), read(&std::fs::read(&path)?));
    }
    Ok(())
}
