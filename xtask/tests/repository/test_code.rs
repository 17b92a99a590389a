//! Tests that tests take common objects from the crates of fixtures, and wait for conditions.

use std::fs;
use std::path::Path;
use xtask::files::files_below;

/// The objects that `taintward_core::testkit` and the crate `testkit` build. Two tests write YAML whose positions matter.
const BUILDERS: [&str; 4] = ["fn pod(", "fn node(", "fn taint(", "fn toleration("];
const BUILDERS_MAX: usize = 2;

/// The tests of processes and connections, whose time is real.
const REAL_TIME: [&str; 3] = ["crates/admission/tests/", "crates/cli/tests/", "crates/fakekube/tests/"];

/// The lines of all files that `counts` selects that `is_found` selects.
fn found(counts: fn(&str) -> bool, is_found: fn(&str) -> bool) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let files = files_below(root, &["rs"]).unwrap().into_iter();
    let files = files.map(|file| (file.strip_prefix(root).unwrap().to_string_lossy().into_owned(), file));
    let lines = files.filter(|(path, _)| counts(path)).flat_map(|(path, file)| {
        let text = fs::read_to_string(file).unwrap();
        let lines = text.lines().enumerate().filter(|(_, line)| is_found(line));
        lines.map(|(at, line)| format!("{path}:{}: {}", at + 1, line.trim())).collect::<Vec<_>>()
    });
    lines.collect()
}

fn is_test(path: &str) -> bool {
    (path.contains("/tests/") || path.ends_with("/tests.rs")) && !path.starts_with("xtask/tests/")
}

/// Methods with a receiver do something with their harness.
fn is_builder(line: &str) -> bool {
    BUILDERS.iter().any(|builder| line.contains(builder)) && !line.contains("self")
}

fn is_real_time(path: &str) -> bool {
    REAL_TIME.iter().any(|folder| path.starts_with(folder))
}

fn is_sleep(line: &str) -> bool {
    !line.trim_start().starts_with("//") && (line.contains("sleep(") || line.contains("::sleep;"))
}

#[test]
fn tests_share_the_builders_of_common_objects() {
    let builders = found(is_test, is_builder);
    assert!(builders.len() <= BUILDERS_MAX, "use the crates of fixtures: {builders:#?}");
}

#[test]
fn tests_in_real_time_wait_for_conditions() {
    assert_eq!(found(is_real_time, is_sleep), [""; 0], "wait with testkit::wait");
}

#[test]
fn builders_and_sleeps_are_recognized() {
    assert!(is_builder("fn pod(name: &str) -> Value {}") && !is_builder("fn node(&self) {}"));
    assert!(is_sleep("    sleep(SECOND).await;") && !is_sleep("// sleep(1)"));
    assert!(is_real_time("crates/cli/tests/real/a.rs") && !is_real_time("crates/core/tests/a.rs"));
    assert!(is_test("crates/cli/tests/real/a.rs") && !is_test("crates/cli/src/pod.rs"));
}
