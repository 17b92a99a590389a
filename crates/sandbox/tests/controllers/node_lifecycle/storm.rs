//! Tests thousands of nodes that disappear at the same time (S6, S7, L10); ten thousand with `CI=true`.

use super::assertions::{GRACE, UNREACHABLE, beat, both};
use crate::harness::{LATE, SandboxHarness, after, nodes, sleep};
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::time::Instant;

/// Nodes that stay alive.
const STAY: usize = 10;

/// Requests for a node that dies: two reads, its conditions, a read and a patch for its taint, an event; and what every
/// new node needs.
const REQUESTS_MAX: usize = 12;

/// When nodes' NoExecute taints were added and removed: one pass over the log for all of them.
fn turns(harness: &SandboxHarness) -> Vec<(Timestamp, bool)> {
    let key = UNREACHABLE.split(':').next().unwrap();
    let mut had: BTreeMap<String, bool> = BTreeMap::new();
    let mut turns = Vec::new();
    for commit in harness.commits_of(|one| one.number == nodes()) {
        let taints = commit.object["spec"]["taints"].as_array();
        let is_one = |taint: &&serde_json::Value| {
            taint["effect"] == "NoExecute" && taint["key"].as_str().is_some_and(|text| text.ends_with(key))
        };
        let has = taints.into_iter().flatten().any(|taint| is_one(&taint));
        let name = commit.object["metadata"]["name"].as_str().unwrap().to_owned();
        if had.insert(name, has).unwrap_or_default() != has {
            turns.push((commit.at, has));
        }
    }
    turns
}

/// All but a few nodes fall silent at the same time. They are declared silent, new pods are kept off, and one node in a
/// hundred seconds gets a NoExecute taint, as in any large zone of which most is down. Then the rest falls silent, too,
/// and the taints are removed.
#[tokio::test(start_paused = true)]
async fn a_cluster_vanishes() {
    let began = Instant::now();
    let count = if std::env::var("CI").as_deref() == Ok("true") { 10_000 } else { 1_000 };
    let harness = SandboxHarness::still(count, 1);
    let name = |number: usize| format!("n{number}");
    (1..=count).for_each(|number| beat(harness.server(), &name(number)));
    let hearts: Vec<_> = (1..=STAY).map(|number| harness.heart(&name(number))).collect();
    let dead = after(harness.now(), GRACE);
    let _controller = harness.controller(both()).await;
    sleep(260.0).await;
    let kept_off =
        (1..=count).filter(|number| harness.get_node(&name(*number))["spec"]["taints"].is_array()).count();
    assert_eq!(kept_off, count - STAY);
    let came: Vec<Timestamp> = turns(&harness).into_iter().map(|(at, _)| at).collect();
    assert!((1..=3).contains(&came.len()), "{came:?}");
    assert!(
        came[0] >= dead && came.windows(2).all(|pair| pair[1] >= after(pair[0], 100.0 - LATE)),
        "{came:?}"
    );
    drop(hearts);
    sleep(200.0).await;
    let (came, went): (Vec<_>, Vec<_>) = turns(&harness).into_iter().partition(|(_, has)| *has);
    assert!(came.len() <= 4 && came.len() == went.len(), "NL-27: everything is down: {came:?} {went:?}");
    let requests = harness.sent().len();
    println!("{count} nodes: {requests} requests, {:.1} s", began.elapsed().as_secs_f64());
    assert!(requests < REQUESTS_MAX * count, "{requests} requests");
}
