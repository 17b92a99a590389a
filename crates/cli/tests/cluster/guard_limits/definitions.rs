//! Tests the end of the definition of PoolGuards, a new installation, and the uninstallation.

use super::harness::{BINDINGS, GuardLimitsHarness, STARTUP_TIMEOUT, has_label, only};
use serde_json::json;
use std::process::Command;
use std::time::{Duration, Instant};
use taintward_envtest::api::PatchType;
use taintward_envtest::{Account, Cluster, wait};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// The longest time in which pods may be admitted after the definition is gone.
const LONGEST: Duration = Duration::from_secs(12);

pub(crate) async fn definitions_stay_while_pools_rely_on_them(
    harness: &GuardLimitsHarness,
    cluster: &Cluster,
) {
    let path = |plural: &str| format!("{DEFINITIONS}/{plural}.taintward.io");
    for plural in ["poolguards", "dedicatedpools"] {
        let not_served = json!([{"op": "replace", "path": "/spec/versions/0/served", "value": false}]);
        for reported in [
            harness.admin.delete(&path(plural), &json!({})).await,
            harness.admin.patch(&path(plural), PatchType::Json, &not_served.to_string()).await,
        ] {
            let error = reported.expect_err(plural).to_string();
            assert!(error.contains("delete the pools first"), "{error}");
        }
        let label = json!({"metadata": {"labels": {"a": "b"}}}).to_string();
        harness.admin.patch(&path(plural), PatchType::Merge, &label).await.unwrap();
    }
    let other = json!({"metadata": {"labels": {"a": "b"}}}).to_string();
    harness.admin.patch(&path("tolerationpolicies"), PatchType::Merge, &other).await.unwrap();
    // An account that may delete the policy can delete the definition.
    harness.admin.delete(&format!("{BINDINGS}/taintward-pool-definitions"), &json!({})).await.unwrap();
    wait::until("the definition to be deleted", LONGEST, async || {
        Ok(harness.admin.delete(&path("poolguards"), &json!({})).await.ok())
    })
    .await
    .unwrap();
    let began = Instant::now();
    wait::until("the pool to be kept by its own policy", LONGEST, async || {
        let rejection = harness.rejection(&only("example.com/victim3")).await;
        Ok(rejection.filter(|why| why.contains("'taintward-new-pools'")))
    })
    .await
    .unwrap();
    println!("without the definition: kept after {:.1} s", began.elapsed().as_secs_f64());
    let reported = harness.until_pool("victim", "it relies on no guard", |pool| !has_label(pool)).await;
    harness
        .until_pool("victim", "it says so", |pool| super::harness::guarded(pool) == ("False", "NoPoolGuard"))
        .await;
    assert_eq!(harness.rejection(&json!([])).await, None, "{reported}");
    taintward(cluster, &["install", "--apply", "--image=none"]);
    harness.until_pool("victim", "it relies on the guard again", has_label).await;
    taintward(cluster, &["install", "--uninstall", "--apply", "--crds"]);
    // The API server deletes their objects first.
    wait::until("the definitions to be gone", STARTUP_TIMEOUT, async || {
        let left = harness.admin.get(DEFINITIONS).await?;
        Ok((!left.to_string().contains("taintward.io")).then_some(()))
    })
    .await
    .unwrap();
}

fn taintward(cluster: &Cluster, args: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
    let done = command.args(args).env("KUBECONFIG", cluster.kubeconfig(Account::Admin, 0)).output().unwrap();
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
}
