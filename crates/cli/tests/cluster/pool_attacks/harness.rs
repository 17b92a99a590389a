//! Sets up two teams with namespaces, nodes, users and older pods, and sends requests.

use super::attempts::{AttackAttempt, AttackRequest, Attacker, everything, gpu_pod};
use super::table::Defence;
use futures::future::join_all;
use serde_json::{Value, json};
use std::time::Duration;
use taintward_envtest::api::PatchType;
use taintward_envtest::fixtures::create_node;
use taintward_envtest::{Account, Cluster, TestApi, TestApiError, wait};

pub(crate) const STARTUP_TIMEOUT: Duration = Duration::from_secs(60);
pub(crate) const POOLS: &str = "/apis/taintward.io/v1alpha1/dedicatedpools";
pub(crate) const EVIL: &str = "/api/v1/namespaces/evil/pods";
pub(crate) const TEAM: &str = "/api/v1/namespaces/ml/pods";
const CONTROLLERS: &str = "system:serviceaccount:kube-system";

pub(crate) struct AttackHarness {
    pub(crate) admin: TestApi,
    /// The admin of the namespace `evil`.
    pub(crate) bob: TestApi,
    /// Another admin, a user of the pool `people`.
    ann: TestApi,
    pub(crate) daemons: TestApi,
    replicas: TestApi,
}

impl AttackHarness {
    /// Creates namespaces, nodes and users.
    pub(crate) async fn lay(cluster: &Cluster) -> Self {
        let admin = cluster.api(Account::Admin).await.unwrap();
        for name in ["evil", "ml"] {
            let namespace = json!({"metadata": {"name": name, "labels": {"team": name}}});
            admin.create("/api/v1/namespaces", &namespace).await.unwrap();
        }
        for (name, hardware) in [("open", "cpu"), ("gpu", "gpu")] {
            create_node(&admin, name, &[]).await.unwrap();
            let labels = json!({"metadata": {"labels": {"hardware": hardware}}}).to_string();
            admin.patch(&format!("/api/v1/nodes/{name}"), PatchType::Merge, &labels).await.unwrap();
        }
        // Together they are the role `admin`, which no controller aggregates here.
        for part in ["admin", "edit", "view"] {
            let subject =
                |name| json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name});
            let role = format!("system:aggregate-to-{part}");
            let binding = json!({
                "metadata": {"name": part},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
                "subjects": [subject("bob"), subject("ann")],
            });
            let path = "/apis/rbac.authorization.k8s.io/v1/namespaces/evil/rolebindings";
            admin.create(path, &binding).await.unwrap();
        }
        let user = async |name: &str| {
            TestApi::from_kubeconfig(&cluster.kubeconfig_as(name, &[]).unwrap()).await.unwrap()
        };
        let (bob, ann) = (user("bob").await, user("ann").await);
        let daemons = user(&format!("{CONTROLLERS}:daemon-set-controller")).await;
        let replicas = user(&format!("{CONTROLLERS}:replicaset-controller")).await;
        Self { admin, bob, ann, daemons, replicas }
    }

    /// Creates pods before any defence exists, for each mode.
    pub(crate) async fn older_pods(&self, modes: &[&str]) {
        for mode in modes {
            let mut gated = everything();
            gated["schedulingGates"] = json!([{"name": "example.com/wait"}]);
            for mut pod in [gpu_pod("gated", mode, gated), gpu_pod("bare", mode, json!({}))] {
                pod["metadata"]["finalizers"] = json!(["example.com/held"]);
                // The permissions may take effect later.
                wait::until("an ordinary pod", STARTUP_TIMEOUT, async || {
                    Ok(self.bob.create(EVIL, &pod).await.map_err(|why| eprintln!("{why}")).ok())
                })
                .await
                .unwrap();
            }
        }
    }

    /// Creates the pools, and waits until the policies protect their nodes: a server reads them a moment after the
    /// write, and nodes are known once the controller has written the status.
    pub(crate) async fn pools(&self) {
        let pool = async |name: &str, nodes: Value, users: Value| {
            let pool = json!({
                "apiVersion": "taintward.io/v1alpha1", "kind": "DedicatedPool", "metadata": {"name": name},
                "spec": {"taint": {"key": format!("example.com/{name}")}, "nodes": nodes, "users": users},
            });
            let made = async || Ok(self.admin.create(POOLS, &pool).await.ok());
            wait::until("pools to be served", STARTUP_TIMEOUT, made).await.unwrap();
        };
        let selector = json!({"selector": {"matchLabels": {"hardware": "gpu"}}});
        pool("teams", selector, json!({"namespaceSelector": {"matchLabels": {"team": "ml"}}})).await;
        pool("people", json!({"names": ["another"]}), json!({"users": ["ann"], "groups": ["ml-admins"]}))
            .await;
        let probe = format!("{EVIL}?dryRun=All");
        // A rejection names one pool only: each probe tolerates the taint of one.
        let tolerant =
            |pool| json!({"tolerations": [{"key": format!("example.com/{pool}"), "operator": "Exists"}]});
        for (pool, more) in [
            ("teams", tolerant("teams")),
            ("teams", json!({"nodeName": "gpu"})),
            ("people", tolerant("people")),
        ] {
            let words = format!("pool {pool} are not for this pod");
            wait::until(&words, STARTUP_TIMEOUT, async || {
                let reported = self.bob.create(&probe, &gpu_pod("probe", "", more.clone())).await;
                Ok(reported.err().filter(|error| error.to_string().contains(&words)))
            })
            .await
            .unwrap();
        }
        wait::until("the guard to judge for all pools", STARTUP_TIMEOUT, async || {
            let pools = self.admin.get(POOLS).await?;
            let pools = pools["items"].as_array().unwrap();
            let is_labelled = |pool: &Value| !pool["metadata"]["labels"]["taintward.io/pool-guard"].is_null();
            let reported = self.bob.create(&probe, &gpu_pod("probe", "", everything())).await;
            let policy = "'taintward-dedicated-pools'";
            let by_guard = reported.is_err_and(|error| error.to_string().contains(policy));
            Ok((pools.iter().all(is_labelled) && by_guard).then_some(()))
        })
        .await
        .unwrap();
        // The pool's own node is the last to be known.
        let own = format!("{TEAM}?dryRun=All");
        wait::until("nodes to be known, and others refused", STARTUP_TIMEOUT, async || {
            let named = async |who: &TestApi, path: &str, node: &str| {
                who.create(path, &gpu_pod("p", "", json!({"nodeName": node}))).await.is_ok()
            };
            let known = named(&self.bob, &probe, "open").await && named(&self.admin, &own, "gpu").await;
            Ok((known && !named(&self.bob, &probe, "ghost").await).then_some(()))
        })
        .await
        .unwrap();
    }

    /// Waits until the webhook is called and answers.
    pub(crate) async fn pods_are_given_what_is_theirs(&self) {
        wait::until("the webhook to be asked", STARTUP_TIMEOUT, async || {
            let made =
                self.admin.create(&format!("{TEAM}?dryRun=All"), &gpu_pod("probe", "", json!({}))).await?;
            Ok(made["spec"]["tolerations"].to_string().contains("example.com/teams").then_some(()))
        })
        .await
        .unwrap();
    }

    /// Sends all attacks concurrently. Returns what stopped each one; fails if one was not stopped, or was stopped by
    /// something else.
    pub(crate) async fn tried(&self, attacks: Vec<AttackAttempt>) -> Vec<(&'static str, Defence)> {
        let one = async |attack: AttackAttempt| {
            let error = self.request(&attack).await.map(drop).expect_err(attack.what).to_string();
            let by = Defence::reported(&error).unwrap_or_else(|| panic!("{}: {error}", attack.what));
            assert_eq!(by, Defence::Policy(attack.stopped_by.into()), "{}: {error}", attack.what);
            (attack.what, by)
        };
        join_all(attacks.into_iter().map(one)).await
    }

    /// Sends all requests concurrently; fails if one is rejected.
    pub(crate) async fn done(&self, all: Vec<AttackAttempt>) {
        let one = async |attempt: AttackAttempt| {
            let reported = self.request(&attempt).await;
            reported.map(drop).unwrap_or_else(|why| panic!("{}: {why}", attempt.what));
        };
        join_all(all.into_iter().map(one)).await;
    }

    async fn request(&self, attempt: &AttackAttempt) -> Result<Value, TestApiError> {
        let who = match attempt.by {
            Attacker::Admin => &self.admin,
            Attacker::Bob => &self.bob,
            Attacker::Ann => &self.ann,
            Attacker::Daemons => &self.daemons,
            Attacker::Replicas => &self.replicas,
        };
        match &attempt.request {
            AttackRequest::Create(pod) => who.create(&attempt.path, pod).await,
            AttackRequest::Change(kind, body) => who.patch(&attempt.path, *kind, &body.to_string()).await,
        }
    }
}
