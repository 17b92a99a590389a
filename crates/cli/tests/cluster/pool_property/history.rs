//! Records which user is responsible for where each pod may run.

use super::plan::{MADE_FOR, Plan, Pool};
use super::pool_users::{RequestedPod, Why, is_user, why};
use super::rules::{list, text};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// A pod.
#[derive(Default)]
pub(crate) struct Trace {
    /// The user that created it or last allowed it to run elsewhere; none if that was before the pools.
    by: Option<usize>,
    pub(crate) node: Option<String>,
    pub(crate) gated: bool,
    tolerations: Value,
    /// Indexes of pools one of whose users has set the annotation that it was made for it.
    proven: BTreeSet<usize>,
    /// Indexes of the pools in its annotation, regardless of the writer.
    pub(crate) claimed: Vec<usize>,
    /// The round in which it was created.
    born: usize,
    /// The actions, in words.
    pub(crate) story: Vec<String>,
}

pub(crate) struct PoolHistory {
    pub(crate) pods: BTreeMap<(String, String), Trace>,
    /// The index of a node's pool, and the first round in which all pods on it must be the pool's.
    pub(crate) members: BTreeMap<String, (usize, usize)>,
    /// Pods that were on a node before it joined, by node.
    before: BTreeSet<(String, (String, String))>,
    /// The existing nodes.
    pub(crate) nodes: Vec<String>,
    pub(crate) round: usize,
}

pub(crate) fn place_of(pod: &Value) -> (String, String) {
    (text(&pod["metadata"], "namespace").into(), text(&pod["metadata"], "name").into())
}

fn gated(pod: &Value) -> bool {
    list(&pod["spec"], "schedulingGates").next().is_some()
}

impl PoolHistory {
    pub(crate) fn of(plan: &Plan) -> Self {
        let nodes = plan.nodes.keys().cloned().collect();
        Self { pods: BTreeMap::new(), members: BTreeMap::new(), before: BTreeSet::new(), nodes, round: 0 }
    }

    /// An API server has accepted a user's request (`None`: before the pools). `pod` is the result.
    pub(crate) fn taken(&mut self, plan: &Plan, by: Option<usize>, pod: &Value, what: String) {
        let (tolerations, gated, round) = (pod["spec"]["tolerations"].clone(), gated(pod), self.round);
        let place = place_of(pod);
        let is_new = !self.pods.contains_key(&place);
        let trace = self.pods.entry(place).or_default();
        // If the pod runs already, an addition does not let it run elsewhere.
        let lets = trace.node.is_none() && (trace.tolerations != tolerations || (trace.gated && !gated));
        if is_new || lets {
            trace.by = by;
        }
        if is_new {
            trace.born = round;
        }
        trace.node = pod["spec"]["nodeName"].as_str().map(Into::into);
        (trace.gated, trace.tolerations) = (gated, tolerations);
        let claims = text(&pod["metadata"]["annotations"], MADE_FOR);
        let is_claimed = |at: &usize| plan.claim(&plan.pools[*at]).is_some_and(|uid| claims.contains(&uid));
        trace.claimed = (0..plan.pools.len()).filter(is_claimed).collect();
        let proves = |at: &&usize| by.is_some_and(|by| is_user(&plan.pools[**at], &plan.users[by]));
        trace.proven.extend(trace.claimed.iter().filter(proves));
        trace.story.push(what);
    }

    /// A node has joined a pool; its pods stay.
    pub(crate) fn joined(&mut self, node: &str, pool: usize, since: usize) {
        if self.members.get(node).is_none_or(|(known, _)| *known != pool) {
            self.members.insert(node.into(), (pool, since));
            let there =
                self.pods.iter().filter(|(_, trace)| since > 0 && trace.node.as_deref() == Some(node));
            self.before.extend(there.map(|(place, _)| (node.to_owned(), place.clone())));
        }
    }

    /// The pool of a node, and why the pod may be there; a message if it may not.
    pub(crate) fn judged(&self, plan: &Plan, pod: &Value, node: &str) -> Option<Result<Why, String>> {
        let &(pool, since) = self.members.get(node)?;
        let place = place_of(pod);
        let (trace, is_proven) = (&self.pods[&place], self.pods[&place].proven.contains(&pool));
        let pool = &plan.pools[pool];
        let requested = RequestedPod {
            by: trace.by.map(|by| &plan.users[by]),
            namespace: &place.0,
            labels: &plan.namespaces[&place.0],
            account: text(&pod["spec"], "serviceAccountName"),
        };
        let why = why(pool, &requested, pod).or_else(|| {
            // A DaemonSet's pod is tied to its node from the beginning.
            let is_old = self.before.contains(&(node.into(), place.clone()))
                || (trace.born < since && pod["metadata"].get("ownerReferences").is_some());
            is_old.then_some(Why::Before).or(is_proven.then_some(Why::User))
        });
        Some(why.ok_or_else(|| words(pool, pod, node, trace, requested.by.map_or("", |user| &user.name))))
    }
}

fn words(pool: &Pool, pod: &Value, node: &str, trace: &Trace, by: &str) -> String {
    let spec = json!({"tolerations": pod["spec"]["tolerations"], "affinity": pod["spec"]["affinity"]});
    format!(
        "{:?} on {node} of pool {}, by {by:?}: {}\n  the pod: {spec}\n  the pool: {}",
        place_of(pod),
        pool.name,
        trace.story.join("; "),
        pool.spec
    )
}
