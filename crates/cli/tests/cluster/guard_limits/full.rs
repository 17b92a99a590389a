//! Tests pools that do not fit into the PoolGuard, and a PoolGuard that the controller may not write.

use super::harness::{
    BINDINGS, GuardLimitsHarness, POLICIES, POOLS, STARTUP_TIMEOUT, guarded, has_label, only, pool,
};
use crate::pool_attacks::installation::Installation;
use serde_json::{Value, json};
use std::time::Instant;
use taintward_envtest::api::PatchType;
use taintward_envtest::wait;

const GUARD: &str = "/apis/taintward.io/v1alpha1/poolguards/taintward";
/// Together more than an object of etcd may have.
const FILLERS: usize = 40;
/// The users of each, and the length of their names.
const USERS: usize = 250;
const LENGTH: usize = 212;

fn names(pool: &str, length: usize) -> Value {
    let one = |at: usize| format!("{:u<length$}", format!("user-{at}-of-{pool}-"));
    json!({"users": (0..USERS).map(one).collect::<Vec<_>>()})
}

pub(crate) async fn the_largest_pools_are_left_out(
    harness: &GuardLimitsHarness,
    installed: &Installation<'_>,
) {
    let users = json!({"users": ["ann", "bob"]});
    harness.admin.create(POOLS, &pool("victim", &["n1"], users)).await.unwrap();
    harness
        .until_pool("victim", "it relies on the guard", |pool| has_label(pool) && guarded(pool).0 == "True")
        .await;
    assert_eq!(harness.rejection(&only("example.com/victim")).await, None, "bob is a user");
    let fillers: Vec<String> = (0..FILLERS).map(|at| format!("fill{at}")).collect();
    for name in &fillers {
        harness.maker.create(POOLS, &pool(name, &["nowhere"], names(name, LENGTH))).await.unwrap();
    }
    let rejected = harness.maker.create(POOLS, &pool("huge", &["nowhere"], names("huge", 300))).await;
    let rejected = rejected.expect_err("a pool of more than 64 KiB").to_string();
    assert!(rejected.contains("63,000 bytes"), "{rejected}");
    let last = &fillers[FILLERS - 1];
    harness
        .until_pool(last, "its condition is known", |pool| !matches!(guarded(pool).1, "" | "Pending"))
        .await;
    let mut left_out = 0;
    for name in &fillers {
        let pool = harness
            .until_pool(name, "in or out", |pool| has_label(pool) || guarded(pool).1 == "TooLarge")
            .await;
        left_out += usize::from(guarded(&pool).1 == "TooLarge");
    }
    assert!((15..30).contains(&left_out), "{left_out} pools are left out");
    assert_eq!(guarded(&harness.pool("victim").await), ("True", "Guarded"));
    // A changed taint and a revoked user.
    let change = json!({"taint": {"key": "example.com/victim2"}, "users": {"users": ["ann"]}});
    harness.change("victim", change).await;
    let began = Instant::now();
    harness.until_rejected("example.com/victim2").await;
    println!("a full guard: a change took effect after {:.1} s", began.elapsed().as_secs_f64());
    let mut webhook = installed.webhook().await;
    for state in ["up", "paused", "absent"] {
        match state {
            "paused" => webhook.pause(),
            "absent" => webhook.kill(),
            _ => {}
        }
        for pool in ["victim2", "fill0", last.as_str()] {
            let key = format!("example.com/{pool}");
            let rejection = harness.rejection(&only(&key)).await;
            assert!(
                rejection.as_ref().is_some_and(|why| why.contains("ValidatingAdmissionPolicy")),
                "{state}, {key}: {rejection:?}"
            );
        }
        for node in ["n1", "ghost"] {
            assert!(harness.rejected(json!({"nodeName": node})).await.is_some(), "{state}: {node}");
        }
        assert_eq!(harness.rejected(json!({"nodeName": "open"})).await, None, "{state}");
        assert_eq!(harness.rejection(&json!([])).await, None, "{state}");
    }
    harness.until_gone(&fillers).await;
}

/// Whatever the reason is, here another policy.
pub(crate) async fn a_guard_that_cannot_be_written_is_not_relied_on(harness: &GuardLimitsHarness) {
    let policy = json!({"metadata": {"name": "frozen"}, "spec": {
        "matchConstraints": {"resourceRules": [{"apiGroups": ["taintward.io"], "apiVersions": ["*"],
            "operations": ["UPDATE"], "resources": ["poolguards"]}]},
        "validations": [{"expression": "false", "message": "the guard is frozen", "reason": "Forbidden"}]}});
    harness.admin.create(POLICIES, &policy).await.unwrap();
    let binding = json!({"metadata": {"name": "frozen"},
        "spec": {"policyName": "frozen", "validationActions": ["Deny"]}});
    harness.admin.create(BINDINGS, &binding).await.unwrap();
    wait::until("the guard to be frozen", STARTUP_TIMEOUT, async || {
        let reported =
            harness.admin.patch(GUARD, PatchType::Merge, r#"{"metadata": {"labels": {"a": "b"}}}"#).await;
        Ok(reported.err().filter(|why| why.to_string().contains("the guard is frozen")))
    })
    .await
    .unwrap();
    let began = Instant::now();
    harness.change("victim", json!({"taint": {"key": "example.com/victim3"}})).await;
    harness.until_rejected("example.com/victim3").await;
    println!("a frozen guard: a change took effect after {:.1} s", began.elapsed().as_secs_f64());
    let reported = harness.until_pool("victim", "it is not guarded", |pool| guarded(pool).0 == "False").await;
    assert_eq!((guarded(&reported).1, has_label(&reported)), ("WriteFailed", false), "{reported}");
    assert!(reported["status"].to_string().contains("the guard is frozen"), "{}", reported["status"]);
    harness.admin.delete(&format!("{BINDINGS}/frozen"), &json!({})).await.unwrap();
    harness.admin.delete(&format!("{POLICIES}/frozen"), &json!({})).await.unwrap();
    harness
        .until_pool("victim", "it is guarded again", |pool| has_label(pool) && guarded(pool).0 == "True")
        .await;
}
