//! Compares the webhook with the API server's own admission plugins on hundreds of pods.
//!
//! - The results are equal, order included, except for what `admission/differences.rs` lists.

use crate::admission::api_servers::{ApiServers, ClusterLists, Outcome, Pair, Side};
use crate::admission::differences::{DIFFERENCES, Difference, sorted};
use crate::admission::pods::{Case, LISTS, cases};
use crate::admission::register::tolerations;
use crate::turn;
use futures::StreamExt as _;
use futures::stream;
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;

/// The number of generated pods.
const PODS: usize = 560;
/// The number of pods that exist before plugins and webhook are enabled.
const OLD_PODS: usize = 120;
/// Concurrent requests.
const AT_ONCE: usize = 16;
/// The timeout of everything; on an idle machine it takes less than a minute.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(600);

#[test]
fn the_webhook_does_what_the_plugins_do() {
    let Some(tools) = turn::for_test("admission_differential") else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let all = async {
            let mut api_servers = ApiServers::start(&tools).await;
            let cases = cases(PODS);
            let old = &cases[..OLD_PODS];
            api_servers.stand_there(old).await;
            api_servers.switch_on().await;
            let mut table = Table::default();
            table.reported("pods that stood there before", touched(&api_servers, old).await);
            table.reported("pods", made(&api_servers, &cases).await);
            table.settle();
            policies_hold_alongside_the_plugins(&api_servers, &cases).await;
        };
        tokio::time::timeout(STARTUP_TIMEOUT, all).await.expect("done in time");
    });
}

/// The results for one pod, on each side, step by step.
struct Reported<'c> {
    case: &'c Case,
    steps: BTreeMap<Side, Vec<Outcome>>,
    /// Whether it existed before (AD-4).
    old: bool,
}

async fn each<'c, F: Future<Output = Reported<'c>>>(work: impl Iterator<Item = F>) -> Vec<Reported<'c>> {
    stream::iter(work).buffer_unordered(AT_ONCE).collect().await
}

async fn made<'c>(api_servers: &ApiServers, cases: &'c [Case]) -> Vec<Reported<'c>> {
    let one = |(at, case): (usize, &'c Case)| async move {
        let mut steps = BTreeMap::new();
        for side in Side::ALL {
            steps.insert(side, api_servers.made(ClusterLists::of(at), side, case).await);
        }
        Reported { case, steps, old: false }
    };
    each(cases.iter().enumerate().map(one)).await
}

/// A new label is enough for a pod to be judged again (AD-4).
async fn touched<'c>(api_servers: &ApiServers, cases: &'c [Case]) -> Vec<Reported<'c>> {
    let one = |(at, case): (usize, &'c Case)| async move {
        let mut steps = BTreeMap::new();
        for side in Side::ALL {
            steps.insert(side, vec![api_servers.touched(ClusterLists::of(at), side, case).await]);
        }
        Reported { case, steps, old: true }
    };
    let there = |(_, case): &(usize, &Case)| api_servers.stands_there(case);
    each(cases.iter().enumerate().filter(there).map(one)).await
}

/// The number of equal results, and the observed differences.
#[derive(Default)]
struct Table {
    seen: BTreeMap<&'static str, usize>,
    same: usize,
    patched: usize,
    rejected: usize,
    odd: Vec<String>,
}

impl Table {
    fn reported(&mut self, what: &str, all: Vec<Reported<'_>>) {
        assert!(all.len() > 50, "{what}: {}", all.len());
        println!("{what}: {}", all.len());
        for reported in &all {
            for side in [Side::Ours, Side::Both] {
                let (upstream, other) = (&reported.steps[&Side::Upstream], &reported.steps[&side]);
                for at in 0..upstream.len().min(other.len()) {
                    self.pair(reported, side, at, &upstream[at], &other[at]);
                    if upstream[at] != other[at] {
                        // From here on the results concern different pods.
                        break;
                    }
                }
            }
        }
    }

    fn pair(
        &mut self,
        reported: &Reported<'_>,
        side: Side,
        step: usize,
        upstream: &Outcome,
        other: &Outcome,
    ) {
        if upstream == other {
            self.same += 1;
            match upstream {
                Outcome::Pod(list) => self.patched += usize::from(*list != tolerations(&reported.case.pod)),
                Outcome::Rejected { .. } => self.rejected += 1,
            }
            return;
        }
        let updated = reported.old || step > 0;
        let pair = Pair { case: reported.case, side, updated, upstream, other };
        let holds = |difference: &&Difference| difference.is_expected() && (difference.holds)(&pair);
        match DIFFERENCES.iter().find(holds) {
            Some(difference) => *self.seen.entry(difference.name).or_default() += 1,
            None => self.odd.push(pair.to_string()),
        }
    }

    fn settle(&self) {
        println!(
            "the same: {}, of them {} pods with something added, {} refusals",
            self.same, self.patched, self.rejected
        );
        let expected = || DIFFERENCES.iter().filter(|one| one.is_expected());
        for difference in expected() {
            let times = self.seen.get(difference.name).copied().unwrap_or_default();
            println!("{times:4} × {}: {}", difference.name, difference.why);
        }
        let shown = self.odd.iter().take(30).cloned().collect::<Vec<_>>().join("\n");
        assert!(self.odd.is_empty(), "{} undocumented differences:\n{shown}", self.odd.len());
        let known: Vec<&str> = expected().map(|one| one.name).collect();
        let unseen: Vec<&&str> = known.iter().filter(|name| !self.seen.contains_key(**name)).collect();
        assert!(unseen.is_empty(), "documented, but not observed: {unseen:?}");
        assert!(
            self.same > PODS && self.patched > PODS / 2 && self.rejected > 50,
            "too few requests were compared"
        );
    }
}

/// A policy's seconds win whether or not the plugin has set its own before.
async fn policies_hold_alongside_the_plugins(api_servers: &ApiServers, cases: &[Case]) {
    let name = |list: &usize| LISTS[*list].0;
    let mut compared = 0;
    for case in cases.iter().filter(|case| name(&case.lists) == "none").take(40) {
        let [ours, both] = api_servers.by_policy(case).await;
        let (Outcome::Pod(list), Outcome::Pod(other)) = (&ours, &both) else {
            assert!(matches!(ours, Outcome::Rejected { .. }) && ours == both, "{case:?}\n{ours}\n{both}");
            continue;
        };
        assert_eq!(sorted(list), sorted(other), "{case:?}");
        compared += 1;
        if case.pod["spec"]["tolerations"].is_null() {
            let seconds: Vec<_> = list.iter().map(|one| &one["tolerationSeconds"]).take(2).collect();
            assert_eq!(seconds, [&json!(30), &json!(null)], "{list:?}");
        }
    }
    assert!(compared > 20, "only {compared} were compared");
}
