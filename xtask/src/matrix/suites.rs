//! Lists the test programs that need a real control plane, runs one, and reads the results from its output.

use super::record::SuiteResult;
use crate::sources;
use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use taintward_envtest::{Release, releases};

/// One test program of one of the `crates`.
pub(crate) struct Suite {
    folder: &'static str,
    pub(crate) name: &'static str,
}

const fn suite(folder: &'static str, name: &'static str) -> Suite {
    Suite { folder, name }
}

/// The test programs that test Taintward with a control plane.
pub(crate) const SUITES: [Suite; 6] = [
    suite("envtest", "control_plane"),
    suite("cli", "real_server"),
    suite("cli", "lifecycle"),
    suite("cli", "managed_real"),
    suite("cli", "security"),
    suite("cli", "cluster"),
];

/// The name for the tests of a program that failed without naming a test.
const ALL: &str = "the program";

pub(crate) fn named(name: &str) -> Result<&'static str, String> {
    let names = SUITES.map(|suite| suite.name);
    let known = names.into_iter().find(|one| *one == name);
    known.ok_or_else(|| format!("no test program of the matrix has this name; they are {}", names.join(", ")))
}

/// The test programs of the workspace, built once for all versions.
pub(crate) struct Programs {
    messages: Vec<Value>,
    /// This program. Its path is read before the build, which may replace it.
    runner: PathBuf,
}

impl Programs {
    pub(crate) fn build() -> Result<Self> {
        let runner = env::current_exe()?;
        Ok(Self { messages: sources::build(&["test", "--workspace", "--no-run"])?, runner })
    }

    /// The path of the program of a suite.
    fn path(&self, suite: &Suite) -> Result<&str> {
        let manifest = suite.crate_folder().join("Cargo.toml");
        let found = self.messages.iter().find(|message| {
            message["manifest_path"].as_str().is_some_and(|path| Path::new(path) == manifest)
                && message["target"]["kind"] == json!(["test"])
                && message["target"]["name"] == suite.name
        });
        let path = found.and_then(|message| message["executable"].as_str());
        path.with_context(|| format!("cargo built no test program {} in {}", suite.name, manifest.display()))
    }
}

impl Suite {
    fn crate_folder(&self) -> PathBuf {
        sources::root().join("crates").join(self.folder)
    }

    /// Runs it on one version. Failed tests run again, alone: on a busy machine, a test may be too late.
    pub(crate) fn run(&self, programs: &Programs, release: &Release) -> Result<SuiteResult> {
        let began = Instant::now();
        let mut result = self.attempt(programs, release, &BTreeSet::new())?;
        if !result.failed.is_empty() {
            let again = self.attempt(programs, release, &result.failed)?;
            result.passed_alone = result.failed.intersection(&again.passed).cloned().collect();
            match result.failed.contains(ALL) {
                true => result.failed = again.failed,
                false => result.failed.retain(|test| !again.passed.contains(test)),
            }
            result.passed.extend(again.passed);
        }
        result.seconds = began.elapsed().as_secs();
        Ok(result)
    }

    /// Runs the tests with these names, or all tests.
    fn attempt(
        &self,
        programs: &Programs,
        release: &Release,
        names: &BTreeSet<String>,
    ) -> Result<SuiteResult> {
        let program = programs.path(self)?;
        let folder = release.folder()?;
        let log = folder.join(format!("{}{}.log", self.name, if names.is_empty() { "" } else { "-again" }));
        let skipped = folder.join("skipped");
        fs::write(&skipped, "")?;
        let out = File::create(&log).with_context(|| format!("writing {}", log.display()))?;
        let mut command = Command::new(&programs.runner);
        command.args(["within", program]).current_dir(self.crate_folder());
        if !names.contains(ALL) && !names.is_empty() {
            command.args(["--test-threads=1", "--exact"]).args(names);
        }
        // A machine without KWOK or Helm is a failure, not a reason to skip.
        command.env_remove("KUBEBUILDER_ASSETS").env("CI", "true").env(releases::CHOICE, release.name());
        command.env("TAINTWARD_SKIPPED", &skipped).stdout(out.try_clone()?).stderr(out);
        let done = command.status().with_context(|| format!("starting {program}"))?;
        Ok(result(&fs::read_to_string(&log)?, &fs::read_to_string(&skipped)?, done.success()))
    }
}

/// Reads lines such as `test name ... ok`, which libtest also prints for tests that skipped themselves.
fn result(output: &str, skipped: &str, success: bool) -> SuiteResult {
    let skipped: BTreeMap<String, String> = skipped
        .lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, why)| (name.to_owned(), why.to_owned()))
        .collect();
    let ended = |how: &str| -> BTreeSet<String> {
        let lines = output.lines().filter_map(|line| line.strip_prefix("test ")?.split_once(" ... "));
        let those = lines.filter(|(name, output)| output.starts_with(how) && !skipped.contains_key(*name));
        those.map(|(name, _)| name.to_owned()).collect()
    };
    let (passed, mut failed) = (ended("ok"), ended("FAILED"));
    if !success && failed.is_empty() {
        failed.insert(ALL.to_owned());
    }
    SuiteResult { passed, failed, skipped, ..SuiteResult::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test programs that need Kubernetes' programs but do not test Taintward on a version of it: they test the
    /// sandbox, which imitates one version, or the output of kubectl, or programs other than Taintward.
    const ELSEWHERE: [&str; 5] = ["clients", "commands", "documents", "conformance", "server"];

    #[test]
    fn every_program_that_needs_a_control_plane_is_in_the_matrix() {
        let mut requesting = BTreeSet::new();
        for package in fs::read_dir(sources::root().join("crates")).unwrap() {
            let Ok(programs) = fs::read_dir(package.unwrap().path().join("tests")) else { continue };
            let paths = programs.map(|entry| entry.unwrap().path());
            // A program is a file, or a folder with a `main.rs`.
            let programs = paths.filter(|path| {
                path.join("main.rs").exists() || path.extension().is_some_and(|end| end == "rs")
            });
            requesting.extend(
                programs
                    .filter(|path| needs_a_control_plane(path))
                    .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()),
            );
        }
        // Their common runner needs it.
        requesting.extend(["real_server", "lifecycle"].map(str::to_owned));
        let known = SUITES.iter().map(|suite| suite.name).chain(ELSEWHERE);
        assert_eq!(requesting, known.map(str::to_owned).collect());
    }

    /// Whether the file, or a file of the folder, asks for the programs of a control plane.
    fn needs_a_control_plane(path: &Path) -> bool {
        match fs::read_dir(path) {
            Ok(entries) => entries.into_iter().any(|entry| needs_a_control_plane(&entry.unwrap().path())),
            Err(_) => fs::read(path).unwrap().windows(19).any(|text| text == b"binaries::for_test("),
        }
    }

    #[test]
    fn results_are_read_from_the_output() {
        let output = "test first ... ok\ntest a::b ... FAILED (1.0 s)\ntest third ... ok\ntest fourth ... ignored\n\
                      test result: FAILED. 2 passed\n";
        let result = result(output, "third: needs Kubernetes 1.33: x\n", false);
        assert_eq!(result.passed, ["first".to_owned()].into());
        assert_eq!(result.failed, ["a::b".to_owned()].into());
        assert_eq!(result.skipped, [("third".to_owned(), "needs Kubernetes 1.33: x".to_owned())].into());
    }

    #[test]
    fn a_program_that_fails_without_output_has_failed() {
        assert_eq!(result("", "", false).failed, [ALL.to_owned()].into());
        assert!(result("test a ... ok\n", "", true).failed.is_empty());
    }
}
