//! Runs the tests that reach a change while it is on, until one of them fails.

use super::switch_build::TestProgram;
use crate::sources;
use anyhow::{Context as _, Result, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The memory of one run, in KiB of address space.
const MEMORY: u64 = 8 << 20;

/// How long tests may take, at least, and as a multiple of what they take without a change.
const LIMIT_MIN: Duration = Duration::from_secs(10);
const LIMIT_FACTOR: u32 = 20;

/// How many tests one process runs: few at first, because most changes are noticed at once.
const FIRST_TESTS: usize = 4;
const TESTS_MAX: usize = 64;

/// A test, and what it reaches.
struct ReachingTest {
    program: usize,
    name: String,
    took: Duration,
    reached: BTreeSet<usize>,
}

/// What the tests say of one change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TrialResult {
    /// This test fails.
    Noticed { by: String },
    /// The tests do not end.
    TimeLimit { by: String },
    /// All tests pass that reach it.
    Missed { tests: usize },
}

/// The tests of some programs.
pub(crate) struct Trial {
    programs: Vec<TestProgram>,
    /// For what a run prints.
    scratch: PathBuf,
    /// Environment variables with the sizes of tests.
    sizes: &'static [(&'static str, &'static str)],
    /// Short ones come first.
    tests: Vec<ReachingTest>,
}

impl Trial {
    /// Runs each test once without a change, to see what it reaches and how long it takes.
    pub(crate) fn new(
        programs: Vec<TestProgram>,
        scratch: PathBuf,
        (skipped, sizes): (&str, &'static [(&'static str, &'static str)]),
    ) -> Result<Self> {
        fs::create_dir_all(&scratch).with_context(|| format!("creating {}", scratch.display()))?;
        let mut names = Vec::new();
        for (program, TestProgram { path, folder }) in programs.iter().enumerate() {
            let mut list = Command::new(path);
            let text = sources::output(list.args(["--list", "--format=terse"]).current_dir(folder))?;
            let tests = text.lines().filter_map(|line| line.strip_suffix(": test"));
            let chosen = tests.filter(|name| !name.contains(skipped));
            names.extend(chosen.map(|name| (program, name.to_owned())));
        }
        let mut trial = Self { programs, scratch, sizes, tests: Vec::new() };
        let tests =
            trial.for_each(&names, |trial, worker, (program, name)| trial.reach(worker, *program, name));
        trial.tests = tests.into_iter().collect::<Result<_>>()?;
        trial.tests.sort_by_key(|test| test.took);
        Ok(trial)
    }

    /// How many tests there are.
    pub(crate) fn len(&self) -> usize {
        self.tests.len()
    }

    fn reach(&self, worker: usize, program: usize, name: &str) -> Result<ReachingTest> {
        let path = self.scratch.join(format!("reached-{worker}"));
        let _ = fs::remove_file(&path);
        let began = Instant::now();
        let status =
            self.command(program, &[name]).env("MUTANTS_REACHED", &path).stdout(Stdio::null()).status();
        let took = began.elapsed();
        ensure!(status.context("starting a test")?.success(), "without a change, {name} fails");
        let reached = fs::read_to_string(&path).unwrap_or_default();
        let reached = reached.lines().filter_map(|number| number.parse().ok()).collect();
        Ok(ReachingTest { program, name: name.to_owned(), took, reached })
    }

    fn command(&self, program: usize, names: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -v {MEMORY}; exec \"$0\" \"$@\"")]);
        if let Some(TestProgram { path, folder }) = self.programs.get(program) {
            command.arg(path).current_dir(folder);
        }
        command.args(["--exact", "--test-threads=1"]).args(names);
        command.stdin(Stdio::null()).stderr(Stdio::null()).env("RUST_BACKTRACE", "0");
        command.envs(self.sizes.iter().copied());
        command
    }

    /// Tries each of these changes, and says of each what was found, as soon as it is known.
    pub(crate) fn run(
        &self,
        numbers: &[usize],
        found: impl Fn(usize, TrialResult) -> Result<()> + Sync,
    ) -> Result<()> {
        let results = self
            .for_each(numbers, |trial, worker, number| found(*number, trial.try_mutation(worker, *number)?));
        results.into_iter().collect()
    }

    fn try_mutation(&self, worker: usize, number: usize) -> Result<TrialResult> {
        let mut by_program: BTreeMap<usize, Vec<&ReachingTest>> = BTreeMap::new();
        for test in self.tests.iter().filter(|test| test.reached.contains(&number)) {
            by_program.entry(test.program).or_default().push(test);
        }
        let tests = by_program.values().map(Vec::len).sum();
        for (program, mut tests) in by_program {
            let mut count = FIRST_TESTS;
            while !tests.is_empty() {
                let some: Vec<_> = tests.drain(..count.min(tests.len())).collect();
                let names: Vec<&str> = some.iter().map(|test| test.name.as_str()).collect();
                let took: Duration = some.iter().map(|test| test.took).sum();
                let limit = LIMIT_MIN + took * LIMIT_FACTOR;
                let printed = self.scratch.join(format!("printed-{worker}"));
                let mut command = self.command(program, &names);
                command.env("MUTANT", number.to_string()).stdout(fs::File::create(&printed)?);
                match run_for(&mut command, limit)? {
                    None => return Ok(TrialResult::TimeLimit { by: names.join(" ") }),
                    Some(status) if !status.success() => {
                        return Ok(TrialResult::Noticed { by: first_failure(&printed, &names) });
                    }
                    Some(_) => {}
                }
                count = (count * 4).min(TESTS_MAX);
            }
        }
        Ok(TrialResult::Missed { tests })
    }

    /// Does the work on all processors, in order.
    fn for_each<T: Sync, R: Send>(&self, all: &[T], work: impl Fn(&Self, usize, &T) -> R + Sync) -> Vec<R> {
        let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let workers = thread::available_parallelism().map_or(1, usize::from);
        thread::scope(|scope| {
            for worker in 0..workers {
                let (next, results, work) = (&next, &results, &work);
                scope.spawn(move || {
                    while let Some(item) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let result = work(self, worker, item);
                        results.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(result);
                    }
                });
            }
        });
        results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn first_failure(printed: &Path, names: &[&str]) -> String {
    let text = fs::read(printed).map(|text| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default();
    let failed = text.lines().find_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"));
    // A process that ends at once prints no result.
    failed.map_or_else(|| names.join(" "), str::to_owned)
}

/// Runs a command to its end, or for this long.
fn run_for(command: &mut Command, limit: Duration) -> Result<Option<ExitStatus>> {
    let mut child = command.spawn().context("starting tests")?;
    let began = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if began.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}
