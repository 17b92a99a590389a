//! `docs/reference.md` is what the program says of itself.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;
use std::process::Command;

#[test]
fn the_reference_is_what_the_program_prints() {
    let output = Command::new(env!("CARGO_BIN_EXE_taintward")).arg("docs").output().unwrap();
    assert!(output.status.success());
    let printed = String::from_utf8(output.stdout).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference.md");
    let kept = std::fs::read_to_string(path).unwrap();
    let differs = printed.lines().zip(kept.lines()).find(|(printed, kept)| printed != kept);
    assert!(
        printed == kept,
        "docs/reference.md differs from the program: {differs:?}\n\
         make it anew: cargo run --quiet --package taintward -- docs > docs/reference.md"
    );
}
