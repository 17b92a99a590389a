//! Tests with random users, pools and pods that no pod of an outsider ever runs on a dedicated node.
//!
//! - On a real API server with an installation, while the webhook is absent, false or slow; pods of insiders run, and
//!   no pool evicts one. The rules are implemented again, independently of the product.
//! - `TAINTWARD_POOL_SEED` chooses the history, `TAINTWARD_POOL_ROUNDS` its length.

pub(crate) mod actions;
pub(crate) mod choices;
pub(crate) mod false_webhook;
pub(crate) mod harness;
pub(crate) mod history;
pub(crate) mod plan;
pub(crate) mod pool_users;
pub(crate) mod rules;

use crate::pool_attacks::installation::Installation;
use crate::turn;
use actions::{Generator, PoolAction};
use choices::PoolChoices;
use false_webhook::FalseWebhook;
use futures::future::join_all;
use harness::{PoolOutcome, PropertyHarness};
use history::{PoolHistory, place_of};
use plan::Plan;
use pool_users::Why;
use rules::fits;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::{Duration, Instant};
use taintward_envtest::api::PatchType;
use taintward_envtest::certificates::TestAuthority;
use taintward_envtest::{Audit, Cluster, ClusterConfig};

/// The timeout of everything; on an idle machine it takes 40 s.
const WHOLE: Duration = Duration::from_secs(600);
const SEED: u64 = 15;
/// The rounds of each history, and the concurrent actions in each.
const ROUNDS: usize = 40;
const AT_ONCE: usize = 16;
/// A slow webhook costs each request seconds.
const SLOW_ROUNDS: usize = 4;
const SLOW_AT_ONCE: usize = 40;
const OLD_PODS: usize = 30;
/// The timeout for a slow webhook, and how long it takes.
const TIMEOUT_SECONDS: u32 = 1;
const SLOW: Duration = Duration::from_millis(1_500);
/// The minimum for each mode: rejected requests, and pods of insiders on nodes of pools.
const LEAST: usize = 8;

#[test]
fn pods_of_outsiders_are_never_on_dedicated_nodes() {
    let Some(tools) = turn::for_test("pool_property") else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let all = async {
        let options =
            ClusterConfig { audit: Audit::Off, comparison_operators: true, ..ClusterConfig::default() };
        let cluster = Cluster::start(&tools, options).await.unwrap();
        tokio::time::timeout(WHOLE, play(&cluster)).await.expect("done in time");
    };
    tokio::task::LocalSet::new().block_on(&runtime, all);
}

fn requested(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

async fn play(cluster: &Cluster) {
    let seed = requested("TAINTWARD_POOL_SEED").unwrap_or(SEED);
    let rounds = requested("TAINTWARD_POOL_ROUNDS").map_or(ROUNDS, |rounds| usize::try_from(rounds).unwrap());
    println!("seed {seed}");
    let plan = Rc::new(Plan::of(&mut PoolChoices::of(seed)));
    let harness = PropertyHarness::lay(cluster, &plan).await;
    let generator = Generator::new(&plan, PoolChoices::of(seed + 1));
    let mut run = Run {
        harness,
        generator,
        history: PoolHistory::of(&plan),
        choices: PoolChoices::of(seed + 2),
        seed,
        seen: BTreeSet::new(),
        evicted: BTreeSet::new(),
    };
    for _ in 0..OLD_PODS {
        let action = run.generator.old_pod();
        let outcome = run.harness.act(&action).await;
        run.note(None, &action, &outcome);
    }
    let authority = TestAuthority::new().unwrap();
    let installed = Installation::apply(cluster, &authority.certificate).await;
    let _controller = installed.controller().await;
    run.harness.make_pools(&mut run.history).await;
    let missed = installed.times_missed().await;
    run.all("off", rounds, AT_ONCE).await;
    assert!(installed.times_missed().await > missed, "there is a webhook");
    let webhook = FalseWebhook::new(Rc::clone(&plan), PoolChoices::of(seed + 3));
    Rc::clone(&webhook).listen(installed.port, &authority).await;
    run.all("lying", rounds, AT_ONCE).await;
    assert!(webhook.lies.get() > LEAST, "no API server calls it");
    for plural in ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"] {
        let path = format!("/apis/admissionregistration.k8s.io/v1/{plural}/taintward");
        let sooner =
            json!([{"op": "replace", "path": "/webhooks/0/timeoutSeconds", "value": TIMEOUT_SECONDS}]);
        run.harness.admin.patch(&path, PatchType::Json, &sooner.to_string()).await.unwrap();
    }
    webhook.delay.set(SLOW);
    let missed = installed.times_missed().await;
    run.all("slow", SLOW_ROUNDS, SLOW_AT_ONCE).await;
    assert!(installed.times_missed().await > missed, "the webhook is not slow");
    println!("evicted from nodes of pools: {}", run.evicted.len());
    assert!(seed != SEED || !run.evicted.is_empty(), "no pool evicts");
}

struct Run<'p> {
    harness: PropertyHarness,
    generator: Generator<'p>,
    history: PoolHistory,
    choices: PoolChoices,
    seed: u64,
    /// Pods that were seen on nodes of pools.
    seen: BTreeSet<(String, String)>,
    /// Pods that were evicted because their node belongs to a pool.
    evicted: BTreeSet<(String, String)>,
}

/// The results of one mode.
#[derive(Default)]
struct PropertyTally {
    requested: usize,
    taken: usize,
    rejected: usize,
    invalid: usize,
    /// Pods on nodes of pools, by the reason why they may be there.
    there: BTreeMap<Why, usize>,
}

impl Run<'_> {
    async fn all(&mut self, mode: &str, rounds: usize, at_once: usize) {
        let (began, mut tally) = (Instant::now(), PropertyTally::default());
        for _ in 0..rounds {
            self.round(mode, at_once, &mut tally).await;
        }
        let inside: usize =
            tally.there.iter().filter(|(why, _)| why.is_inside()).map(|(_, count)| count).sum();
        println!(
            "{mode}: {} requests, {} taken, {} refused by policies, {} invalid; pods that came to be on nodes of pools: {:?}; {:.1} s",
            tally.requested,
            tally.taken,
            tally.rejected,
            tally.invalid,
            tally.there,
            began.elapsed().as_secs_f64()
        );
        assert!(tally.rejected >= LEAST && inside >= LEAST, "{mode}: too little happens");
    }

    async fn round(&mut self, mode: &str, at_once: usize, tally: &mut PropertyTally) {
        self.history.round += 1;
        let actions = self.generator.round(at_once, &self.history);
        let known = self.history.nodes.clone();
        let outcomes = join_all(actions.iter().map(|action| self.harness.act(action))).await;
        for (action, outcome) in actions.iter().zip(&outcomes) {
            let by = match action {
                PoolAction::Create { by, .. } | PoolAction::Change { by, .. } => Some(*by),
                _ => None,
            };
            if by.is_some() {
                tally.count(outcome);
            }
            self.note(by, action, outcome);
        }
        if actions.iter().any(|action| matches!(action, PoolAction::Node { .. })) {
            self.harness.settle(&mut self.history, &known).await;
        }
        let wrong = self.schedule(tally).await;
        assert!(
            wrong.is_empty(),
            "seed {}, {mode}, round {}:\n{}",
            self.seed,
            self.history.round,
            wrong.join("\n")
        );
    }

    fn note(&mut self, by: Option<usize>, action: &PoolAction, outcome: &PoolOutcome) {
        match (action, outcome) {
            (PoolAction::Create { .. } | PoolAction::Change { .. }, PoolOutcome::Taken(pod)) => {
                let who = by.map_or("before the pools", |by| &self.generator.plan.users[by].name);
                let what = match action {
                    PoolAction::Change { change, .. } => format!("{change:?} by {who:?}"),
                    _ => format!("created by {who:?}"),
                };
                self.history.taken(self.generator.plan, by, pod, what);
            }
            (PoolAction::Delete { namespace, name }, PoolOutcome::Taken(_))
            | (PoolAction::Change { namespace, name, .. }, PoolOutcome::Gone) => {
                self.history.pods.remove(&(namespace.clone(), name.clone()));
            }
            (PoolAction::Node { name, .. }, PoolOutcome::Taken(_)) => self.history.nodes.push(name.clone()),
            _ => {}
        }
    }

    /// Pods that a pool has evicted although they may be there. For a node that belonged to another pool before, it is
    /// unknown which of the pools did.
    fn wrongly_evicted(&mut self, pods: &[Value]) -> Vec<String> {
        let mut wrong = Vec::new();
        for pod in pods.iter().filter(|pod| is_evicted(pod)) {
            let node = pod["spec"]["nodeName"].as_str().expect("a node");
            let is_settled = self.history.nodes.iter().filter(|known| *known == node).count() == 1;
            if !self.evicted.insert(place_of(pod)) || !is_settled {
                continue;
            }
            let evicts = self
                .history
                .members
                .get(node)
                .is_some_and(|(pool, _)| self.generator.plan.pools[*pool].spec["enforcement"] == "Evict");
            match self.history.judged(self.generator.plan, pod, node) {
                Some(Err(_) | Ok(Why::Before)) if evicts => {}
                reported => wrong.push(format!("{:?} was evicted from {node}: {reported:?}", place_of(pod))),
            }
        }
        wrong
    }

    /// Binds pods to nodes of pools where possible. Returns those that may not be there.
    async fn schedule(&mut self, tally: &mut PropertyTally) -> Vec<String> {
        let (pods, nodes) = self.harness.check().await;
        let here: BTreeSet<_> = pods.iter().map(place_of).collect();
        self.history.pods.retain(|place, _| here.contains(place));
        let mut wrong = self.wrongly_evicted(&pods);
        for pod in pods.iter().filter(|pod| pod["metadata"]["deletionTimestamp"].is_null()) {
            let open: Vec<String> = match pod["spec"]["nodeName"].as_str() {
                Some(node) => vec![node.into()],
                None if self.history.pods[&place_of(pod)].gated => Vec::new(),
                None => {
                    self.history.members.keys().filter(|node| fits(pod, &nodes[*node])).cloned().collect()
                }
            };
            let is_bound = pod["spec"]["nodeName"].is_string();
            let chosen =
                (!open.is_empty() && (is_bound || self.choices.chance(50))).then(|| self.choices.pick(&open));
            for node in &open {
                match self.history.judged(self.generator.plan, pod, node) {
                    Some(Err(words)) => wrong.push(words),
                    Some(Ok(why)) if chosen.as_ref() == Some(node) && self.seen.insert(place_of(pod)) => {
                        *tally.there.entry(why).or_default() += 1;
                    }
                    _ => {}
                }
            }
            // The other pods can still be changed.
            if let Some(node) = chosen.filter(|_| !is_bound) {
                let (namespace, name) = place_of(pod);
                self.harness.bind(&namespace, &name, &node).await;
                self.history.pods.get_mut(&(namespace, name)).unwrap().node = Some(node);
            }
        }
        wrong
    }
}

/// Whether the eviction API, not a taint, evicted it.
fn is_evicted(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|one| one["reason"] == "EvictionByEvictionAPI")
}

impl PropertyTally {
    fn count(&mut self, outcome: &PoolOutcome) {
        self.requested += 1;
        match outcome {
            PoolOutcome::Taken(_) => self.taken += 1,
            PoolOutcome::Rejected => self.rejected += 1,
            PoolOutcome::Invalid => self.invalid += 1,
            PoolOutcome::Gone => {}
        }
    }
}
