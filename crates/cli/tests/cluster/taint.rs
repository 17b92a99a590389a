//! Compares `taintward taint` with kubectl on a real API server: output, exit codes, nodes, concurrent edits.
//!
//! - docs/differences.md lists the accepted differences under KT. See `commands/taint.rs` for what kubectl lacks.

pub(crate) mod cases;
pub(crate) mod sides;

use crate::turn::{self, ClusterTurn};
use cases::{TaintCase, all};
use serde_json::{Value, json};
use sides::{CommandOutcome, TaintClient, TaintComparison};
use std::process::Stdio;
use taintward_envtest::fixtures::create_node;
use taintward_envtest::{Account, Cluster, ClusterConfig};

/// The cluster, or `None` after a message if it is not available.
fn cluster(test: &str, runtime: &tokio::runtime::Runtime) -> Option<(Cluster, ClusterTurn)> {
    let tools = turn::for_test(test)?;
    Some((runtime.block_on(Cluster::start(&tools, ClusterConfig::default())).unwrap(), tools))
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn output_and_effects_equal_those_of_kubectl() {
    let runtime = runtime();
    let Some((cluster, tools)) = cluster("taint", &runtime) else { return };
    let comparison = TaintComparison::set(&runtime, &cluster, &tools);
    let cases = all();
    assert!(cases.len() >= 200, "{} cases are too few", cases.len());
    let mut differences = Vec::new();
    let (mut changed, mut rejected) = (0, 0);
    for (number, case) in cases.iter().enumerate() {
        let [theirs, ours] = comparison.both(case);
        changed += usize::from(theirs.nodes != comparison.before(case));
        rejected += usize::from(theirs.code != 0);
        if theirs != ours {
            differences.push(format!("case {number}: {case:#?}\nkubectl: {theirs:#?}\ntaintward: {ours:#?}"));
        }
    }
    assert!(
        differences.is_empty(),
        "{} of {}:\n{}",
        differences.len(),
        cases.len(),
        differences.join("\n\n")
    );
    // The cases are worth comparing: many of them change something, and many fail.
    assert!(
        changed >= cases.len() / 5 && rejected >= cases.len() / 5,
        "{changed} changed, {rejected} rejected"
    );
    println!("{} cases, {changed} of them changed nodes, {rejected} were refused", cases.len());
}

#[test]
fn taints_record_their_age_like_those_of_kubectl() {
    let runtime = runtime();
    let Some((cluster, tools)) = cluster("taint", &runtime) else { return };
    let comparison = TaintComparison::set(&runtime, &cluster, &tools);
    let case = TaintCase::typed("node {1} new:NoExecute");
    let outcomes: [CommandOutcome; 2] = comparison.both(&case);
    assert!(outcomes.iter().all(|outcome| outcome.code == 0), "{outcomes:?}");
    let entries = [TaintClient::Kubectl, TaintClient::Taintward].map(|side| {
        let node = comparison.get_node(side, 1);
        let entries = node["metadata"]["managedFields"].as_array().unwrap().clone();
        let own = entries.into_iter().find(|entry| entry["manager"] == "kubectl-taint").unwrap();
        (own["operation"].clone(), own["fieldsV1"]["f:spec"]["f:taints"].clone())
    });
    assert_eq!(entries[0], entries[1]);
    assert_eq!(entries[0], (json!("Update"), json!({})), "D1 reads the age of a taint there");
}

#[test]
fn impersonated_requests_have_that_users_permissions() {
    let runtime = runtime();
    let Some((cluster, tools)) = cluster("taint", &runtime) else { return };
    let comparison = TaintComparison::set(&runtime, &cluster, &tools);
    let groups = "--as jane --as-group shop --as-group system:masters";
    for (acting, allowed) in [("--as jane", false), ("--as jane --as-group shop", false), (groups, true)] {
        let case = TaintCase::typed(&format!("node {{1}} new:NoExecute {acting}"));
        let [theirs, ours] = comparison.both(&case);
        assert_eq!(theirs, ours, "{acting}");
        assert_eq!(
            (ours.code == 0, ours.nodes != comparison.before(&case)),
            (allowed, allowed),
            "{acting}: {ours:?}"
        );
    }
}

/// The taints in each version of a node from a watch.
fn keys(node: &Value) -> Vec<String> {
    let taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
    taints.iter().map(|taint| taint["key"].as_str().unwrap().to_owned()).collect()
}

/// KT-9, S8: kubectl's unconditional patches may lose other writers' edits; those of `taintward taint` never do.
#[test]
fn fifty_concurrent_edits_lose_nothing() {
    const EACH: usize = 25;
    let runtime = runtime();
    let Some((cluster, tools)) = cluster("taint", &runtime) else { return };
    let comparison = TaintComparison::set(&runtime, &cluster, &tools);
    let api = runtime.block_on(cluster.api(Account::Admin)).unwrap();
    runtime.block_on(create_node(&api, "race", &[])).unwrap();
    let versions = comparison.watch("race");
    std::thread::scope(|scope| {
        for lane in 0..5 {
            let comparison = &comparison;
            scope.spawn(move || {
                for number in (lane..EACH).step_by(5) {
                    let taint = format!("ours-{number}:NoSchedule");
                    let done = comparison
                        .command(TaintClient::Taintward, &["taint", "node", "race", &taint])
                        .output()
                        .unwrap();
                    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
                }
            });
        }
        let comparison = &comparison;
        scope.spawn(move || {
            for number in 0..EACH {
                let taint = format!("theirs-{number}:NoSchedule");
                let mut command =
                    comparison.command(TaintClient::Kubectl, &["taint", "node", "race", &taint]);
                assert!(command.stdout(Stdio::null()).status().unwrap().success());
            }
        });
    });
    let versions = versions.until_label("done");
    let mut came = Vec::new();
    for pair in versions.windows(2) {
        let (before, after) = (keys(&pair[0]), keys(&pair[1]));
        let new: Vec<&String> = after.iter().filter(|key| !before.contains(key)).collect();
        let lost: Vec<&String> = before.iter().filter(|key| !after.contains(key)).collect();
        if new.iter().any(|key| key.starts_with("ours-")) {
            assert!(lost.is_empty() && new.len() == 1, "{new:?} was added and {lost:?} removed in one write");
            came.extend(new.into_iter().cloned());
        }
    }
    came.sort();
    came.dedup();
    assert_eq!(came.len(), EACH, "every reported edit was made: {came:?}");
}
