//! Compares the webhook with the API server's own admission plugins on hundreds of pods.
//!
//! - The results are equal, order included, except for what `admission/differences.rs` lists.

use crate::admission::api_servers::{
    AdmissionController, AdmissionOutcome, ApiServers, ClusterLists, ServerPair,
};
use crate::admission::differences::{AdmissionDifference, DIFFERENCES, sorted};
use crate::admission::pods::{LISTS, PodCase, cases};
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
            let mut table = DifferentialTable::default();
            table.reported("pods that stood there before", touched(&api_servers, old).await);
            table.reported("pods", made(&api_servers, &cases).await);
            table.settle();
            policies_hold_alongside_the_plugins(&api_servers, &cases).await;
        };
        tokio::time::timeout(STARTUP_TIMEOUT, all).await.expect("done in time");
    });
}

/// The results for one pod, on each side, step by step.
struct ReportedCase<'c> {
    case: &'c PodCase,
    steps: BTreeMap<AdmissionController, Vec<AdmissionOutcome>>,
    /// Whether it existed before (AD-4).
    old: bool,
}

async fn each<'c, F: Future<Output = ReportedCase<'c>>>(
    work: impl Iterator<Item = F>,
) -> Vec<ReportedCase<'c>> {
    stream::iter(work).buffer_unordered(AT_ONCE).collect().await
}

async fn made<'c>(api_servers: &ApiServers, cases: &'c [PodCase]) -> Vec<ReportedCase<'c>> {
    let one = |(at, case): (usize, &'c PodCase)| async move {
        let mut steps = BTreeMap::new();
        for side in AdmissionController::ALL {
            steps.insert(side, api_servers.made(ClusterLists::of(at), side, case).await);
        }
        ReportedCase { case, steps, old: false }
    };
    each(cases.iter().enumerate().map(one)).await
}

/// A new label is enough for a pod to be judged again (AD-4).
async fn touched<'c>(api_servers: &ApiServers, cases: &'c [PodCase]) -> Vec<ReportedCase<'c>> {
    let one = |(at, case): (usize, &'c PodCase)| async move {
        let mut steps = BTreeMap::new();
        for side in AdmissionController::ALL {
            steps.insert(side, vec![api_servers.touched(ClusterLists::of(at), side, case).await]);
        }
        ReportedCase { case, steps, old: true }
    };
    let there = |(_, case): &(usize, &PodCase)| api_servers.stands_there(case);
    each(cases.iter().enumerate().filter(there).map(one)).await
}

/// The number of equal results, and the observed differences.
#[derive(Default)]
struct DifferentialTable {
    seen: BTreeMap<&'static str, usize>,
    same: usize,
    patched: usize,
    rejected: usize,
    odd: Vec<String>,
}

impl DifferentialTable {
    fn reported(&mut self, what: &str, all: Vec<ReportedCase<'_>>) {
        assert!(all.len() > 50, "{what}: {}", all.len());
        println!("{what}: {}", all.len());
        for reported in &all {
            for side in [AdmissionController::Ours, AdmissionController::Both] {
                let (upstream, other) =
                    (&reported.steps[&AdmissionController::Upstream], &reported.steps[&side]);
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
        reported: &ReportedCase<'_>,
        side: AdmissionController,
        step: usize,
        upstream: &AdmissionOutcome,
        other: &AdmissionOutcome,
    ) {
        if upstream == other {
            self.same += 1;
            match upstream {
                AdmissionOutcome::Pod(list) => {
                    self.patched += usize::from(*list != tolerations(&reported.case.pod))
                }
                AdmissionOutcome::Rejected { .. } => self.rejected += 1,
            }
            return;
        }
        let updated = reported.old || step > 0;
        let pair = ServerPair { case: reported.case, side, updated, upstream, other };
        let holds = |difference: &&AdmissionDifference| difference.is_expected() && (difference.holds)(&pair);
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
async fn policies_hold_alongside_the_plugins(api_servers: &ApiServers, cases: &[PodCase]) {
    let name = |list: &usize| LISTS[*list].0;
    let mut compared = 0;
    for case in cases.iter().filter(|case| name(&case.lists) == "none").take(40) {
        let [ours, both] = api_servers.by_policy(case).await;
        let (AdmissionOutcome::Pod(list), AdmissionOutcome::Pod(other)) = (&ours, &both) else {
            assert!(
                matches!(ours, AdmissionOutcome::Rejected { .. }) && ours == both,
                "{case:?}\n{ours}\n{both}"
            );
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
