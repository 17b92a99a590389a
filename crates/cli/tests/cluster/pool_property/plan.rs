//! Generates users, namespaces, pools and nodes; each pool has users inside and outside.

use super::choices::PoolChoices;
use super::pool_users::{RequestedPod, may_use};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// One for each kind of users.
const POOLS: usize = 8;
pub(crate) const ACCOUNTS: [&str; 3] = ["", "default", "runner"];

/// Controllers that create the pods of workloads.
pub(crate) const DAEMONS: &str = "system:serviceaccount:kube-system:daemon-set-controller";
const REPLICAS: &str = "system:serviceaccount:kube-system:replicaset-controller";
/// The annotation of a pod that names the pools for whose users it was made.
pub(crate) const MADE_FOR: &str = "taintward.io/made-for";
/// A kubelet.
pub(crate) const KUBELET: &str = "system:node:open-1";

#[derive(Clone, Debug)]
pub(crate) struct PlannedUser {
    pub(crate) name: String,
    pub(crate) groups: Vec<String>,
}

pub(crate) struct Pool {
    pub(crate) name: String,
    pub(crate) spec: Value,
}

pub(crate) struct Plan {
    pub(crate) users: Vec<PlannedUser>,
    /// Namespaces with their labels.
    pub(crate) namespaces: BTreeMap<String, Value>,
    pub(crate) pools: Vec<Pool>,
    /// The UIDs of the pools, once they exist.
    pub(crate) uids: RefCell<Vec<String>>,
    /// Nodes with their labels.
    pub(crate) nodes: BTreeMap<String, Value>,
}

impl Plan {
    pub(crate) fn of(choices: &mut PoolChoices) -> Self {
        let mut plan = Self {
            users: users(choices),
            namespaces: namespaces(choices),
            pools: Vec::new(),
            uids: RefCell::default(),
            nodes: BTreeMap::new(),
        };
        for at in 0..4 {
            plan.nodes.insert(format!("open-{at}"), json!({"hardware": "none"}));
        }
        for at in 0..POOLS {
            let pool = loop {
                let pool = pool(at, &plan, choices);
                let ways = plan.ways();
                let may: Vec<bool> = ways.iter().map(|way| may_use(&pool, way)).collect();
                if may.contains(&true) && may.contains(&false) {
                    break pool;
                }
            };
            for number in 1..3 {
                plan.nodes.insert(format!("p{at}-{number}"), labels_of(&pool));
            }
            plan.pools.push(pool);
        }
        plan
    }

    /// All combinations of user, namespace and account, outside of the system's namespace.
    fn ways(&self) -> Vec<RequestedPod<'_>> {
        let mut all = Vec::new();
        for user in &self.users {
            for (namespace, labels) in self.namespaces.iter().filter(|(name, _)| *name != "kube-system") {
                for account in ACCOUNTS {
                    all.push(RequestedPod { by: Some(user), namespace, labels, account });
                }
            }
        }
        all
    }

    /// The value of [`MADE_FOR`] for a pool; `None` before it exists.
    pub(crate) fn claim(&self, pool: &Pool) -> Option<String> {
        let at = self.pools.iter().position(|one| one.name == pool.name)?;
        self.uids.borrow().get(at).cloned()
    }

    pub(crate) fn user(&self, name: &str) -> usize {
        self.users.iter().position(|user| user.name == name).unwrap()
    }
}

/// The labels that make a node a member, if the pool selects by labels.
pub(crate) fn labels_of(pool: &Pool) -> Value {
    match &pool.spec["nodes"]["selector"]["matchLabels"] {
        Value::Null => json!({}),
        labels => labels.clone(),
    }
}

fn users(choices: &mut PoolChoices) -> Vec<PlannedUser> {
    let mut all: Vec<PlannedUser> = (0..5)
        .map(|at| {
            let mut groups = vec!["staff".to_owned()];
            groups.extend((0..3).filter(|_| choices.chance(30)).map(|group| format!("g{group}")));
            PlannedUser { name: format!("user-{at}"), groups }
        })
        .collect();
    for (name, group) in [
        ("eve", "others"),
        (DAEMONS, "system:serviceaccounts"),
        (REPLICAS, "system:serviceaccounts"),
        ("system:serviceaccount:n1:runner", "system:serviceaccounts"),
        (KUBELET, "system:nodes"),
    ] {
        all.push(PlannedUser { name: name.into(), groups: vec![group.into()] });
    }
    all
}

fn namespaces(choices: &mut PoolChoices) -> BTreeMap<String, Value> {
    let mut all: BTreeMap<String, Value> = (0..5)
        .map(|at| {
            let name = format!("n{at}");
            let mut labels = json!({"kubernetes.io/metadata.name": name});
            for (key, values) in [("team", ["a", "b", "c"]), ("tier", ["gold", "silver", "tin"])] {
                if choices.chance(70) {
                    labels[key] = json!(choices.pick(&values));
                }
            }
            (name, labels)
        })
        .collect();
    all.insert("kube-system".into(), json!({"kubernetes.io/metadata.name": "kube-system"}));
    all
}

fn pool(at: usize, plan: &Plan, choices: &mut PoolChoices) -> Pool {
    let name = format!("p{at}");
    // Two of them differ only in the value.
    let key = if at < 2 { "example.com/shared".into() } else { format!("example.com/{name}") };
    let value = match at {
        0 | 1 => (5 + at).to_string(),
        _ => choices.pick(&["", "7", "on"]).to_owned(),
    };
    let effects = choices.pick(&[
        json!(["NoSchedule"]),
        json!(["NoExecute"]),
        json!(["NoSchedule", "NoExecute"]),
        json!(["PreferNoSchedule", "NoSchedule"]),
    ]);
    let nodes = if choices.chance(50) {
        json!({"selector": {"matchLabels": {"hardware": name}}})
    } else {
        json!({"names": [format!("{name}-1"), format!("{name}-2"), format!("{name}-3")]})
    };
    let mut users = json!({});
    let second = choices.chance(30).then(|| choices.below(POOLS));
    for kind in second.into_iter().chain([at]) {
        let (field, some) = some_users(kind, plan, choices);
        users[field] = some;
    }
    let spec = json!({
        "taint": {"key": key, "value": value, "effects": effects}, "nodes": nodes, "users": users,
        "placement": choices.pick(&["Exclusive", "Allowed"]), "daemonSets": choices.pick(&["Deny", "Deny", "Allow"]),
        "enforcement": choices.pick(&["Deny", "Evict"]),
    });
    Pool { name, spec }
}

fn some_users(kind: usize, plan: &Plan, choices: &mut PoolChoices) -> (&'static str, Value) {
    let team = choices.pick(&["a", "b", "c"]);
    let users: Vec<&str> = plan.users.iter().map(|user| &*user.name).collect();
    match kind {
        0 => ("namespaceSelector", json!({"matchLabels": {"team": team}})),
        1..5 => {
            let operator = ["In", "NotIn", "Exists", "DoesNotExist"][kind - 1];
            let mut one = json!({"key": choices.pick(&["team", "tier"]), "operator": operator});
            if operator.contains("In") {
                one["values"] = json!([team, "gold"]);
            }
            let labels = if choices.chance(30) { json!({"team": team}) } else { json!({}) };
            ("namespaceSelector", json!({"matchExpressions": [one], "matchLabels": labels}))
        }
        5 => {
            let account =
                |namespace: usize, name| json!({"namespace": format!("n{namespace}"), "name": name});
            let first = account(choices.below(5), "runner");
            ("serviceAccounts", json!([first, account(choices.below(5), "default")]))
        }
        // If a controller is among its users, that does not include the users whose pods it creates.
        6 => ("users", json!([choices.pick(&users[..4]), users[4], REPLICAS])),
        _ => ("groups", json!([format!("g{}", choices.below(3))])),
    }
}
