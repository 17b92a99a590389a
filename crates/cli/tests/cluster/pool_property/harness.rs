//! Carries out the actions on a real API server.

use super::actions::{PoolAction, PoolChange};
use super::history::PoolHistory;
use super::plan::{MADE_FOR, Plan, Pool};
use super::pool_users::{RequestedPod, may_use};
use super::rules::{list, text};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;
use taintward_envtest::api::PatchType;
use taintward_envtest::{Account, Cluster, TestApi, TestApiError, wait};

const STARTUP_TIMEOUT: Duration = Duration::from_secs(90);
const POOLS: &str = "/apis/taintward.io/v1alpha1/dedicatedpools";
const GUARD: &str = "/apis/taintward.io/v1alpha1/poolguards/taintward";
const BINDINGS: &str = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";

/// The result of a request.
pub(crate) enum PoolOutcome {
    /// The new state of the object.
    Taken(Value),
    /// Rejected by one of Taintward's policies.
    Rejected,
    /// Rejected by any API server.
    Invalid,
    /// The pod no longer exists.
    Gone,
}

pub(crate) struct PropertyHarness {
    pub(crate) admin: TestApi,
    plan: Rc<Plan>,
    users: Vec<TestApi>,
}

pub(crate) fn pods(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/pods")
}

impl PropertyHarness {
    /// Sets up a cluster without pools and policies. Every user has all permissions, so permissions keep no pod off.
    pub(crate) async fn lay(cluster: &Cluster, plan: &Rc<Plan>) -> Self {
        let admin = cluster.api(Account::Admin).await.unwrap();
        let everyone = json!({
            "metadata": {"name": "everyone"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:authenticated"}],
        });
        admin.create(BINDINGS, &everyone).await.unwrap();
        let namespaces = plan.namespaces.iter().filter(|(name, _)| *name != "kube-system");
        for (name, labels) in namespaces {
            let namespace = json!({"metadata": {"name": name, "labels": labels}});
            admin.create("/api/v1/namespaces", &namespace).await.unwrap();
        }
        for (name, labels) in &plan.nodes {
            admin
                .create("/api/v1/nodes", &json!({"metadata": {"name": name, "labels": labels}}))
                .await
                .unwrap();
        }
        let mut users = Vec::new();
        for user in &plan.users {
            let groups: Vec<&str> = user.groups.iter().map(String::as_str).collect();
            let kubeconfig = cluster.kubeconfig_as(&user.name, &groups).unwrap();
            users.push(TestApi::from_kubeconfig(&kubeconfig).await.unwrap());
        }
        Self { admin, plan: Rc::clone(plan), users }
    }

    /// Creates the pools, and waits until each protects its nodes.
    pub(crate) async fn make_pools(&self, history: &mut PoolHistory) {
        for pool in &self.plan.pools {
            let object = json!({
                "apiVersion": "taintward.io/v1alpha1", "kind": "DedicatedPool",
                "metadata": {"name": pool.name}, "spec": pool.spec,
            });
            let made =
                async || Ok(self.admin.create(POOLS, &object).await.map_err(|why| eprintln!("{why}")).ok());
            wait::until("pools to be served", STARTUP_TIMEOUT, made).await.unwrap();
        }
        self.settle(history, &[]).await;
        let made = self.admin.get(POOLS).await.unwrap();
        let uid = |pool: &Pool| {
            let one = list(&made, "items").find(|one| one["metadata"]["name"] == *pool.name);
            text(&one.unwrap()["metadata"], "uid").to_owned()
        };
        *self.plan.uids.borrow_mut() = self.plan.pools.iter().map(uid).collect();
        for (at, pool) in self.plan.pools.iter().enumerate() {
            let tolerations = json!({"tolerations": [{"operator": "Exists"}]});
            self.until_rejected(pool, &tolerations).await;
            let node = history.members.iter().find(|(_, (of, _))| *of == at).unwrap().0;
            self.until_rejected(pool, &json!({"nodeName": node})).await;
        }
        self.known("ghost", false).await;
    }

    /// An outsider, with its namespace.
    fn outsider(&self, pool: &Pool) -> (&TestApi, &str) {
        let mut all = self.plan.users.iter().zip(&self.users).flat_map(|(user, api)| {
            let namespaces = self.plan.namespaces.iter().filter(|(name, _)| *name != "kube-system");
            namespaces.map(move |(namespace, labels)| (user, api, namespace, labels))
        });
        let found = all.find(|(user, _, namespace, labels)| {
            !may_use(pool, &RequestedPod { by: Some(user), namespace, labels, account: "other" })
        });
        let (_, api, namespace, _) = found.unwrap();
        (api, namespace)
    }

    async fn dry(&self, (api, namespace): (&TestApi, &str), more: &Value) -> Result<Value, TestApiError> {
        let mut spec = json!({"containers": [{"name": "c", "image": "i"}], "serviceAccountName": "other"});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let pod = json!({"metadata": {"name": "probe"}, "spec": spec});
        api.create(&format!("{}?dryRun=All", pods(namespace)), &pod).await
    }

    async fn until_rejected(&self, pool: &Pool, more: &Value) {
        wait::until(&format!("{more} to be refused"), STARTUP_TIMEOUT, async || {
            let reported = self.dry(self.outsider(pool), more).await;
            Ok(reported.err().filter(|error| error.to_string().contains("ValidatingAdmissionPolicy")))
        })
        .await
        .unwrap();
    }

    async fn known(&self, node: &str, known: bool) {
        let outsider = self.outsider(&self.plan.pools[0]);
        wait::until(&format!("{node} to be known: {known}"), STARTUP_TIMEOUT, async || {
            let reported = self.dry(outsider, &json!({"nodeName": node})).await;
            Ok((reported.is_ok() == known).then_some(()))
        })
        .await
        .unwrap();
    }

    /// Waits until the members of all pools are correct and have their taints. `changed` nodes existed before.
    pub(crate) async fn settle(&self, history: &mut PoolHistory, changed: &[String]) {
        let members = wait::until("pools to have their nodes", STARTUP_TIMEOUT, async || {
            let nodes = self.admin.get("/api/v1/nodes").await?;
            let reported = self.admin.get(POOLS).await?;
            let guard = self.admin.get(GUARD).await?;
            let mut members = BTreeMap::new();
            for node in list(&nodes, "items") {
                let name = text(&node["metadata"], "name");
                let mut of = self.plan.pools.iter().enumerate().filter(|(_, pool)| is_member(pool, node));
                let pool = of.next().map(|(at, _)| at);
                if guard["spec"]["nodes"].get(name).is_none() || !is_marked(&self.plan, pool, node) {
                    return Ok(None);
                }
                members.extend(pool.map(|pool| (name.to_owned(), pool)));
            }
            let is_reported = |(at, pool): (usize, &Pool)| {
                let of = list(&reported, "items").find(|one| one["metadata"]["name"] == *pool.name);
                let names = list(&of.unwrap()["status"], "nodeNames");
                let own = members.iter().filter(|(_, of)| **of == at).map(|(name, _)| name.as_str());
                names.map(|name| name.as_str().unwrap()).eq(own)
            };
            Ok(self.plan.pools.iter().enumerate().all(is_reported).then_some(members))
        })
        .await
        .unwrap();
        history.members.retain(|name, (pool, _)| members.get(name) == Some(pool));
        for (name, pool) in members {
            let is_new = !history.members.contains_key(&name);
            let since = if changed.contains(&name) { history.round + 1 } else { 0 };
            if is_new && since > 0 {
                self.until_rejected(&self.plan.pools[pool], &json!({"nodeName": name})).await;
            }
            history.joined(&name, pool, since);
        }
    }

    /// All pods of users, and all nodes by name.
    pub(crate) async fn check(&self) -> (Vec<Value>, BTreeMap<String, Value>) {
        let pods = self.admin.get("/api/v1/pods").await.unwrap();
        let nodes = self.admin.get("/api/v1/nodes").await.unwrap();
        let named = |node: &Value| (text(&node["metadata"], "name").to_owned(), node.clone());
        (list(&pods, "items").cloned().collect(), list(&nodes, "items").map(named).collect())
    }

    /// Binds a pod as a scheduler does.
    pub(crate) async fn bind(&self, namespace: &str, name: &str, node: &str) {
        let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node}});
        self.admin.create(&format!("{}/{name}/binding", pods(namespace)), &binding).await.unwrap();
    }

    pub(crate) async fn act(&self, action: &PoolAction) -> PoolOutcome {
        outcome(match action {
            PoolAction::Create { by, namespace, pod } => self.users[*by].create(&pods(namespace), pod).await,
            PoolAction::Delete { namespace, name } => {
                let now = json!({"gracePeriodSeconds": 0});
                self.admin.delete(&format!("{}/{name}", pods(namespace)), &now).await
            }
            PoolAction::Change { by, namespace, name, change } => {
                let path = format!("{}/{name}", pods(namespace));
                let (sub, kind, body) = how(change);
                self.users[*by].patch(&format!("{path}{sub}"), kind, &body.to_string()).await
            }
            PoolAction::Node { name, labels } => {
                let node = json!({"metadata": {"name": name, "labels": labels}});
                match self.admin.create("/api/v1/nodes", &node).await {
                    Err(error) if error.code() == Some(409) => {
                        let labels = json!({"metadata": {"labels": {"hardware": labels["hardware"]}}});
                        let path = format!("/api/v1/nodes/{name}");
                        self.admin.patch(&path, PatchType::Merge, &labels.to_string()).await
                    }
                    reported => reported,
                }
            }
        })
    }
}

fn how(change: &PoolChange) -> (&'static str, PatchType, Value) {
    match change {
        PoolChange::Tolerate(more) => {
            let add = |one| json!({"op": "add", "path": "/spec/tolerations/-", "value": one});
            ("", PatchType::Json, more.iter().map(add).collect())
        }
        PoolChange::Claim(uid) => {
            ("", PatchType::Merge, json!({"metadata": {"annotations": {MADE_FOR: uid}}}))
        }
        PoolChange::Ungate => ("", PatchType::Merge, json!({"spec": {"schedulingGates": null}})),
        PoolChange::Label => ("", PatchType::Merge, json!({"metadata": {"labels": {"seen": "yes"}}})),
        PoolChange::Debug => {
            let container = json!({"name": "e", "image": "i", "targetContainerName": "c"});
            (
                "/ephemeralcontainers",
                PatchType::Strategic,
                json!({"spec": {"ephemeralContainers": [container]}}),
            )
        }
    }
}

fn outcome(reported: Result<Value, TestApiError>) -> PoolOutcome {
    match reported {
        Ok(object) => PoolOutcome::Taken(object),
        Err(error) if error.to_string().contains("ValidatingAdmissionPolicy 'taintward-") => {
            // An expression that cannot be evaluated rejects as well, but that is not a valid result.
            assert!(!error.to_string().contains("resulted in error"), "{error}");
            PoolOutcome::Rejected
        }
        Err(error) if error.code() == Some(404) => PoolOutcome::Gone,
        Err(error) if matches!(error.code(), Some(409 | 422)) => PoolOutcome::Invalid,
        Err(error) => panic!("{error}"),
    }
}

/// Whether the pool's spec selects the node.
fn is_member(pool: &Pool, node: &Value) -> bool {
    let nodes = &pool.spec["nodes"];
    let labels = &node["metadata"]["labels"];
    let selected = nodes["selector"]["matchLabels"].as_object();
    list(nodes, "names").any(|name| *name == node["metadata"]["name"])
        || selected.is_some_and(|all| all.iter().all(|(key, value)| labels[key] == *value))
}

/// Whether it has the taints of this pool, and of no other.
fn is_marked(plan: &Plan, own: Option<usize>, node: &Value) -> bool {
    plan.pools.iter().enumerate().all(|(at, pool)| {
        let taint = &pool.spec["taint"];
        list(taint, "effects").all(|effect| {
            let is_it = |one: &Value| {
                one["key"] == taint["key"]
                    && text(one, "value") == text(taint, "value")
                    && one["effect"] == *effect
            };
            list(&node["spec"], "taints").any(is_it) == (own == Some(at))
        })
    })
}
