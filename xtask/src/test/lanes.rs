//! Divides the test programs into two lanes that run at the same time: one waits for control planes, the other computes.

use crate::sources;
use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{self, Read as _, Write as _};
use std::panic::resume_unwind;
use std::process::Command;
use std::thread;

/// Programs whose tests wait for control planes and other processes most of the time. Two control planes at once would make
/// each other late.
const WAITING: [&str; 7] =
    ["cluster", "clients", "real_server", "lifecycle", "managed_real", "security", "control_plane"];

/// A program of tests that cargo builds for a file in `tests` or `examples`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TestTarget {
    /// `--test` or `--example`.
    flag: &'static str,
    name: String,
}

/// The arguments of the runs of `cargo test` that follow each other in a lane.
type Runs = Vec<Vec<String>>;

/// The lanes: the first one waits; the second one builds and computes with what the first leaves of the processors, because
/// a test that waits for a control plane has a timeout.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TestLanes(Vec<Runs>);

impl TestTarget {
    /// Those of the workspace.
    pub(super) fn all() -> Result<Vec<Self>> {
        let mut command = sources::cargo();
        let metadata = sources::output(command.args(["metadata", "--no-deps", "--format-version", "1"]))?;
        let metadata: Value = serde_json::from_str(&metadata).context("cargo metadata is not JSON")?;
        let packages = metadata["packages"].as_array().into_iter().flatten();
        let targets = packages.flat_map(|package| package["targets"].as_array().into_iter().flatten());
        Ok(targets.filter_map(Self::read).collect())
    }

    /// The target of cargo's metadata, if `cargo test` runs it and no flag selects all of its kind: `--examples` would run
    /// also those that have no tests.
    fn read(target: &Value) -> Option<Self> {
        let flag = match target["kind"][0].as_str()? {
            "test" => "--test",
            "example" => "--example",
            _ => return None,
        };
        target["test"].as_bool()?.then(|| Some(Self { flag, name: target["name"].as_str()?.to_owned() }))?
    }
}

impl TestLanes {
    /// Puts each of the targets into its lane, and the unit tests and doc tests into the last one.
    pub(super) fn of(targets: &[TestTarget]) -> Result<Self> {
        for name in WAITING {
            let known = targets.iter().any(|target| target.name == name);
            ensure!(known, "xtask/src/test/lanes.rs names {name:?}, but no test program has this name");
        }
        // Several packages may have a program of the same name, which cargo selects in each.
        let targets: BTreeSet<&TestTarget> = targets.iter().collect();
        let select = |selected: &dyn Fn(&str) -> bool| -> Vec<String> {
            let targets = targets.iter().filter(|target| selected(&target.name));
            targets.flat_map(|target| [target.flag.to_owned(), target.name.clone()]).collect()
        };
        let mut computing = vec!["--lib".to_owned(), "--bins".to_owned()];
        computing.extend(select(&|name| !WAITING.contains(&name)));
        let waiting = vec![select(&|name| WAITING.contains(&name))];
        Ok(Self(vec![waiting, vec![computing, vec!["--doc".to_owned()]]]))
    }

    /// The arguments that select the programs of the first lane.
    pub(super) fn first(&self) -> impl Iterator<Item = &String> {
        self.0.iter().take(1).flatten().flatten()
    }

    /// Only the programs that wait.
    pub(super) fn only_waiting(mut self) -> Self {
        self.0.truncate(1);
        self
    }

    /// Runs the lanes to their ends. The first one prints as it runs, the second one when it ends; what failed is repeated
    /// after both. Fails if one fails.
    pub(super) fn run(&self, cargo_test: &(dyn Fn(&[&str]) -> Command + Sync)) -> Result<()> {
        let run = |(at, runs): (usize, &Runs)| -> Result<(Result<()>, String)> {
            let through: &[&str] = if at == 0 { &[] } else { &["nice", "-n", "10"] };
            let mut output = Vec::new();
            let mut result = Ok(());
            for arguments in runs {
                let mut command = cargo_test(through);
                command.args(arguments);
                result = result.and(run_captured(command, &mut output, at == 0));
            }
            if at > 0 {
                io::stdout().write_all(&output)?;
            }
            Ok((result, failed_tests(&String::from_utf8_lossy(&output))))
        };
        let results: Vec<Result<_>> = thread::scope(|scope| {
            let lanes: Vec<_> =
                self.0.iter().enumerate().map(|lane| scope.spawn(move || run(lane))).collect();
            lanes.into_iter().map(|lane| lane.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
        });
        let results: Vec<(Result<()>, String)> = results.into_iter().collect::<Result<_>>()?;
        for (_, failed) in results.iter().filter(|(_, failed)| !failed.is_empty()) {
            println!("\nFailed tests:\n{failed}");
        }
        results.into_iter().try_for_each(|(result, _)| result)
    }
}

/// Runs a command to its end, and appends what it prints to `output`; with `is_shown`, prints it as well.
fn run_captured(mut command: Command, output: &mut Vec<u8>, is_shown: bool) -> Result<()> {
    let (mut reader, writer) = io::pipe()?;
    let mut child = command.stdout(writer.try_clone()?).stderr(writer).spawn()?;
    let words = sources::typed(&command);
    drop(command); // With its ends of the pipe.
    let mut part = [0; 8192];
    loop {
        let length = reader.read(&mut part)?;
        if length == 0 {
            break;
        }
        output.extend_from_slice(&part[..length]);
        if is_shown {
            io::stdout().write_all(&part[..length])?;
        }
    }
    let status = child.wait()?;
    ensure!(status.success(), "{words} failed ({status})");
    Ok(())
}

/// How many lines of a failed test are repeated.
const REPEATED_MAX: usize = 40;

/// What failed tests printed, from the output of their programs: a run prints so much that its end must say what failed.
fn failed_tests(output: &str) -> String {
    let mut found = String::new();
    let mut left = 0;
    for line in output.lines() {
        left = match line {
            _ if line.starts_with("---- ") => REPEATED_MAX,
            "failures:" | "successes:" => 0,
            _ if line.starts_with("test result:") => 0,
            _ => left,
        };
        // A test program that does not capture what its tests print has only this line of each.
        let is_verdict = line.starts_with("test ") && line.contains(" ... FAILED");
        if left > 0 || is_verdict {
            found += &format!("{line}\n");
        }
        left = left.saturating_sub(1);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// `lanes` names programs that exist, and each test program runs in exactly one lane.
    #[test]
    fn each_program_runs_in_one_lane() {
        let targets = TestTarget::all().unwrap();
        let lanes = TestLanes::of(&targets).unwrap();
        for target in &targets {
            let selects = |run: &Vec<String>| run.windows(2).any(|pair| pair == [target.flag, &target.name]);
            let lanes = lanes.0.iter().filter(|runs| runs.iter().any(selects)).count();
            assert_eq!(lanes, 1, "{target:?}");
        }
        let renamed: Vec<_> = targets.into_iter().filter(|target| target.name != "lifecycle").collect();
        let why = TestLanes::of(&renamed).unwrap_err().to_string();
        assert!(why.contains("\"lifecycle\", but no test program"), "{why}");
    }

    #[test]
    fn examples_without_tests_are_not_selected() {
        let read =
            |kind: &str, test: bool| TestTarget::read(&json!({"kind": [kind], "name": "x", "test": test}));
        assert_eq!(read("example", false), None);
        assert_eq!(read("lib", true), None);
        assert_eq!(read("example", true).unwrap().flag, "--example");
        assert_eq!(read("test", true).unwrap().flag, "--test");
    }

    #[test]
    fn a_lane_that_fails_fails_the_run_and_the_others_end() {
        let lanes = TestLanes(vec![
            vec![vec!["exit 1".into()]],
            vec![vec!["echo ended".into()], vec!["exit 3".into()]],
        ]);
        let shell = |_: &[&str]| {
            let mut command = Command::new("sh");
            command.arg("-c");
            command
        };
        assert!(lanes.run(&shell).is_err());
        let mut output = Vec::new();
        let mut command = Command::new("sh");
        command.args(["-c", "echo out; echo err >&2; exit 3"]);
        let why = run_captured(command, &mut output, false).unwrap_err().to_string();
        assert!(why.contains("exit status: 3"), "{why}");
        assert_eq!(output, b"out\nerr\n");
    }

    #[test]
    fn what_failed_is_repeated() {
        let passed = "running 1 test\ntest one ... ok\n\ntest result: ok. 1 passed; 0 failed\n";
        let many = "line\n".repeat(REPEATED_MAX + 9);
        let failed = format!(
            "test two ... FAILED\n\nfailures:\n\n---- two stdout ----\nwhy\n\n---- three stdout ----\n{many}\n\n\
             failures:\n    two\n    three\n\ntest result: FAILED. 0 passed; 2 failed\n"
        );
        assert_eq!(failed_tests(passed), "");
        let repeated = failed_tests(&format!("{passed}{failed}{passed}"));
        assert!(
            repeated.starts_with("test two ... FAILED\n---- two stdout ----\nwhy\n\n---- three"),
            "{repeated}"
        );
        assert_eq!(repeated.lines().count(), 4 + REPEATED_MAX, "{repeated}");
    }
}
