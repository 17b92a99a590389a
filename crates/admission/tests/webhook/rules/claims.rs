//! Tests the annotation that records for which pools' users a pod was created.

use super::patched::created;
use super::reviews::*;
use serde_json::{Value, json};
use taintward_admission::review::ReviewPhase;
use taintward_admission::rules::{CacheUpdate, RuleReviewer, UntilReady};
use taintward_core::admission::pool::{DedicatedPool, PoolEnforcement, PoolUsers};
use testkit::{ObjectExt as _, pod};

/// jane is the requester of all reviews, and may not use the second pool.
fn rules_of_jane() -> RuleReviewer {
    let of = |name: &str, user: &str| DedicatedPool {
        uid: format!("uid-of-{name}").into(),
        users: PoolUsers { users: vec![user.into()], ..PoolUsers::default() },
        ..pool(name, PoolEnforcement::Deny)
    };
    let around = around();
    around.pools(CacheUpdate::Replace(vec![of("hers", "jane"), of("his", "bob")]));
    RuleReviewer::new(all_rules(), UntilReady::Allow, around)
}

fn annotated_pod(annotations: Value) -> Value {
    pod("web").with("metadata.annotations", annotations)
}

fn annotations(own: Value, rules: &RuleReviewer) -> Value {
    created("shop", &annotated_pod(own), rules)["metadata"]["annotations"].clone()
}

#[test]
fn the_annotation_is_added_to_existing_ones() {
    let rules = rules_of_jane();
    let hers = json!({"taintward.io/made-for": "uid-of-hers"});
    assert_eq!(annotations(Value::Null, &rules), hers);
    assert_eq!(annotations(json!({}), &rules), hers);
    let beside = json!({"a/b": "c", "taintward.io/made-for": "uid-of-hers"});
    assert_eq!(annotations(json!({"a/b": "c"}), &rules), beside);
    let claimed = json!({"taintward.io/made-for": "uid-of-his"});
    assert_eq!(annotations(claimed, &rules), hers, "a false claim is removed");
    let bare = json!({"metadata": {}, "spec": {}});
    assert_eq!(created("shop", &bare, &rules)["metadata"]["annotations"], hers);
}

#[test]
fn for_other_users_nothing_is_written_and_their_claim_is_removed() {
    let rules = rules();
    assert_eq!(annotations(Value::Null, &rules), Value::Null);
    let claimed = json!({"taintward.io/made-for": "x"});
    assert_eq!(annotations(claimed, &rules), json!({"taintward.io/made-for": ""}));
}

/// The webhook judges the final pod, with whatever other webhooks have added to it.
#[test]
fn a_claim_of_another_webhook_is_refused() {
    let claimed = annotated_pod(json!({"taintward.io/made-for": "uid-of-his"}));
    let reported = |operation: &str, old: Option<&Value>| {
        let question = question(operation, "shop", &claimed, old);
        response(ReviewPhase::Validate, &question, &rules_of_jane())
    };
    let unreviewed = reported("CREATE", None);
    assert_eq!((&unreviewed["allowed"], &unreviewed["status"]["code"]), (&json!(false), &json!(403)));
    assert_eq!(reported("UPDATE", Some(&claimed))["allowed"], true, "it existed before");
    assert_eq!(reported("UPDATE", Some(&annotated_pod(json!({}))))["allowed"], false);
}
