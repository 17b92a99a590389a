//! Tests that `docs/reference.md`, `docs/cli` and the man pages are up to date.

use crate::cli::running::TestFolder;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use taintward_envtest::binaries;

fn docs(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_taintward")).arg("docs").args(arguments).output().unwrap()
}

fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn the_reference_is_what_the_program_prints() {
    let output = docs(&[]);
    assert!(output.status.success());
    let printed = String::from_utf8(output.stdout).unwrap();
    let kept = std::fs::read_to_string(kept("reference.md")).unwrap();
    let differs = printed.lines().zip(kept.lines()).find(|(printed, kept)| printed != kept);
    assert!(
        printed == kept,
        "docs/reference.md differs from the program: {differs:?}\n\
         write it again: cargo run --quiet --package taintward -- docs > docs/reference.md"
    );
}

#[test]
fn every_command_has_the_page_that_the_program_writes() {
    let folder = TestFolder::named("docs-cli");
    let output = docs(&["--cli", folder.path().to_str().unwrap()]);
    assert!(
        output.status.success() && output.stdout.starts_with(b"a page for each command: /"),
        "{output:?}"
    );
    let anew = "write them again: cargo run --quiet --package taintward -- docs --cli docs/cli";
    assert_eq!(names(folder.path()), names(&kept("cli")), "{anew}");
    for name in names(folder.path()) {
        let written = std::fs::read_to_string(folder.path().join(&name)).unwrap();
        let kept = std::fs::read_to_string(kept("cli").join(&name)).unwrap();
        let differs = written.lines().zip(kept.lines()).find(|(written, kept)| written != kept);
        assert!(written == kept, "docs/cli/{name} differs from the program: {differs:?}\n{anew}");
    }
}

#[test]
fn man_pages_are_written_and_can_be_read() {
    let folder = TestFolder::named("docs-man");
    let output = docs(&["--man", folder.path().to_str().unwrap()]);
    let message = format!("a man page for each command: {}\n", folder.path().display());
    assert!(output.status.success() && output.stdout == message.as_bytes(), "{output:?}");
    let names = names(folder.path());
    for name in ["taintward.1", "taintward-run.1", "taintward-lint.1", "taintward-sandbox-node-silence.1"] {
        assert!(names.iter().any(|written| written == name), "{name}: {names:?}");
    }
    if Command::new("groff").arg("--version").output().is_err() {
        return binaries::skipped("man_pages_are_written_and_can_be_read", "it needs groff");
    }
    for name in names {
        let mut groff = Command::new("groff");
        let read =
            groff.args(["-man", "-ww", "-Tutf8", "-P-cbou"]).arg(folder.path().join(&name)).output().unwrap();
        assert!(
            read.status.success() && read.stderr.is_empty(),
            "{name}: {}",
            String::from_utf8_lossy(&read.stderr)
        );
        let text = String::from_utf8(read.stdout).unwrap();
        assert!(text.contains("NAME") && text.contains("SYNOPSIS"), "{name}: {text}");
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let output = docs(&["--cli", "/dev/null/pages"]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(message.starts_with("error: cannot write to /dev/null/pages: "), "{message}");
}
