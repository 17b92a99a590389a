//! Compares a record with one that is stored, so that no change of a recorded type goes unnoticed.
//!
//! - If the types have changed on purpose, raise `FORMAT`, and write the stored record anew: `RECORD=overwrite`.

use super::{recorded, replayed};
use crate::{Frame, RecordReader};
use std::path::Path;
use std::{env, fs};

fn frames(bytes: &[u8]) -> Vec<Frame> {
    let mut reader = RecordReader::open(bytes).unwrap();
    std::iter::from_fn(|| reader.next_frame().unwrap()).collect()
}

#[test]
fn a_record_of_this_format_has_these_bytes_and_can_be_replayed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/stored.record");
    let recorded = recorded();
    if env::var("RECORD").as_deref() == Ok("overwrite") {
        fs::write(&path, &recorded).unwrap();
    }
    let stored = fs::read(&path).unwrap();
    // Compressed bytes may differ from one version of the compressor to the next.
    let is_same = frames(&stored) == frames(&recorded);
    assert!(is_same, "a recorded type has changed: raise FORMAT, and run this test with RECORD=overwrite");
    let (summaries, _) = replayed(&stored).unwrap();
    assert_eq!(summaries[0].effects, 6);
}
