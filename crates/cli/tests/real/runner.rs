//! Runs many waiting scenarios at the same time and prints how each ended.
//!
//! - Scenarios of a shared group use one Taintward, each on its own nodes; those of a lone group have the cluster to
//!   themselves.

use super::harness::{AuditExceptions, ScenarioHarness, SharedCluster};
use super::witness::Witness;
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};
use taintward_envtest::{Binaries, Cluster, ClusterConfig, binaries};
use tokio::runtime::{Builder, Runtime};

/// A scenario on nodes of its own, concurrent with others.
pub(crate) type Concurrent = for<'s> fn(&'s ScenarioHarness<'s>) -> futures::future::LocalBoxFuture<'s, ()>;

/// A scenario with a cluster of its own.
pub(crate) type Sequential =
    for<'s> fn(&'s mut Cluster, &'s Witness) -> futures::future::LocalBoxFuture<'s, AuditExceptions>;

/// Scenarios that share a cluster.
pub(crate) struct ScenarioGroup {
    pub(crate) name: &'static str,
    pub(crate) options: ClusterConfig,
    /// Whether they need KWOK, and are skipped without.
    pub(crate) kwok: bool,
    pub(crate) schedule: Schedule,
}

/// How the scenarios of a group share it.
pub(crate) enum Schedule {
    /// Concurrently, with one taintward.
    Concurrent(Vec<(&'static str, Concurrent)>),
    /// One after the other.
    Sequential(Vec<(&'static str, Sequential)>),
}

/// The result of one scenario.
struct EndedScenario {
    name: String,
    passed: bool,
}

/// The selected scenarios.
struct Choice {
    filters: Vec<String>,
    skips: Vec<String>,
    exact: bool,
    list: bool,
}

impl Choice {
    /// Parses libtest's arguments, as far as they select tests; the others have no effect here.
    fn of(arguments: impl Iterator<Item = String>) -> Self {
        let mut choice = Self { filters: Vec::new(), skips: Vec::new(), exact: false, list: false };
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--exact" => choice.exact = true,
                "--list" => choice.list = true,
                "--skip" => choice.skips.extend(arguments.next()),
                "--test-threads" | "--format" | "--color" | "--logfile" | "-Z" => drop(arguments.next()),
                other if other.starts_with('-') => {}
                _ => choice.filters.push(argument),
            }
        }
        choice
    }

    fn wants(&self, name: &str) -> bool {
        let fits = |filter: &String| if self.exact { name == filter } else { name.contains(filter) };
        (self.filters.is_empty() || self.filters.iter().any(fits)) && !self.skips.iter().any(fits)
    }
}

impl ScenarioGroup {
    fn names(&self) -> Vec<String> {
        let names: Vec<&str> = match &self.schedule {
            Schedule::Concurrent(scenarios) => scenarios.iter().map(|(name, _)| *name).collect(),
            Schedule::Sequential(scenarios) => scenarios.iter().map(|(name, _)| *name).collect(),
        };
        names.into_iter().map(|name| format!("{}::{name}", self.name)).collect()
    }

    fn keep(&mut self, choice: &Choice) {
        let group = self.name;
        match &mut self.schedule {
            Schedule::Concurrent(scenarios) => {
                scenarios.retain(|(name, _)| choice.wants(&format!("{group}::{name}")))
            }
            Schedule::Sequential(scenarios) => {
                scenarios.retain(|(name, _)| choice.wants(&format!("{group}::{name}")))
            }
        }
    }
}

/// Runs the selected scenarios.
pub(crate) fn run(mut groups: Vec<ScenarioGroup>) -> ExitCode {
    let choice = Choice::of(std::env::args().skip(1));
    groups.iter_mut().for_each(|group| group.keep(&choice));
    groups.retain(|group| !group.names().is_empty());
    if choice.list {
        groups.iter().flat_map(ScenarioGroup::names).for_each(|name| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let requested = groups.iter().flat_map(ScenarioGroup::names).count();
    groups.retain(|group| !group.kwok || kwok_is_there(group));
    let names: Vec<String> = groups.iter().flat_map(ScenarioGroup::names).collect();
    let skipped = requested - names.len();
    println!("\nrunning {} scenarios against a real API server", names.len());
    let tools: Vec<Option<Binaries>> = names.iter().map(|name| binaries::for_test(name)).collect();
    let Some(tools) = tools.into_iter().next().flatten() else {
        println!("\ntest result: ok. 0 passed; 0 failed; {requested} skipped\n");
        return ExitCode::SUCCESS;
    };
    let (began, ended) = (Instant::now(), Mutex::new(Vec::new()));
    // First the shared groups, undisturbed; then the others, several groups at a time.
    for group in &groups {
        if let Schedule::Concurrent(scenarios) = &group.schedule {
            run_concurrently(group, scenarios, &tools, &ended);
        }
    }
    thread::scope(|scope| {
        for group in &groups {
            let (tools, ended) = (&tools, &ended);
            if let Schedule::Sequential(scenarios) = &group.schedule {
                scope.spawn(move || run_sequentially(group, scenarios, tools, ended));
            }
        }
    });
    let ended = ended.into_inner().unwrap();
    let failed: Vec<&str> =
        ended.iter().filter(|ended| !ended.passed).map(|ended| ended.name.as_str()).collect();
    let missing = names.len().saturating_sub(ended.iter().filter(|one| names.contains(&one.name)).count());
    if !failed.is_empty() {
        println!("\nfailures:\n    {}", failed.join("\n    "));
    }
    println!(
        "\ntest result: {}. {} passed; {} failed; {missing} not run; {skipped} skipped; finished in {:.1} s\n",
        if failed.is_empty() && missing == 0 { "ok" } else { "FAILED" },
        ended.len() - failed.len(),
        failed.len(),
        began.elapsed().as_secs_f64()
    );
    if failed.is_empty() && missing == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// With `CI=true` no scenario may be skipped.
fn kwok_is_there(group: &ScenarioGroup) -> bool {
    let Err(why) = binaries::KWOK.find() else { return true };
    assert!(std::env::var("CI").as_deref() != Ok("true"), "CI=true: {why:#}");
    group.names().iter().for_each(|name| binaries::skipped(name, &format!("{why:#}")));
    false
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn send(ended: &Mutex<Vec<EndedScenario>>, name: String, passed: bool, took: Duration) {
    println!("test {name} ... {} ({:.1} s)", if passed { "ok" } else { "FAILED" }, took.as_secs_f64());
    ended.lock().unwrap().push(EndedScenario { name, passed });
}

/// Runs one piece on a thread of its own, so that its panic names it and ends nothing else.
fn piece(name: &str, ended: &Mutex<Vec<EndedScenario>>, body: impl FnOnce() + Send) -> bool {
    let began = Instant::now();
    let passed = thread::scope(|scope| {
        let thread = thread::Builder::new().name(name.into()).spawn_scoped(scope, body).unwrap();
        thread.join().is_ok()
    });
    send(ended, name.into(), passed, began.elapsed());
    passed
}

fn run_concurrently(
    group: &ScenarioGroup,
    scenarios: &[(&str, Concurrent)],
    tools: &Binaries,
    ended: &Mutex<Vec<EndedScenario>>,
) {
    let mut shared = None;
    if !piece(&format!("{}::start", group.name), ended, || {
        shared = Some(runtime().block_on(SharedCluster::start(tools, group.options.clone())));
    }) {
        return;
    }
    let Some(shared) = &shared else { return };
    thread::scope(|scope| {
        for (name, scenario) in scenarios {
            let name = format!("{}::{name}", group.name);
            scope.spawn(move || {
                piece(&name, ended, || {
                    runtime().block_on(async { scenario(&shared.harness().await).await });
                })
            });
        }
    });
    if !piece(&format!("{}::monitors", group.name), ended, || {
        shared.witness.check(&AuditExceptions::default());
        runtime().block_on(shared.check());
    }) || ended.lock().unwrap().iter().any(|one| !one.passed)
    {
        eprintln!("taintward's last words:\n{}", shared.taintward.program().last_words());
    }
}

fn run_sequentially(
    group: &ScenarioGroup,
    scenarios: &[(&str, Sequential)],
    tools: &Binaries,
    ended: &Mutex<Vec<EndedScenario>>,
) {
    let mut cluster = None;
    for (name, scenario) in scenarios {
        let (name, options) = (format!("{}::{name}", group.name), group.options.clone());
        let started = cluster.is_some()
            || piece(&format!("{}::start", group.name), ended, || {
                cluster = Some(runtime().block_on(Cluster::start(tools, options)).unwrap());
            });
        if !started {
            return;
        }
        let passed = piece(&name, ended, || {
            let Some(cluster) = &mut cluster else { return };
            let witness = Witness::from_now(cluster);
            let terms = runtime().block_on(scenario(cluster, &witness));
            witness.check(&terms);
        });
        if !passed {
            // The state in which it left the programs is unknown.
            cluster = None;
        }
    }
}
