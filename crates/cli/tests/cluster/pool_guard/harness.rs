//! Runs a real API server with the installed policies and sends requests as dry runs.

use super::cases::{ALL_BY, Creation, GuardChange, GuardRequester, GuardStep, OldPod};
use super::pools::{KNOWN, NAMESPACES, PoolPhase, TestPool, test_pools};
use futures::StreamExt as _;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::time::Duration;
use taintward_core::admission::pool::{DedicatedPool, MADE_FOR};
use taintward_core::dedicated_pools::{GUARD_LABEL, GuardedPool, PoolFact, PoolGuard, UnknownNodePolicy};
use taintward_core::identity::Uid;
use taintward_core::scheduling::Labels;
use taintward_envtest::api::PatchType;
use taintward_envtest::{Account, Audit, Binaries, Cluster, ClusterConfig, TestApi, TestApiError, wait};
use taintward_kube::decode::{Decoded, WatchedObject};
use taintward_kube::pools::PoolGuardBody;

const STARTUP_TIMEOUT: Duration = Duration::from_secs(60);
const GUARDS: &str = "/apis/taintward.io/v1alpha1/poolguards";
const GUARD: &str = "/apis/taintward.io/v1alpha1/poolguards/taintward";
const POOLS: &str = "/apis/taintward.io/v1alpha1/dedicatedpools";

/// The response to a request.
#[derive(Clone, Debug)]
pub(crate) enum GuardResponse {
    LetIn,
    /// Rejected by one of Taintward's policies.
    Rejected(String),
    /// Rejected by any API server.
    Invalid(#[allow(dead_code, reason = "shown where a test fails")] String),
}

/// The policy that judges for a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    /// The policy of the pools in the guard.
    Guard,
    /// The policy of the pools without its label.
    New,
}

impl Policy {
    const fn name(self) -> &'static str {
        match self {
            Self::Guard => "taintward-dedicated-pools",
            Self::New => "taintward-new-pools",
        }
    }
}

pub(crate) struct GuardHarness {
    cluster: Cluster,
    admin: TestApi,
    users: BTreeMap<&'static str, TestApi>,
    labels: BTreeMap<&'static str, Labels>,
    /// The output of `taintward install`.
    printed: Vec<Value>,
    pools: Vec<DedicatedPool>,
}

impl GuardHarness {
    /// Starts a server with pools, and without policies.
    pub(crate) async fn start(tools: &Binaries) -> Self {
        let options =
            ClusterConfig { audit: Audit::Off, comparison_operators: true, ..ClusterConfig::default() };
        let cluster = Cluster::start(tools, options).await.unwrap();
        let admin = cluster.api(Account::Admin).await.unwrap();
        for (name, labels) in NAMESPACES.into_iter().chain([("taintward-system", &[][..])]) {
            let labels: BTreeMap<_, _> = labels.iter().copied().collect();
            let namespace = json!({"metadata": {"name": name, "labels": labels}});
            match admin.create("/api/v1/namespaces", &namespace).await {
                Err(error) if error.code() != Some(409) => panic!("{error}"),
                _ => {}
            }
        }
        let everyone = json!({
            "metadata": {"name": "everyone"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:authenticated"}],
        });
        admin.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", &everyone).await.unwrap();
        let mut users = BTreeMap::new();
        for by in ALL_BY {
            users.insert(by.0, user(&cluster, by).await);
        }
        let labels = NAMESPACES.map(|(name, labels)| {
            let own = [("kubernetes.io/metadata.name", name)];
            let all = labels.iter().copied().chain(own);
            (name, all.map(|(key, value)| (key.into(), value.into())).collect())
        });
        let printed = printed();
        define(&admin, &printed).await;
        let mut uids = BTreeMap::new();
        for pool in test_pools() {
            uids.insert(pool.name, make_pool(&admin, &pool).await);
        }
        let pools = pools(&uids);
        Self { cluster, admin, users, labels: labels.into(), printed, pools }
    }

    /// The UIDs of the effective pools. The core does not know a rejected pool, and the policy rejects claims about it.
    pub(crate) fn uids(&self) -> Vec<String> {
        self.pools.iter().map(|pool| pool.uid.to_string()).collect()
    }

    pub(crate) fn labels(&self, namespace: &str) -> &Labels {
        &self.labels[namespace]
    }

    /// The effective pools, as the core sees them.
    pub(crate) fn pools(&self) -> &[DedicatedPool] {
        &self.pools
    }

    /// Whether the server supports `Gt` and `Lt`.
    pub(crate) fn comparison_operators(&self) -> bool {
        self.cluster.comparison_operators()
    }

    /// Creates pods before there are policies. Returns the created ones: a server that does not support `Gt` and `Lt`
    /// rejects pods with them.
    pub(crate) async fn stand_there(&self, old: Vec<OldPod>) -> Vec<OldPod> {
        let one = |old: OldPod| {
            let path = pods(old.namespace);
            async move {
                match self.admin.create(&path, &old.pod).await {
                    Err(error) if error.code() == Some(422) && !self.comparison_operators() => {
                        return None;
                    }
                    created => created.unwrap(),
                };
                if old.leaving {
                    let name = old.pod["metadata"]["name"].as_str().unwrap();
                    let now = json!({"gracePeriodSeconds": 0});
                    self.admin.delete(&format!("{path}/{name}"), &now).await.unwrap();
                }
                Some(old)
            }
        };
        let all = futures::stream::iter(old.into_iter().map(one)).buffered(8);
        all.filter_map(async |there| there).collect().await
    }

    /// Installs the policies that keep pods off the pools.
    pub(crate) async fn switch_on(&self) {
        for (kind, plural) in [
            ("ValidatingAdmissionPolicy", "validatingadmissionpolicies"),
            ("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"),
        ] {
            let path = format!("/apis/admissionregistration.k8s.io/v1/{plural}");
            let all: Vec<&Value> = self.printed.iter().filter(|one| one["kind"] == kind).collect();
            assert!(!all.is_empty(), "no {kind} is printed");
            for object in all.into_iter().filter(|one| is_of_pools(one)) {
                self.admin.create(&path, object).await.unwrap();
            }
        }
    }

    /// Makes one of the policies judge for all pools but the first, which the guard always contains; afterwards unknown
    /// nodes belong to no pool.
    pub(crate) async fn hand_over(&self, to: Policy) {
        for pool in test_pools() {
            let label = (to == Policy::Guard).then_some("true");
            let label = json!({"metadata": {"labels": {GUARD_LABEL: label}}});
            self.admin
                .patch(&format!("{POOLS}/{}", pool.name), PatchType::Merge, &label.to_string())
                .await
                .unwrap();
        }
        let guarded = |pool: &DedicatedPool| GuardedPool {
            name: pool.name.clone(),
            uid: Uid::new(&pool.uid),
            taint: pool.taint.clone(),
            users: pool.users.clone(),
            daemon_sets: pool.daemon_sets,
            denial_if_unjudged: pool.denial_if_unjudged(),
            members: pool.members.names.iter().cloned().collect(),
        };
        let nodes = test_pools().into_iter().flat_map(|pool| [1, 2].map(|at| format!("{}-{at}", pool.name)));
        let guard = PoolGuard {
            nodes: nodes.chain(KNOWN.map(Into::into)).map(Into::into).collect(),
            unknown: UnknownNodePolicy::Deny,
            pools: self.pools[..if to == Policy::Guard { self.pools.len() } else { 1 }]
                .iter()
                .map(guarded)
                .collect(),
            released: BTreeSet::new(),
        };
        let found = self.admin.get(GUARD).await.unwrap().to_string();
        let patch = PoolGuardBody::read(found.as_bytes()).unwrap().patch(&guard, &BTreeSet::new()).unwrap();
        self.admin.patch(GUARD, PatchType::Merge, str::from_utf8(&patch).unwrap()).await.unwrap();
        self.settle(to).await;
    }

    /// Waits until the server knows policies, pools and nodes: each pool rejects what only it rejects.
    async fn settle(&self, by: Policy) {
        let no_one = |spec: Value| Creation {
            by: ("eve", &[]),
            namespace: "none",
            pod: json!({"metadata": {"name": "probe"}, "spec": spec}),
        };
        let spec = |more: Value| {
            let mut spec =
                json!({"containers": [{"name": "c", "image": "i"}], "serviceAccountName": "other"});
            spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            spec
        };
        let bears = |name: &str| {
            spec(json!({"tolerations": [{"key": format!("example.com/{name}"), "operator": "Exists"}]}))
        };
        let mut probes: Vec<Creation> = super::pools::deniers()
            .into_iter()
            .filter(|name| !["not-in", "not-there"].contains(name) && **name != *self.pools[0].name)
            .map(|name| no_one(bears(name)))
            .collect();
        probes.push(Creation { namespace: "b", ..no_one(bears("not-in")) });
        let mut probes: Vec<(Creation, &str)> = probes.into_iter().map(|probe| (probe, by.name())).collect();
        probes.push((no_one(spec(json!({"nodeName": "ghost"}))), Policy::Guard.name()));
        for (probe, policy) in probes {
            wait::until("the policies to refuse", STARTUP_TIMEOUT, async || {
                let response = self.created(&probe).await;
                Ok(matches!(response, GuardResponse::Rejected(why) if why.contains(&format!("'{policy}'")))
                    .then_some(()))
            })
            .await
            .unwrap_or_else(|why| panic!("{why}: {probe}"));
        }
        let open = no_one(spec(json!({"nodeName": "open-1"})));
        wait::until("nodes to be known", STARTUP_TIMEOUT, async || {
            Ok(matches!(self.created(&open).await, GuardResponse::LetIn).then_some(()))
        })
        .await
        .unwrap();
    }

    pub(crate) async fn created(&self, case: &Creation) -> GuardResponse {
        let path = format!("{}?dryRun=All", pods(case.namespace));
        response(self.users[case.by.0].create(&path, &case.pod).await)
    }

    pub(crate) async fn changed(&self, case: &GuardChange) -> GuardResponse {
        let name = case.old.pod["metadata"]["name"].as_str().unwrap();
        let path = format!("{}/{name}", pods(case.old.namespace));
        let user = &self.users[case.by.0];
        let (sub, patch, kind) = match &case.step {
            GuardStep::Label => ("", json!({"metadata": {"labels": {"a": "b"}}}), PatchType::Merge),
            GuardStep::Claim(contains) => {
                ("", json!({"metadata": {"annotations": {MADE_FOR: contains}}}), PatchType::Merge)
            }
            GuardStep::Ungate => ("", json!({"spec": {"schedulingGates": null}}), PatchType::Merge),
            GuardStep::Tolerations(added) => {
                let live = self.admin.get(&path).await.unwrap();
                let mut all = live["spec"]["tolerations"].as_array().cloned().unwrap_or_default();
                all.extend(added.iter().cloned());
                ("", json!({"spec": {"tolerations": all}}), PatchType::Merge)
            }
            GuardStep::Ephemeral => {
                let container = json!({"name": "e", "image": "i", "targetContainerName": "c"});
                (
                    "/ephemeralcontainers",
                    json!({"spec": {"ephemeralContainers": [container]}}),
                    PatchType::Strategic,
                )
            }
        };
        response(user.patch(&format!("{path}{sub}?dryRun=All"), kind, &patch.to_string()).await)
    }
}

fn printed() -> Vec<Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
    let printed = command.args(["install", "-o", "json"]).output().unwrap();
    let printed: Value = serde_json::from_slice(&printed.stdout).unwrap();
    printed["items"].as_array().cloned().unwrap()
}

/// Defines pools on the server.
async fn define(admin: &TestApi, printed: &[Value]) {
    for definition in printed.iter().filter(|one| one["kind"] == "CustomResourceDefinition") {
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        admin.create(path, definition).await.unwrap();
    }
    wait::until("pools to be served", STARTUP_TIMEOUT, async || Ok(admin.get(POOLS).await.ok()))
        .await
        .unwrap();
    let guard = printed.iter().find(|one| one["kind"] == "PoolGuard").unwrap();
    let made = async || Ok(admin.create(GUARDS, guard).await.ok());
    wait::until("guards to be served", STARTUP_TIMEOUT, made).await.unwrap();
}

/// Creates a pool. Returns its UID.
async fn make_pool(admin: &TestApi, pool: &TestPool) -> String {
    let object = json!({
        "apiVersion": "taintward.io/v1alpha1", "kind": "DedicatedPool",
        "metadata": {"name": pool.name, "finalizers": ["example.com/keep"]}, "spec": pool.spec,
    });
    let made = admin.create(POOLS, &object).await.unwrap();
    let validity = if pool.phase == PoolPhase::Rejected { "Refused" } else { "Applied" };
    let status = json!({"status": {"standing": validity, "nodeNames": pool.spec["nodes"]["names"]}});
    let path = format!("{POOLS}/{}", pool.name);
    admin.patch(&format!("{path}/status"), PatchType::Merge, &status.to_string()).await.unwrap();
    if pool.phase == PoolPhase::Leaving {
        admin.delete(&path, &json!({})).await.unwrap();
    }
    made["metadata"]["uid"].as_str().unwrap().to_owned()
}

fn is_of_pools(object: &Value) -> bool {
    [Policy::Guard, Policy::New].iter().any(|policy| object["metadata"]["name"] == policy.name())
}

fn pods(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/pods")
}

fn response(reported: Result<Value, TestApiError>) -> GuardResponse {
    match reported {
        Ok(_) => GuardResponse::LetIn,
        Err(error) if error.to_string().contains("ValidatingAdmissionPolicy") => {
            let text = error.to_string();
            // An expression that cannot be evaluated rejects as well, but that is not a valid result.
            assert!(!text.contains("expression") && error.code() == Some(403), "{text}");
            GuardResponse::Rejected(text)
        }
        Err(error) if error.code() == Some(422) => GuardResponse::Invalid(error.to_string()),
        Err(error) => panic!("{error}"),
    }
}

/// The pools for which the policies apply, from their objects.
fn pools(uids: &BTreeMap<&'static str, String>) -> Vec<DedicatedPool> {
    let message = test_pools().into_iter().filter(|pool| pool.phase != PoolPhase::Rejected).map(|pool| {
        let object = json!({"metadata": {"name": pool.name, "uid": uids[pool.name]}, "spec": pool.spec});
        let bytes = object.to_string();
        let Decoded::Object(seen) = PoolFact::from_json(bytes.as_bytes()) else { panic!("{bytes}") };
        DedicatedPool { leaving: pool.phase == PoolPhase::Leaving, ..seen.pool }
    });
    message.collect()
}

/// The admin, impersonating a user.
async fn user(cluster: &Cluster, (name, groups): GuardRequester) -> TestApi {
    TestApi::from_kubeconfig(&cluster.kubeconfig_as(name, groups).unwrap()).await.unwrap()
}
