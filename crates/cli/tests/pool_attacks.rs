//! Ways onto a dedicated pool's nodes that an audit found open, tried by the admin of another namespace on a real API
//! server: with the controller at work and no webhook at all. Each has to be stopped, and by what is printed; what is
//! legitimate goes through.
#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]

#[allow(dead_code, reason = "each test binary uses some of it")]
#[path = "real"]
mod real {
    pub(crate) mod program;
}

use real::program::Taintward;
use serde_json::{Value, json};
use std::process::Command;
use std::time::Duration;
use taintward_cluster::api::Patch;
use taintward_cluster::fixtures::create_node;
use taintward_cluster::{Account, Api, ApiError, Audit, Cluster, Options, access, tools, wait};

const PATIENCE: Duration = Duration::from_secs(60);
/// All of it; on a machine to itself it takes 15 s.
const WHOLE: Duration = Duration::from_secs(300);
const POOLS: &str = "/apis/taintward.io/v1alpha1/dedicatedpools";
const EVIL: &str = "/api/v1/namespaces/evil/pods";
const TEAM: &str = "/api/v1/namespaces/ml/pods";
const POOL: &str = "taintward-dedicated-pools";
const NODES: &str = "taintward-unknown-nodes";
const DAEMONS: &str = "system:serviceaccount:kube-system:daemon-set-controller";

#[test]
fn nobody_gets_in_while_no_webhook_is_there() {
    let Some(tools) = tools::for_test("pool_attacks") else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let options = Options { audit: Audit::Off, ..Options::default() };
        let cluster = Cluster::start(&tools, options).await.unwrap();
        tokio::time::timeout(WHOLE, all(&cluster)).await.expect("done in time");
    });
}

async fn all(cluster: &Cluster) {
    let scene = Scene::lay(cluster).await;
    let tickets = scene.tickets().await;
    let _taintward = scene.defend().await;
    scene.what_is_legitimate_goes_through().await;
    scene.pods_that_hide_their_tolerations().await;
    scene.tolerations_that_come_later(&tickets).await;
    scene.priority_and_daemons().await;
    scene.nodes_by_name().await;
    scene.a_node_that_joins_later_is_known().await;
}

struct Scene<'c> {
    cluster: &'c Cluster,
    admin: Api,
    /// The admin of the namespace `evil`.
    bob: Api,
    /// A user of the pool `users`.
    ann: Api,
    daemons: Api,
}

/// A pod with more in its spec.
fn pod(name: &str, more: Value) -> Value {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "image": "i"}], "nodeSelector": {"hardware": "gpu"}},
    });
    pod["spec"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    pod
}

fn everything() -> Value {
    json!({"tolerations": [{"operator": "Exists"}]})
}

/// Says what stopped it; fails if nothing did, or something else.
fn stopped(what: &str, told: Result<Value, ApiError>, by: &str) {
    let error = told.map(drop).expect_err(what).to_string();
    assert!(error.contains(&format!("ValidatingAdmissionPolicy '{by}'")), "{what}: {error}");
    println!("{what}: stopped by {by}");
}

impl<'c> Scene<'c> {
    /// Namespaces, nodes, users; the definitions and no policies.
    async fn lay(cluster: &'c Cluster) -> Self {
        let admin = cluster.api(Account::Admin).await.unwrap();
        for (name, team) in [("evil", "evil"), ("ml", "ml")] {
            let namespace = json!({"metadata": {"name": name, "labels": {"team": team}}});
            admin.create("/api/v1/namespaces", &namespace).await.unwrap();
        }
        for (name, hardware) in [("open", "cpu"), ("gpu", "gpu")] {
            create_node(&admin, name, &[]).await.unwrap();
            label(&admin, name, hardware).await;
        }
        // What the role `admin` grants where a controller aggregates it.
        let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/evil";
        let role = json!({
            "metadata": {"name": "admin"},
            "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["create", "get", "patch", "update"]}],
        });
        admin.create(&format!("{rbac}/roles"), &role).await.unwrap();
        let subject = |name| json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name});
        let binding = json!({
            "metadata": {"name": "admins"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "admin"},
            "subjects": [subject("bob"), subject("ann"), subject(DAEMONS)],
        });
        admin.create(&format!("{rbac}/rolebindings"), &binding).await.unwrap();
        let bob = as_user(cluster, "bob").await;
        let (ann, daemons) = (as_user(cluster, "ann").await, as_user(cluster, DAEMONS).await);
        for object in printed(&["CustomResourceDefinition"]) {
            let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
            admin.create(path, &object).await.unwrap();
        }
        wait::until("pools to be served", PATIENCE, async || Ok(admin.get(POOLS).await.ok())).await.unwrap();
        Self { cluster, admin, bob, ann, daemons }
    }

    /// Pods from before anything was defended: the namespace's role may not be there at once.
    async fn tickets(&self) -> Vec<&'static str> {
        let gate = json!({"schedulingGates": [{"name": "example.com/wait"}]});
        let mut gated = pod("gated", everything());
        gated["spec"]["schedulingGates"] = gate["schedulingGates"].clone();
        for (name, pod) in [("gated", gated), ("bare", pod("bare", json!({})))] {
            wait::until(name, PATIENCE, async || {
                Ok(self.bob.create(EVIL, &pod).await.map_err(|e| eprintln!("{e}")).ok())
            })
            .await
            .unwrap();
        }
        vec!["gated", "bare"]
    }

    /// Policies, pools and the controller; no webhook.
    async fn defend(&self) -> Taintward {
        for (kind, path) in [
            ("ConfigMap", "/api/v1/namespaces/kube-system/configmaps"),
            (
                "ValidatingAdmissionPolicy",
                "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
            ),
            (
                "ValidatingAdmissionPolicyBinding",
                "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
            ),
        ] {
            for object in printed(&[kind]) {
                self.admin.create(path, &object).await.unwrap();
            }
        }
        access::grant_dedicated_pools(&self.admin).await.unwrap();
        for (name, users) in [
            ("teams", json!({"namespaceSelector": {"matchLabels": {"team": "ml"}}})),
            ("people", json!({"users": ["ann"], "groups": ["ml-admins"]})),
        ] {
            let nodes = if name == "teams" {
                json!({"selector": {"matchLabels": {"hardware": "gpu"}}})
            } else {
                json!({"names": ["another"]})
            };
            let pool = json!({
                "apiVersion": "taintward.io/v1alpha1", "kind": "DedicatedPool", "metadata": {"name": name},
                "spec": {"taint": {"key": format!("example.com/{name}")}, "nodes": nodes, "users": users},
            });
            self.admin.create(POOLS, &pool).await.unwrap();
        }
        let kubeconfig = self.cluster.kubeconfig(Account::Taintward, 0);
        let mut taintward =
            Taintward::start(self.cluster, &kubeconfig, &["--controllers=dedicated-pool-controller"]);
        taintward.ready().await;
        // The policies work once a server has read them, and the pools; nodes are known once the controller has told.
        let probe = format!("{EVIL}?dryRun=All");
        let refused = async |more: Value| {
            let told = self.bob.create(&probe, &pod("probe", more)).await;
            told.err().filter(|error| error.to_string().contains("pool teams"))
        };
        for more in [everything(), json!({"nodeName": "gpu"})] {
            wait::until("the pool to refuse", PATIENCE, async || Ok(refused(more.clone()).await))
                .await
                .unwrap();
        }
        wait::until("unknown nodes to be refused", PATIENCE, async || {
            let ghost = self.bob.create(&probe, &pod("probe", json!({"nodeName": "ghost"}))).await;
            let open = self.bob.create(&probe, &pod("probe", json!({"nodeName": "open"}))).await;
            Ok((ghost.is_err() && open.is_ok()).then_some(()))
        })
        .await
        .unwrap();
        taintward
    }

    async fn what_is_legitimate_goes_through(&self) {
        self.bob.create(EVIL, &pod("ordinary", json!({}))).await.unwrap();
        let default = json!([{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}]);
        self.bob.create(EVIL, &pod("patient", json!({"tolerations": default}))).await.unwrap();
        let own = json!({"tolerations": [{"key": "example.com/teams", "operator": "Exists"}]});
        self.admin.create(TEAM, &pod("train", own)).await.unwrap();
        let own = json!({"tolerations": [{"key": "example.com/people", "operator": "Exists"}]});
        self.ann.create(EVIL, &pod("anns", own)).await.unwrap();
        let system = "/api/v1/namespaces/kube-system/pods";
        self.admin.create(system, &pod("agent", everything())).await.unwrap();
        // What is there already can be changed, and deleted.
        let label = json!({"metadata": {"labels": {"a": "b"}, "finalizers": ["example.com/x"]}}).to_string();
        self.bob.patch(&format!("{EVIL}/gated"), Patch::Merge, &label).await.unwrap();
        let label = json!({"metadata": {"finalizers": null}}).to_string();
        self.bob.patch(&format!("{EVIL}/gated"), Patch::Merge, &label).await.unwrap();
    }

    /// What a webhook has to read, and may fail to.
    async fn pods_that_hide_their_tolerations(&self) {
        let mut deep = pod("deep", everything());
        let mut fields = json!({});
        for at in 0..110 {
            fields = json!({format!("f:a{at}"): fields});
        }
        deep["metadata"]["managedFields"] = json!([{"manager": "x", "operation": "Update", "apiVersion": "v1",
            "fieldsType": "FieldsV1", "fieldsV1": fields}]);
        stopped("managedFields nested 110 deep", self.bob.create(EVIL, &deep).await, POOL);
        let mut large = pod("large", everything());
        large["spec"]["containers"][0]["args"] = json!(["<".repeat(1_400_000)]);
        stopped("1.4 MB of characters that are escaped", self.bob.create(EVIL, &large).await, POOL);
    }

    async fn tolerations_that_come_later(&self, tickets: &[&str]) {
        let add = |key: &str| {
            json!([{"op": "add", "path": "/spec/tolerations/-", "value": {"key": key, "operator": "Exists"}}])
                .to_string()
        };
        assert!(tickets.contains(&"bare") && tickets.contains(&"gated"));
        for (pool, key) in [("teams", "example.com/teams"), ("people", "example.com/people")] {
            let told = self.bob.patch(&format!("{EVIL}/bare"), Patch::Json, &add(key)).await;
            stopped(&format!("a toleration for pool {pool} added by PATCH"), told, POOL);
        }
        let own =
            self.ann.patch(&format!("{EVIL}/bare?dryRun=All"), Patch::Json, &add("example.com/people")).await;
        own.expect("ann is one of the pool's users");
        let ungate = json!({"spec": {"schedulingGates": null}}).to_string();
        let told = self.bob.patch(&format!("{EVIL}/gated"), Patch::Merge, &ungate).await;
        stopped("the gates of an older pod taken away", told, POOL);
    }

    async fn priority_and_daemons(&self) {
        let mut critical = everything();
        critical["priorityClassName"] = json!("system-node-critical");
        stopped(
            "a system-critical priority class",
            self.bob.create(EVIL, &pod("critical", critical)).await,
            POOL,
        );
        let daemon = |name: &str, node: &str| {
            let pin = json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]});
            let mut more = everything();
            more["affinity"] = json!({"nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [pin]}}});
            let mut pod = pod(name, more);
            pod["spec"].as_object_mut().unwrap().remove("nodeSelector");
            pod["metadata"]["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d",
                "uid": "5b0e0e0c-0000-4000-8000-000000000000", "controller": true}]);
            pod
        };
        stopped("a DaemonSet's pod", self.daemons.create(EVIL, &daemon("d-gpu", "gpu")).await, POOL);
        stopped(
            "a DaemonSet's pod for a node that is not known",
            self.daemons.create(EVIL, &daemon("d-ghost", "ghost")).await,
            NODES,
        );
        stopped(
            "a pod that says it is a DaemonSet's",
            self.bob.create(EVIL, &daemon("forged", "open")).await,
            POOL,
        );
        self.daemons.create(EVIL, &daemon("d-open", "open")).await.expect("a DaemonSet goes on elsewhere");
        let allow = json!({"spec": {"daemonSets": "Allow"}}).to_string();
        self.admin.patch(&format!("{POOLS}/teams"), Patch::Merge, &allow).await.unwrap();
        let probe = format!("{EVIL}?dryRun=All");
        wait::until("the pool to allow DaemonSets", PATIENCE, async || {
            Ok(self.daemons.create(&probe, &daemon("d-gpu", "gpu")).await.ok())
        })
        .await
        .unwrap();
    }

    async fn nodes_by_name(&self) {
        stopped(
            "spec.nodeName",
            self.bob.create(EVIL, &pod("named", json!({"nodeName": "gpu"}))).await,
            POOL,
        );
        let ghost = self.bob.create(EVIL, &pod("early", json!({"nodeName": "gpu-2"}))).await;
        stopped("spec.nodeName of a node that is not there yet", ghost, NODES);
        self.bob.create(EVIL, &pod("open", json!({"nodeName": "open", "nodeSelector": null}))).await.unwrap();
        self.admin.create(TEAM, &pod("own", json!({"nodeName": "gpu"}))).await.unwrap();
    }

    /// A node of the pool is never known before the pool's status names it.
    async fn a_node_that_joins_later_is_known(&self) {
        let node = json!({"metadata": {"name": "gpu-2", "labels": {"hardware": "gpu"}}});
        self.admin.create("/api/v1/nodes", &node).await.unwrap();
        let probe = format!("{EVIL}?dryRun=All");
        wait::until("the pool to have its node", PATIENCE, async || {
            let told = self.bob.create(&probe, &pod("probe", json!({"nodeName": "gpu-2"}))).await;
            let error = told.expect_err("neither unknown nor the pool's for a moment").to_string();
            Ok(error.contains("pool teams").then_some(()))
        })
        .await
        .unwrap();
        create_node(&self.admin, "open-2", &[]).await.unwrap();
        wait::until("the new node to be known", PATIENCE, async || {
            Ok(self.bob.create(&probe, &pod("probe", json!({"nodeName": "open-2"}))).await.ok())
        })
        .await
        .unwrap();
    }
}

async fn label(admin: &Api, node: &str, hardware: &str) {
    let labels = json!({"metadata": {"labels": {"hardware": hardware}}}).to_string();
    admin.patch(&format!("/api/v1/nodes/{node}"), Patch::Merge, &labels).await.unwrap();
}

/// What is installed, of these kinds, for the namespace of the cluster's own account; for ConfigMaps and policies only
/// those of dedicated pools.
fn printed(kinds: &[&str]) -> Vec<Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
    let output = command.args(["install", "-o", "json", "--namespace=kube-system"]).output().unwrap();
    let list: Value = serde_json::from_slice(&output.stdout).unwrap();
    let named = |object: &Value| {
        let name = object["metadata"]["name"].as_str().unwrap();
        object["kind"] == "CustomResourceDefinition" || [POOL, NODES, "taintward-nodes"].contains(&name)
    };
    let wanted = |object: &&Value| kinds.contains(&object["kind"].as_str().unwrap()) && named(object);
    list["items"].as_array().unwrap().iter().filter(wanted).cloned().collect()
}

/// The admin, on behalf of a user.
async fn as_user(cluster: &Cluster, name: &str) -> Api {
    let text = std::fs::read_to_string(cluster.kubeconfig(Account::Admin, 0)).unwrap();
    let mut kubeconfig: Value = serde_saphyr::from_str(&text).unwrap();
    kubeconfig["users"][0]["user"]["as"] = json!(name);
    let file = cluster.folder().join(format!("{}.kubeconfig", name.replace(':', "-")));
    std::fs::write(&file, kubeconfig.to_string()).unwrap();
    Api::from_kubeconfig(&file).await.unwrap()
}
