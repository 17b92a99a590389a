//! Generates the actions of users: pods, changes of pods, new nodes.

use super::choices::PoolChoices;
use super::history::PoolHistory;
use super::plan::{ACCOUNTS, DAEMONS, KUBELET, MADE_FOR, Plan, Pool, labels_of};
use super::pool_users::{RequestedPod, may_use};
use super::rules::list;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use testkit::{ObjectExt as _, pod};

const GATES: &str = r#"[{"name": "example.com/wait"}]"#;

#[derive(Clone, Debug)]
pub(crate) enum PoolChange {
    Tolerate(Vec<Value>),
    Ungate,
    Label,
    /// The annotation that it was made for a pool.
    Claim(String),
    /// An ephemeral container.
    Debug,
}

#[derive(Clone, Debug)]
pub(crate) enum PoolAction {
    Create {
        by: usize,
        namespace: String,
        pod: Value,
    },
    Change {
        by: usize,
        namespace: String,
        name: String,
        change: PoolChange,
    },
    Delete {
        namespace: String,
        name: String,
    },
    /// A new node, or an existing one with other labels.
    Node {
        name: String,
        labels: Value,
    },
}

pub(crate) struct Generator<'p> {
    pub(crate) plan: &'p Plan,
    pub(crate) choices: PoolChoices,
    made: usize,
}

impl<'p> Generator<'p> {
    pub(crate) fn new(plan: &'p Plan, choices: PoolChoices) -> Self {
        Self { plan, choices, made: 0 }
    }

    /// Generates this many concurrent actions.
    pub(crate) fn round(&mut self, count: usize, history: &PoolHistory) -> Vec<PoolAction> {
        let mut taken = BTreeSet::new();
        let mut round = Vec::new();
        if self.choices.chance(35) {
            round.push(self.random_node());
        }
        while round.len() < count {
            let one = if self.choices.chance(60) {
                Some(self.creation())
            } else {
                self.change(history, &mut taken)
            };
            round.extend(one);
        }
        round
    }

    /// A pod from before there are pools.
    pub(crate) fn old_pod(&mut self) -> PoolAction {
        let PoolAction::Create { by, namespace, mut pod } = self.creation() else { unreachable!() };
        pod["metadata"]["annotations"] = Value::Null;
        if pod["spec"].get("nodeName").is_none() && self.choices.chance(50) {
            pod["spec"]["schedulingGates"] = serde_json::from_str(GATES).unwrap();
        }
        PoolAction::Create { by, namespace, pod }
    }

    fn random_node(&mut self) -> PoolAction {
        let pool = &self.plan.pools[self.choices.below(self.plan.pools.len())];
        let labels = if self.choices.chance(70) { labels_of(pool) } else { json!({"hardware": "none"}) };
        let name = match self.choices.below(4) {
            0 => format!("{}-3", pool.name),
            1 => "open-0".into(),
            _ => format!("later-{}", self.choices.below(8)),
        };
        PoolAction::Node { name, labels }
    }

    fn any_node(&mut self, pool: &Pool) -> String {
        match self.choices.below(10) {
            0..5 => format!("{}-{}", pool.name, self.choices.below(2) + 1),
            5 => format!("{}-3", pool.name),
            6 => format!("later-{}", self.choices.below(8)),
            7 => "open-0".into(),
            _ => format!("open-{}", self.choices.below(3) + 1),
        }
    }

    fn creation(&mut self) -> PoolAction {
        let pool = &self.plan.pools[self.choices.below(self.plan.pools.len())];
        let wanted = self.choices.chance(50);
        let mut tries = 0;
        let (by, namespace, account) = loop {
            let by = self.choices.below(self.plan.users.len());
            let namespaces: Vec<&String> = self.plan.namespaces.keys().collect();
            let (namespace, account) = (self.choices.pick(&namespaces), self.choices.pick(&ACCOUNTS));
            let labels = &self.plan.namespaces[namespace];
            let requested = RequestedPod { by: Some(&self.plan.users[by]), namespace, labels, account };
            tries += 1;
            if tries > 200
                || may_use(pool, &requested) == wanted && (namespace != "kube-system" || tries > 20)
            {
                break (by, namespace.clone(), account);
            }
        };
        self.made += 1;
        // Without kubelets an evicted pod exists until the end of its grace period, so that it can be observed.
        let mut pod = pod(&format!("pod-{}", self.made))
            .with("metadata.labels.app", self.choices.pick(&["a", "b"]))
            .with("spec.terminationGracePeriodSeconds", 30)
            .with("spec.tolerations", self.tolerations(pool));
        if !account.is_empty() {
            pod["spec"]["serviceAccountName"] = json!(account);
        }
        if let Some(uid) = self.plan.claim(pool).filter(|_| self.choices.chance(15)) {
            pod["metadata"]["annotations"] = json!({MADE_FOR: uid});
            if self.choices.chance(50) {
                // Its tolerations come later.
                pod["spec"]["tolerations"] = json!([]);
            }
        }
        if self.choices.chance(5) {
            pod["spec"]["priorityClassName"] = json!("system-node-critical");
        }
        let by = self.form(by, &mut pod, pool);
        PoolAction::Create { by, namespace, pod }
    }

    /// Sets the other properties of the pod. Returns the user that creates it then.
    fn form(&mut self, by: usize, pod: &mut Value, pool: &Pool) -> usize {
        let believed = self.choices.chance(75);
        match self.choices.below(100) {
            0..15 => pod["spec"]["schedulingGates"] = serde_json::from_str(GATES).unwrap(),
            15..28 => pod["spec"]["nodeName"] = json!(self.any_node(pool)),
            28..40 => {
                pod["metadata"]["ownerReferences"] = owner();
                let mut terms = vec![pinned(&self.any_node(pool))];
                if self.choices.chance(20) {
                    terms.push(pinned(&self.any_node(pool)));
                }
                pod["spec"]["affinity"] = affinity(&terms);
                if believed {
                    return self.plan.user(DAEMONS);
                }
            }
            40..45 => {
                pod["metadata"]["annotations"]["kubernetes.io/config.mirror"] = json!("m");
                pod["spec"]["nodeName"] = json!(self.any_node(pool));
                if believed {
                    return self.plan.user(KUBELET);
                }
            }
            _ => {}
        }
        by
    }

    fn change(
        &mut self,
        history: &PoolHistory,
        taken: &mut BTreeSet<(String, String)>,
    ) -> Option<PoolAction> {
        // A pod without a node can still be admitted.
        let loose = self.choices.chance(85);
        let here: Vec<_> = history.pods.iter().filter(|(_, one)| !loose || one.node.is_none()).collect();
        if here.is_empty() {
            return None;
        }
        let (at, trace) = self.choices.pick(&here);
        let (namespace, name) = at.clone();
        if !taken.insert(at.clone()) {
            return None;
        }
        // A pod may more easily get what it claims it was made for.
        let any = self.choices.below(self.plan.pools.len());
        let at = trace.claimed.first().filter(|_| self.choices.chance(75)).copied().unwrap_or(any);
        let pool = &self.plan.pools[at];
        let change = match self.choices.below(10) {
            0 => return Some(PoolAction::Delete { namespace, name }),
            1 => PoolChange::Label,
            2 if self.choices.chance(50) => PoolChange::Debug,
            2 => PoolChange::Claim(self.plan.claim(pool).unwrap()),
            3..7 if trace.gated => PoolChange::Ungate,
            _ => PoolChange::Tolerate(self.tolerations(pool)),
        };
        Some(PoolAction::Change { by: self.choices.below(self.plan.users.len()), namespace, name, change })
    }

    /// Mostly all tolerations that the nodes of a pool require.
    fn tolerations(&mut self, pool: &Pool) -> Vec<Value> {
        let taint = &pool.spec["taint"];
        let mut all = Vec::new();
        if self.choices.chance(80) {
            let effects: Vec<&Value> =
                list(taint, "effects").filter(|effect| *effect != "PreferNoSchedule").collect();
            if self.choices.chance(60) {
                all.push(self.random_toleration(&taint["key"], &taint["value"], &Value::Null));
            } else {
                all.extend(
                    effects
                        .iter()
                        .map(|effect| self.random_toleration(&taint["key"], &taint["value"], effect)),
                );
            }
        }
        while all.is_empty() || self.choices.chance(25) {
            let other = &self.plan.pools[self.choices.below(self.plan.pools.len())].spec["taint"];
            let key = self.choices.pick(&[
                other["key"].clone(),
                json!("example.com/else"),
                json!("node.kubernetes.io/x"),
            ]);
            let effect = self.choices.pick(&[
                json!("NoSchedule"),
                json!("NoExecute"),
                json!("PreferNoSchedule"),
                Value::Null,
            ]);
            all.push(self.random_toleration(&key, &other["value"], &effect));
        }
        all
    }

    /// A toleration for exactly this taint, in one of the possible forms.
    fn random_toleration(&mut self, key: &Value, value: &Value, effect: &Value) -> Value {
        let number = value.as_str().and_then(|text| text.parse::<i64>().ok());
        let mut one = match self.choices.below(8) {
            0 => json!({"operator": "Exists"}),
            1..3 => json!({"key": key, "operator": "Exists"}),
            3 => json!({"key": key, "value": value}),
            4 if number.is_some() => {
                json!({"key": key, "operator": "Gt", "value": (number.unwrap() - 1).to_string()})
            }
            5 if number.is_some() => {
                json!({"key": key, "operator": "Lt", "value": (number.unwrap() + 1).to_string()})
            }
            _ => json!({"key": key, "operator": "Equal", "value": value}),
        };
        if !effect.is_null() {
            one["effect"] = effect.clone();
            if effect == "NoExecute" && self.choices.chance(30) {
                one["tolerationSeconds"] = json!(600);
            }
        }
        one
    }
}

/// A node affinity term that matches one node only.
pub(crate) fn pinned(node: &str) -> Value {
    json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]})
}

pub(crate) fn affinity(terms: &[Value]) -> Value {
    json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}})
}

pub(crate) fn owner() -> Value {
    json!([{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d",
        "uid": "5b0e0e0c-0000-4000-8000-000000000000", "controller": true}])
}
