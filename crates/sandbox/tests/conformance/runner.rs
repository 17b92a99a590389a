//! Runs all cases on each server and compares their records.
//!
//! - The real server runs them twice: records that differ between these runs prove nothing.

use super::harness::{ConformanceHarness, STARTUP_TIMEOUT};
use super::record::{self, comparable, differences};
use super::target::ConformanceTarget;
use serde_json::Value;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;
use taintward_envtest::{Account, Audit, Cluster, ClusterConfig, binaries, wait};

/// A case: its name, its steps.
pub(crate) type ConformanceCase = (&'static str, fn(&mut ConformanceHarness));

/// Cases about one subject.
pub(crate) type CaseGroup = (&'static str, &'static [ConformanceCase]);

/// Cases that run concurrently. They mostly wait for the server.
const SIDE_BY_SIDE: usize = 8;

/// The largest number of differences shown per case: a wrong default is wrong in every object.
const SHOWN: usize = 12;

/// A selected case with its full name.
struct Chosen {
    name: String,
    harness: fn(&mut ConformanceHarness),
}

/// The results of all cases on one target.
struct Round {
    target: &'static str,
    records: BTreeMap<String, Vec<Value>>,
    failed: Vec<String>,
}

impl Round {
    /// The same, without the messages of errors in these cases.
    fn without_sentences(&self, cases: &[&str]) -> Self {
        let mut records = self.records.clone();
        for (name, steps) in records.iter_mut().filter(|(name, _)| cases.contains(&name.as_str())) {
            let rejections =
                steps.iter_mut().map(|step| &mut step["body"]).filter(|body| body["kind"] == "Status");
            let count = rejections.map(without_sentence).count();
            assert!(count > 0, "{name} has no refusal");
        }
        Self { target: self.target, records, failed: self.failed.clone() }
    }
}

fn without_sentence(rejection: &mut Value) {
    rejection["message"].take();
    for cause in rejection.pointer_mut("/details/causes").and_then(Value::as_array_mut).into_iter().flatten()
    {
        cause["message"].take();
    }
    if rejection.get("details").is_none_or(|details| *details == serde_json::json!({})) {
        rejection["details"] = Value::Null;
    }
}

/// Parses libtest's arguments, as far as they select tests.
fn choose(groups: &[CaseGroup]) -> (Vec<Chosen>, bool) {
    let (mut filters, mut skips, mut exact, mut list) = (Vec::new(), Vec::new(), false, false);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--exact" => exact = true,
            "--list" => list = true,
            "--skip" => skips.extend(arguments.next()),
            "--test-threads" | "--format" | "--color" | "--logfile" | "-Z" => drop(arguments.next()),
            other if other.starts_with('-') => {}
            _ => filters.push(argument),
        }
    }
    let wanted = |name: &str| {
        let fits = |filter: &String| if exact { name == filter } else { name.contains(filter.as_str()) };
        (filters.is_empty() || filters.iter().any(fits)) && !skips.iter().any(fits)
    };
    let all = groups.iter().flat_map(|(group, cases)| {
        cases
            .iter()
            .map(move |(name, harness)| Chosen { name: format!("{group}::{name}"), harness: *harness })
    });
    (all.filter(|case| wanted(&case.name)).collect(), list)
}

/// Runs the selected cases.
pub(crate) fn run(groups: &[CaseGroup], known: &[(&str, &str)], own_words: &[&str]) -> ExitCode {
    let (cases, list) = choose(groups);
    if list {
        cases.iter().for_each(|case| println!("{}: test", case.name));
        return ExitCode::SUCCESS;
    }
    record::check();
    let began = Instant::now();
    println!("\nrunning {} cases", cases.len());
    let mut failed = Vec::new();
    let real = ask_the_real_one(&cases, &mut failed);
    match super::sandbox() {
        None => println!("SKIPPED: the sandbox, which has no server yet"),
        Some(target) => {
            let sandbox = round(&target, "t3", &cases);
            failed.extend(sandbox.failed.iter().cloned());
            if let Some(real) = &real {
                let (real, sandbox) =
                    (real.without_sentences(own_words), sandbox.without_sentences(own_words));
                failed.extend(compare(&real, &sandbox, known));
            }
        }
    }
    failed.sort();
    failed.dedup();
    let failed = besides_those_to_come(&cases, failed);
    if !failed.is_empty() {
        println!("\nfailures:\n    {}", failed.join("\n    "));
    }
    println!(
        "\ntest result: {}. {} cases; {} failed; finished in {:.1} s\n",
        if failed.is_empty() { "ok" } else { "FAILED" },
        cases.len(),
        failed.len(),
        began.elapsed().as_secs_f64()
    );
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs two rounds on a real server, which must be equal; `None` if no such server is available.
fn ask_the_real_one(cases: &[Chosen], failed: &mut Vec<String>) -> Option<Round> {
    let tools = binaries::for_test("conformance")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let options = ClusterConfig { audit: Audit::Off, ..ClusterConfig::default() };
    let mut cluster = runtime.block_on(Cluster::start(&tools, options)).unwrap();
    // Version 1 is too old everywhere, as in every cluster that has been in use for five minutes.
    define(&runtime, &cluster);
    cluster.compact().unwrap();
    runtime.block_on(cluster.restart(0)).unwrap();
    runtime.block_on(served(&cluster));
    let kubeconfig = cluster.kubeconfig(Account::Admin, 0);
    let target = |name| runtime.block_on(ConformanceTarget::from_kubeconfig(name, &kubeconfig));
    let first = round(&target("real"), "t1", cases);
    let again = round(&target("real again"), "t02", cases);
    failed.extend(first.failed.iter().chain(&again.failed).cloned());
    failed.extend(compare(&first, &again, &[]));
    Some(first)
}

/// Creates the sandbox's additional kinds on it.
fn define(runtime: &tokio::runtime::Runtime, cluster: &Cluster) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/crds");
    cluster.kubectl(["apply", "-f", folder.to_str().unwrap(), "--request-timeout=60s"]).unwrap();
    runtime.block_on(served(cluster));
}

/// Waits until it serves them; before, it responds with 404, then 429.
async fn served(cluster: &Cluster) {
    let api = cluster.api(Account::Admin).await.unwrap();
    for name in ["dedicatedpools", "tolerationpolicies"] {
        let path = format!("/apis/taintward.io/v1alpha1/{name}");
        let what = "the kinds of taintward.io to be served";
        wait::until(what, STARTUP_TIMEOUT, async || Ok(api.get(&path).await.ok())).await.unwrap();
    }
}

/// Runs every case once. `tag` distinguishes the names of one round from those of another.
fn round(target: &ConformanceTarget, tag: &str, cases: &[Chosen]) -> Round {
    let (next, began) = (AtomicUsize::new(0), Instant::now());
    let round = Mutex::new(Round { target: target.name, records: BTreeMap::new(), failed: Vec::new() });
    thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    harness(target, tag, case, &round);
                }
            });
        }
    });
    println!("{}: {} cases in {:.1} s", target.name, cases.len(), began.elapsed().as_secs_f64());
    round.into_inner().unwrap()
}

/// Runs one case on a thread with its name, so that a panic shows it.
fn harness(target: &ConformanceTarget, tag: &str, case: &Chosen, round: &Mutex<Round>) {
    let own = format!("{tag}-{}", case.name.replace("::", "-").replace('_', "-"));
    let began = Instant::now();
    let body = || {
        let mut steps = Vec::new();
        let passed = catch_unwind(AssertUnwindSafe(|| {
            let mut harness = ConformanceHarness::at(target, &own);
            let played = catch_unwind(AssertUnwindSafe(|| (case.harness)(&mut harness)));
            steps = std::mem::take(&mut harness.steps);
            played.is_ok()
        }));
        (passed.unwrap_or(false), comparable(&own, &steps))
    };
    let thread_name = format!("{} ({})", case.name, target.name);
    let (passed, record) = thread::scope(|scope| {
        let thread = thread::Builder::new().name(thread_name).spawn_scoped(scope, body).unwrap();
        thread.join().unwrap()
    });
    let took = began.elapsed().as_secs_f64();
    println!(
        "test {} on {} ... {} ({took:.1} s)",
        case.name,
        target.name,
        if passed { "ok" } else { "FAILED" }
    );
    keep(&case.name, target.name, &record);
    let mut round = round.lock().unwrap();
    if !passed {
        round.failed.push(case.name.clone());
    }
    round.records.insert(case.name.clone(), record);
}

/// Writes the record to a file for debugging.
fn keep(case: &str, target: &str, record: &[Value]) {
    if let Some(folder) = std::env::var_os("TAINTWARD_CONFORMANCE_RECORDS") {
        let file =
            Path::new(&folder).join(format!("{case}.{target}.json").replace("::", ".").replace(' ', "-"));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(file, serde_json::to_string_pretty(record).unwrap()).unwrap();
    }
}

/// The failures except those in the list of cases that the sandbox does not pass yet, plus the cases in that list that
/// it passes now and that must be removed. So the list can only shrink.
fn besides_those_to_come(cases: &[Chosen], failed: Vec<String>) -> Vec<String> {
    let to_come: Vec<&str> = include_str!("to_come.txt")
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    let requested = |name: &&str| cases.iter().any(|case| case.name == *name);
    let right: Vec<&str> = to_come
        .iter()
        .copied()
        .filter(requested)
        .filter(|name| !failed.iter().any(|one| one == name))
        .collect();
    println!("\n{} cases are not right yet (to_come.txt)", to_come.len() - right.len());
    right.iter().for_each(|name| println!("{name} is right now: remove it from to_come.txt"));
    let others = failed.into_iter().filter(|name| !to_come.contains(&name.as_str()));
    others.chain(right.iter().map(ToString::to_string)).collect()
}

/// The cases with different responses, each with the places; also the known differences that are equal now.
fn compare(left: &Round, right: &Round, known: &[(&str, &str)]) -> Vec<String> {
    let (mut failed, mut places) = (Vec::new(), BTreeMap::new());
    for (name, record) in &left.records {
        let found: Vec<String> = alike(record, &right.records[name]);
        let known = known.iter().find(|(case, _)| case == name);
        match (found.is_empty(), known) {
            (true, None) => continue,
            (false, Some((_, why))) => {
                println!("{name} differs, as is known: {why}");
                continue;
            }
            (true, Some(_)) => println!("\n{name} is known to differ, and does not: remove it from the list"),
            (false, None) => println!("\n{name} differs ({} | {}):", left.target, right.target),
        }
        for place in found.iter().filter_map(|line| place(line)) {
            *places.entry(place).or_insert(0) += 1;
        }
        found.iter().take(SHOWN).for_each(|line| println!("  {line}"));
        if found.len() > SHOWN {
            println!("  … and {} more", found.len() - SHOWN);
        }
        failed.push(name.clone());
    }
    let mut places: Vec<(String, usize)> = places.into_iter().collect();
    places.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
    if !places.is_empty() {
        println!("\nwhere they differ most often:");
    }
    places.iter().take(SHOWN).for_each(|(place, times)| println!("  {times:>5}  {place}"));
    failed
}

/// The place of a difference, regardless of the index in a list: one cause affects many cases.
fn place(line: &str) -> Option<String> {
    let place = line.split(": ").nth(1)?;
    let element = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = place.split('/').map(|part| if element(part) { "*" } else { part }).collect();
    Some(parts.join("/"))
}

/// Compares the records step by step.
fn alike(left: &[Value], right: &[Value]) -> Vec<String> {
    let mut found = Vec::new();
    for (index, (one, other)) in left.iter().zip(right).enumerate() {
        let message = differences(one, other);
        found.extend(message.iter().map(|line| format!("step {}, {}: {line}", index + 1, one["step"])));
    }
    if left.len() != right.len() {
        found.push(format!("{} steps | {} steps", left.len(), right.len()));
    }
    found
}
