//! Tests the NoExecute guard on nodes.

use super::reviews::*;
use serde_json::{Value, json};
use taintward_admission::review::{RequestOrigin, ReviewPhase};
use taintward_admission::rules::{CacheUpdate, RuleReviewer, UntilReady};
use taintward_core::taint::TaintEffect;

fn shown(name: &str, taints: Value, annotations: Value) -> Value {
    json!({
        "metadata": {"name": name, "annotations": annotations}, "spec": {"taints": taints},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    })
}

fn review_taint(name: &str, dry_run: bool, rules: &RuleReviewer) -> Value {
    taint_allowed(name, dry_run, &Value::Null, rules)
}

fn taint_allowed(name: &str, dry_run: bool, annotations: &Value, rules: &RuleReviewer) -> Value {
    taint_from(RequestOrigin::ApiServer, name, dry_run, annotations, rules)
}

fn taint_from(
    origin: RequestOrigin,
    name: &str,
    dry_run: bool,
    annotations: &Value,
    rules: &RuleReviewer,
) -> Value {
    let (old, new) = (
        shown(name, json!([]), Value::Null),
        shown(name, json!([{"key": "maintenance", "effect": "NoExecute"}]), annotations.clone()),
    );
    let mut question = question("UPDATE", "", &new, Some(&old));
    question["request"]["name"] = json!(name);
    question["request"]["dryRun"] = json!(dry_run);
    question["request"]["kind"] = json!({"group": "", "version": "v1", "kind": "Node"});
    question["request"]["resource"] = json!({"group": "", "version": "v1", "resource": "nodes"});
    response_from(origin, ReviewPhase::Validate, &question, rules)
}

#[test]
fn a_command_for_all_nodes_at_the_same_time_is_guarded() {
    let rules = rules();
    // Four nodes, of which half may be tainted: the responses are faster than the watch events of the changes they
    // allowed.
    let allowed: Vec<bool> = ["n1", "n2", "n3", "ml-node"]
        .iter()
        .map(|node| review_taint(node, false, &rules)["allowed"] == true)
        .collect();
    assert_eq!(allowed, [true, true, false, false]);
    let message = review_taint("n3", false, &rules)["status"]["message"].as_str().unwrap().to_owned();
    assert!(
        message.contains(r#"kubectl annotate node n3 taintward.io/allow-no-execute="maintenance""#),
        "{message}"
    );
    let annotated = json!({"taintward.io/allow-no-execute": "maintenance"});
    assert_eq!(taint_allowed("n3", false, &annotated, &rules)["allowed"], json!(true));
}

#[test]
fn a_dry_run_taints_nothing_and_counts_for_nothing() {
    let rules = rules();
    for _ in 0..9 {
        assert_eq!(review_taint("n1", true, &rules)["allowed"], json!(true));
        assert_eq!(review_taint("n2", true, &rules)["allowed"], json!(true));
    }
    assert_eq!(review_taint("n3", true, &rules)["allowed"], json!(true));
}

#[test]
fn an_allowed_change_counts_once_after_it_is_observed() {
    let around = around();
    let rules = RuleReviewer::new(all_rules(), UntilReady::Allow, around.clone());
    assert_eq!(review_taint("n1", false, &rules)["allowed"], json!(true));
    around.nodes(CacheUpdate::Upsert(cached_node("n1", true, "maintenance:NoExecute")));
    assert_eq!(review_taint("n2", false, &rules)["allowed"], json!(true), "two of four");
    assert_eq!(review_taint("n3", false, &rules)["allowed"], json!(false));
    // One of them was never made, as the watch shows; and one is reverted.
    around.nodes(CacheUpdate::Delete("n2".into()));
    around.nodes(CacheUpdate::Upsert(cached_node("n2", true, "")));
    around.nodes(CacheUpdate::Upsert(cached_node("n1", true, "")));
    assert_eq!(review_taint("n3", false, &rules)["allowed"], json!(true));
}

#[test]
fn unknown_nodes_are_not_refused() {
    let rules = RuleReviewer::new(all_rules(), UntilReady::Allow, Default::default());
    for node in ["n1", "n2", "n3"] {
        assert_eq!(review_taint(node, false, &rules)["allowed"], json!(true));
    }
    let rules = RuleReviewer::new(all_rules(), UntilReady::Reject, Default::default());
    assert_eq!(review_taint("n1", false, &rules)["status"]["code"], json!(503));
}

#[test]
fn forged_reviews_do_not_block_administrators() {
    let around = around();
    let rules = RuleReviewer::new(all_rules(), UntilReady::Allow, around.clone());
    for node in ["n1", "n2", "n3", "ml-node"].repeat(5) {
        taint_from(RequestOrigin::Unverified, node, false, &Value::Null, &rules);
    }
    assert_eq!(review_taint("n1", false, &rules)["allowed"], json!(true));
    // What the watch delivers counts, whichever client changed it.
    let rules = RuleReviewer::new(all_rules(), UntilReady::Allow, around.clone());
    let tainted = |name| cached_node(name, true, "maintenance:NoExecute");
    around.nodes(CacheUpdate::Replace(
        ["n1", "n2"].map(tainted).into_iter().chain([cached_node("n3", true, "")]).collect(),
    ));
    assert_eq!(
        taint_from(RequestOrigin::Unverified, "n3", false, &Value::Null, &rules)["allowed"],
        json!(false)
    );
}

#[test]
fn a_pools_taint_added_by_hand_counts_like_any_other() {
    let around = around();
    let mut strict = pool("ml", taintward_core::admission::pool::PoolEnforcement::Deny);
    strict.taint.effects = vec![TaintEffect::NoExecute];
    around.pools(CacheUpdate::Upsert(strict));
    let rules = RuleReviewer::new(all_rules(), UntilReady::Allow, around.clone());
    let by_hand = |name: &str| {
        let (old, new) = (
            shown(name, json!([]), Value::Null),
            shown(name, json!([{"key": "dedicated", "value": "ml", "effect": "NoExecute"}]), Value::Null),
        );
        let mut question = question("UPDATE", "", &new, Some(&old));
        question["request"]["name"] = json!(name);
        question["request"]["kind"] = json!({"group": "", "version": "v1", "kind": "Node"});
        question["request"]["resource"] = json!({"group": "", "version": "v1", "resource": "nodes"});
        let allowed = response(ReviewPhase::Validate, &question, &rules)["allowed"] == true;
        if allowed {
            around.nodes(CacheUpdate::Upsert(cached_node(name, true, "dedicated=ml:NoExecute")));
        }
        allowed
    };
    assert_eq!(["n1", "n2", "n3"].map(by_hand), [true, true, false], "half of four may");
}
