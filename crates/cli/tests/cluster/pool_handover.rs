//! Tests on a real API server that a pool is protected at every moment: new, while the guard takes it over, and
//! afterwards.

use crate::pool_attacks::installation::Installation;
use crate::turn;
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::Duration;
use taintward_envtest::api::PatchType;
use taintward_envtest::fixtures::create_node;
use taintward_envtest::{Account, Audit, Cluster, ClusterConfig, TestApi, TestApiError, wait};
use testkit::{ObjectExt as _, pod};

const POOLS: &str = "/apis/taintward.io/v1alpha1/dedicatedpools";
const GUARDS: &str = "/apis/taintward.io/v1alpha1/poolguards";
const GUARD: &str = "/apis/taintward.io/v1alpha1/poolguards/taintward";
const PODS: &str = "/api/v1/namespaces/default/pods";
const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
const LABEL: &str = "taintward.io/pool-guard";
/// The policies that judge pods: by the guard, and by each pool.
const BY_GUARD: &str = "taintward-dedicated-pools";
const BY_POOL: &str = "taintward-new-pools";
const STARTUP_TIMEOUT: Duration = Duration::from_secs(120);
/// The timeout of everything; on an idle machine it takes half a minute.
const WHOLE: Duration = Duration::from_secs(400);
/// This many pools, users per pool, and tolerations of a pod must be judged.
const MANY: usize = 100;

struct HandoverHarness {
    admin: TestApi,
    /// A user of no pool.
    outsider: TestApi,
}

fn pool(name: &str, taint: Value) -> Value {
    let users: Vec<String> = (0..10).map(|at| format!("user-{at}-of-{name}")).collect();
    json!({"apiVersion": "taintward.io/v1alpha1", "kind": "DedicatedPool", "metadata": {"name": name},
        "spec": {"taint": taint, "nodes": {"names": ["gpu"]}, "users": {"users": users, "groups": ["ops"]}}})
}

impl HandoverHarness {
    /// The rejection of a pod with these tolerations; `None` if it is admitted.
    async fn rejection(&self, tolerations: &Value) -> Option<String> {
        let probe = pod("probe").with("spec.tolerations", tolerations.clone());
        let reported = wait::until("the policies to start", STARTUP_TIMEOUT, async || {
            let reported = self.outsider.create(&format!("{PODS}?dryRun=All"), &probe).await;
            Ok((!reported.as_ref().is_err_and(TestApiError::is_policy_starting)).then_some(reported))
        });
        let error = reported.await.unwrap().err()?.to_string();
        assert!(error.contains("are not for this pod"), "it is not judged: {error}");
        Some(error)
    }

    async fn until_rejected_by(&self, policy: &str, tolerations: &Value) {
        wait::until(&format!("{policy} to refuse"), STARTUP_TIMEOUT, async || {
            let rejection = self.rejection(tolerations).await;
            Ok(rejection.filter(|why| why.contains(&format!("'{policy}'"))))
        })
        .await
        .unwrap();
    }

    async fn until_labelled(&self, pools: usize) {
        wait::until("pools to have the label", STARTUP_TIMEOUT, async || {
            let all = self.admin.get(POOLS).await?;
            let has_label = |one: &&Value| !one["metadata"]["labels"][LABEL].is_null();
            let labelled = all["items"].as_array().unwrap().iter().filter(has_label).count();
            Ok((labelled == pools).then_some(()))
        })
        .await
        .unwrap();
    }

    /// Sends requests without a pause during an action. Returns how often each policy rejected; fails if a pod is ever
    /// admitted.
    async fn kept_during(
        &self,
        tolerations: &Value,
        harness: impl Future<Output = ()>,
    ) -> BTreeMap<&str, usize> {
        let (rejected, over) = (RefCell::new(BTreeMap::new()), Cell::new(false));
        let probe = async {
            while !over.get() {
                let rejection = self.rejection(tolerations).await.expect("no pod is admitted");
                let by =
                    [BY_GUARD, BY_POOL].into_iter().find(|policy| rejection.contains(&format!("'{policy}'")));
                *rejected.borrow_mut().entry(by.expect("a policy of Taintward")).or_default() += 1;
            }
        };
        futures::join!(probe, async {
            harness.await;
            over.set(true);
        });
        rejected.into_inner()
    }
}

#[test]
fn a_pool_is_kept_at_every_moment() {
    let Some(tools) = turn::for_test("pool_handover") else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let options = ClusterConfig { audit: Audit::Off, ..ClusterConfig::default() };
        let cluster = Cluster::start(&tools, options).await.unwrap();
        tokio::time::timeout(WHOLE, all(&cluster)).await.expect("done in time");
    });
}

async fn all(cluster: &Cluster) {
    let admin = cluster.api(Account::Admin).await.unwrap();
    let outsider = cluster.kubeconfig_as("bob", &["system:masters"]).unwrap();
    let harness = HandoverHarness { admin, outsider: TestApi::from_kubeconfig(&outsider).await.unwrap() };
    for node in ["gpu", "open"] {
        create_node(&harness.admin, node, &[]).await.unwrap();
    }
    let installed = Installation::apply(cluster, "").await;
    let first = json!([{"key": "example.com/first", "operator": "Exists"}]);
    assert_eq!(harness.rejection(&first).await, None, "there is no pool yet");
    // No process of Taintward has run yet.
    harness.admin.create(POOLS, &pool("first", json!({"key": "example.com/first"}))).await.unwrap();
    harness.until_rejected_by(BY_POOL, &first).await;
    let taken_over = async {
        let mut controller = installed.controller().await;
        harness.until_labelled(1).await;
        harness.until_rejected_by(BY_GUARD, &first).await;
        controller.stop();
    };
    let rejected = harness.kept_during(&first, taken_over).await;
    println!("while the guard takes it over: {rejected:?}");
    assert!(rejected[BY_POOL] > 0 && rejected[BY_GUARD] > 0);
    let rejected = harness.kept_during(&first, only_the_controller_can_change_the_guard(&harness)).await;
    assert!(!rejected.contains_key(BY_POOL), "without a controller the guard continues: {rejected:?}");
    a_lost_guard_is_made_good(&harness, &installed, &first).await;
    many_pools_are_judged(&harness, &installed).await;
}

async fn only_the_controller_can_change_the_guard(harness: &HandoverHarness) {
    let path = format!("{POOLS}/first");
    let label = |value: Value| json!({"metadata": {"labels": {LABEL: value}}}).to_string();
    let mut labelled = pool("second", json!({"key": "example.com/second"}));
    labelled["metadata"]["labels"] = json!({LABEL: "true"});
    harness.admin.create(POOLS, &pool("third", json!({"key": "example.com/third"}))).await.unwrap();
    for (what, reported) in [
        ("the guard's end", harness.admin.delete(GUARD, &json!({})).await),
        ("an empty guard", harness.admin.patch(GUARD, PatchType::Merge, r#"{"spec": {"pools": []}}"#).await),
        ("a guard without a spec", harness.admin.patch(GUARD, PatchType::Merge, r#"{"spec": null}"#).await),
        ("a new pool with the label", harness.admin.create(POOLS, &labelled).await),
        (
            "the label on another pool",
            harness.admin.patch(&format!("{POOLS}/third"), PatchType::Merge, &label(json!("true"))).await,
        ),
    ] {
        let error = reported.expect_err(what).to_string();
        assert!(error.contains("only Taintward's controller"), "{what}: {error}");
    }
    let other = json!({"metadata": {"labels": {"a": "b"}}}).to_string();
    harness.admin.patch(GUARD, PatchType::Merge, &other).await.unwrap();
    harness.admin.patch(&path, PatchType::Merge, &other).await.unwrap();
    harness.admin.delete(&format!("{POOLS}/third"), &json!({})).await.unwrap();
}

/// Without the policy that forbids it, an administrator can delete the guard.
async fn a_lost_guard_is_made_good(harness: &HandoverHarness, installed: &Installation<'_>, first: &Value) {
    let binding = format!("{POLICIES}/taintward-pool-guard");
    let forbids = harness.admin.get(&binding).await.unwrap();
    harness.admin.delete(&binding, &json!({})).await.unwrap();
    let empty = json!({"apiVersion": "taintward.io/v1alpha1", "kind": "PoolGuard", "metadata": {"name": "taintward"}});
    wait::until("the guard to be deleted", STARTUP_TIMEOUT, async || {
        Ok(harness.admin.delete(GUARD, &json!({})).await.ok())
    })
    .await
    .unwrap();
    let mut controller = installed.controller().await;
    harness.until_labelled(0).await;
    harness.until_rejected_by(BY_POOL, first).await;
    controller.stop();
    let refilled = async {
        harness.admin.create(GUARDS, &empty).await.unwrap();
        let mut controller = installed.controller().await;
        harness.until_labelled(1).await;
        harness.until_rejected_by(BY_GUARD, first).await;
        controller.stop();
    };
    harness.kept_during(first, refilled).await;
    let binding = json!({"apiVersion": forbids["apiVersion"], "kind": forbids["kind"],
        "metadata": {"name": forbids["metadata"]["name"]}, "spec": forbids["spec"]});
    harness.admin.create(POLICIES, &binding).await.unwrap();
}

/// The cost of a CEL expression is limited; at this size the limit is not reached.
async fn many_pools_are_judged(harness: &HandoverHarness, installed: &Installation<'_>) {
    for at in 0..MANY {
        let taint = json!({"key": "example.com/many", "value": format!("value-{at}"), "effects": ["NoSchedule", "NoExecute"]});
        harness.admin.create(POOLS, &pool(&format!("many-{at}"), taint)).await.unwrap();
    }
    let mut controller = installed.controller().await;
    harness.until_labelled(MANY + 1).await;
    let tolerates = |value: String| json!({"key": "example.com/many", "operator": "Equal", "value": value});
    let mut tolerations: Vec<Value> = (0..MANY).map(|at| tolerates(format!("other-{at}"))).collect();
    let mut all = json!(tolerations);
    wait::until("only the guard to judge", STARTUP_TIMEOUT, async || {
        let last = json!([tolerates(format!("value-{}", MANY - 1))]);
        let rejection = harness.rejection(&last).await;
        Ok(rejection.filter(|why| why.contains(&format!("'{BY_GUARD}'"))))
    })
    .await
    .unwrap();
    assert_eq!(harness.rejection(&all).await, None);
    harness.outsider.create(PODS, &pod("standing").with("spec.tolerations", all)).await.unwrap();
    tolerations[MANY - 1] = tolerates("value-57".into());
    all = json!(tolerations);
    let rejection = harness.rejection(&all).await.expect("one is for pool many-57");
    assert!(rejection.contains("pool many-57 are not"), "{rejection}");
    let added = json!([{"op": "add", "path": "/spec/tolerations/-", "value": tolerates("value-58".into())}]);
    let path = format!("{PODS}/standing?dryRun=All");
    let reported = harness.outsider.patch(&path, PatchType::Json, &added.to_string()).await;
    let rejection = reported.expect_err("it is for pool many-58").to_string();
    assert!(rejection.contains("pool many-58 are not"), "{rejection}");
    let label = json!({"metadata": {"labels": {"a": "b"}}}).to_string();
    harness.outsider.patch(&path, PatchType::Merge, &label).await.unwrap();
    controller.stop();
}
