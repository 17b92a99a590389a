//! Compares the installed admission policies with the core's rule for pools, on over a thousand requests.

pub(crate) mod cases;
pub(crate) mod harness;
pub(crate) mod pools;
pub(crate) mod reader;

use crate::turn;
use cases::{Creation, GuardChange, OldPod, changes, creations, old_pods};
use futures::StreamExt as _;
use futures::stream;
use harness::{GuardHarness, GuardResponse, Policy};
use pools::deniers;
use reader::{change, creation};
use std::collections::BTreeMap;
use std::time::Duration;
use taintward_core::admission::pool::{PoolEntry, PoolExemptions, PoolViolation, violation};
use taintward_core::admission::request::{NodePoolMembership, PodRequest};

/// The number of generated pods.
const CREATIONS: usize = 900;
/// The number of pods that exist before the policies are installed; each is changed in several ways.
const OLD_PODS: usize = 80;
/// The minimum number of judged requests; a minimum of them must be admitted, and rejected.
const JUDGED_MIN: usize = 1_000;
const EACH_MIN: usize = 200;
/// Concurrent requests.
const AT_ONCE: usize = 12;
/// The timeout of everything; on an idle machine it takes half a minute.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(600);

#[test]
fn the_policies_say_what_the_core_says() {
    let Some(tools) = turn::for_test("pool_guard") else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let all = async {
            let harness = GuardHarness::start(&tools).await;
            let uids = harness.uids();
            let old = harness.stand_there(old_pods(OLD_PODS, &uids)).await;
            harness.switch_on().await;
            for policy in [Policy::Guard, Policy::New] {
                harness.hand_over(policy).await;
                println!("{policy:?}");
                compare(&harness, &old, &uids).await;
            }
        };
        tokio::time::timeout(STARTUP_TIMEOUT, all).await.expect("done in time");
    });
}

/// Sends every request, and compares the result of the policy that judges it at the moment.
async fn compare(harness: &GuardHarness, old: &[OldPod], uids: &[String]) {
    let mut tally = GuardTally::default();
    let one =
        |case: Creation| async move { (harness.created(&case).await, creation(&case), case.to_string()) };
    // A server that does not support `Gt` and `Lt` judges no pod with them.
    let count = if harness.comparison_operators() { CREATIONS } else { 2 * CREATIONS };
    let reported: Vec<_> =
        stream::iter(creations(count, uids)).map(one).buffer_unordered(AT_ONCE).collect().await;
    tally.take("creation", harness, reported);
    let one =
        |case: GuardChange| async move { (harness.changed(&case).await, change(&case), case.to_string()) };
    let reported: Vec<_> =
        stream::iter(changes(old, uids)).map(one).buffer_unordered(AT_ONCE).collect().await;
    tally.take("change", harness, reported);
    tally.settle();
}

/// The results of both.
#[derive(Default)]
struct GuardTally {
    let_in: usize,
    rejected: usize,
    /// Requests that any API server rejects.
    invalid: usize,
    /// How often each pool, and each reason for admission, decided.
    reasons: BTreeMap<String, usize>,
    odd: Vec<String>,
}

impl GuardTally {
    fn take(
        &mut self,
        step: &str,
        harness: &GuardHarness,
        reported: Vec<(GuardResponse, PodRequest, String)>,
    ) {
        for (response, request, text) in reported {
            let found = judged(harness, &request);
            match (&response, found.is_empty()) {
                (GuardResponse::Invalid(_), _) => self.invalid += 1,
                (GuardResponse::LetIn, true) => self.let_in += 1,
                (GuardResponse::Rejected(message), false) if names_one(message, harness, &found) => {
                    self.rejected += 1;
                    *self.reasons.entry(reason(harness, &found[0], step)).or_default() += 1;
                }
                _ => self
                    .odd
                    .push(format!("{step} of {text}\n    policies: {response:?}\n    core: {found:?}")),
            }
        }
    }

    fn settle(&self) {
        println!("let in {}, refused {}, invalid {}", self.let_in, self.rejected, self.invalid);
        for (reason, count) in &self.reasons {
            println!("    {count:>4} {reason}");
        }
        let odd = self.odd.iter().take(10).map(String::as_str).collect::<Vec<_>>().join("\n");
        assert!(self.odd.is_empty(), "{} results differ:\n{odd}", self.odd.len());
        assert!(self.let_in + self.rejected >= JUDGED_MIN && self.let_in.min(self.rejected) >= EACH_MIN);
        for pool in deniers() {
            let named = self.reasons.keys().any(|reason| reason.contains(&format!(" {pool} ")));
            assert!(named, "nothing was rejected for {pool}");
        }
        for way in [
            "creation Node",
            "creation UnknownNode",
            "creation Tolerations",
            "creation Claim",
            "change Tolerations",
            "change Claim",
        ] {
            let seen = self.reasons.keys().any(|reason| reason.ends_with(way));
            assert!(seen, "nothing was rejected by {way}");
        }
    }
}

/// The core's violations.
fn judged(harness: &GuardHarness, request: &PodRequest) -> Vec<PoolViolation> {
    let namespace = harness.labels(&request.pod.identity.namespace);
    if PoolExemptions::default().of(request.who(None)).is_some() {
        return Vec::new();
    }
    let pools = harness.pools();
    let owner = |node: &str| pools.iter().find(|pool| pool.members.names.iter().any(|own| **own == *node));
    let node = match request.destination() {
        Some(node) => match owner(node) {
            Some(pool) => NodePoolMembership::Pool(&pool.name),
            None if node == "ghost" => NodePoolMembership::Unknown,
            None => NodePoolMembership::None,
        },
        None => NodePoolMembership::Unknown,
    };
    let mut found = violation(pools, request, node, Some(namespace)).0;
    found.retain(|one| one.entry == PoolEntry::Claim || pools[one.pool].denial_if_unjudged());
    found
}

/// The first policy that rejects gives the reason, and the order is arbitrary.
fn names_one(message: &str, harness: &GuardHarness, found: &[PoolViolation]) -> bool {
    found.iter().any(|one| match one.entry {
        PoolEntry::UnknownNode => message.contains("is unknown"),
        PoolEntry::Claim => {
            message.contains(&format!("a user of pool {} created", harness.pools()[one.pool].name))
        }
        _ => message.contains(&format!("pool {} ", harness.pools()[one.pool].name)),
    })
}

fn reason(harness: &GuardHarness, one: &PoolViolation, step: &str) -> String {
    let way = match one.entry {
        PoolEntry::None => "None",
        PoolEntry::Tolerations(_) => "Tolerations",
        PoolEntry::Node => "Node",
        PoolEntry::UnknownNode => "UnknownNode",
        PoolEntry::Claim => "Claim",
    };
    format!("for {} by {step} {way}", harness.pools()[one.pool].name)
}
