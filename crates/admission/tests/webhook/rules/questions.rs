//! Tests reviews of other objects, and reviews before any facts have arrived.

use super::reviews::*;
use serde_json::{Value, json};
use taintward_admission::review::Outcome;
use taintward_admission::review::{ReviewPhase, RuleEffect, RuleOutcome};
use taintward_admission::rules::{CacheUpdate, RuleReviewer, UntilReady};
use testkit::pod;

#[test]
fn ad_5_other_objects_are_invalid() {
    let rules = rules();
    for (kind, resource, part) in [
        (
            json!({"group": "apps", "version": "v1", "kind": "Deployment"}),
            json!({"group": "apps", "version": "v1", "resource": "deployments"}),
            "expected pods or nodes of v1, got deployments of apps/v1: correct the rules of the webhook configuration",
        ),
        (
            json!({"group": "", "version": "v2", "kind": "Pod"}),
            json!({"group": "", "version": "v2", "resource": "pods"}),
            "got pods of v2",
        ),
        (
            json!({"group": "", "version": "v1", "kind": "Binding"}),
            json!({"group": "", "version": "v1", "resource": "pods"}),
            "expected a Pod of v1, got Binding of v1",
        ),
    ] {
        let mut question = question("CREATE", "shop", &pod("web"), None);
        question["request"]["kind"] = kind;
        question["request"]["resource"] = resource;
        for phase in [ReviewPhase::Mutate, ReviewPhase::Validate] {
            let why = requested(phase, &question, &rules).unwrap_err().to_string();
            assert!(why.contains(part), "{why}");
        }
    }
}

#[test]
fn subresources_and_deletions_are_allowed_unchanged() {
    let rules = rules();
    for (operation, subresource) in [
        ("UPDATE", "ephemeralcontainers"),
        ("UPDATE", "status"),
        ("CREATE", "binding"),
        ("UPDATE", "resize"),
        ("DELETE", ""),
        ("CONNECT", "exec"),
    ] {
        let mut question = question(operation, "shop", &pod("web"), Some(&pod("web")));
        question["request"]["subResource"] = json!(subresource);
        for phase in [ReviewPhase::Mutate, ReviewPhase::Validate] {
            let judged = requested(phase, &question, &rules).unwrap();
            assert_eq!(
                (judged.outcome, judged.notes.len()),
                (Outcome::Allowed, 0),
                "{operation} {subresource}"
            );
        }
    }
}

#[test]
fn a_review_without_an_object_is_invalid() {
    let nothing = requested(ReviewPhase::Mutate, &question("CREATE", "shop", &Value::Null, None), &rules());
    assert!(nothing.unwrap_err().to_string().contains("object is missing"));
}

#[test]
fn before_any_facts_objects_are_allowed_and_counted() {
    let rules = RuleReviewer::new(all_rules(), UntilReady::Allow, Default::default());
    let judged =
        requested(ReviewPhase::Mutate, &question("CREATE", "shop", &pod("web"), None), &rules).unwrap();
    assert_eq!(judged.outcome, Outcome::Allowed);
    for rule in ["default-tolerations", "dedicated-pools", "toleration-restriction"] {
        assert!(
            judged.notes.contains(&RuleOutcome { rule, effect: RuleEffect::Unknown }),
            "{rule}: {:?}",
            judged.notes
        );
    }
    assert_eq!(rules.missing(), ["namespaces", "policies", "pools", "nodes"]);
}

#[test]
fn ad_12_or_refused_if_configured() {
    let around = std::sync::Arc::new(taintward_admission::rules::ClusterCache::default());
    let rules = RuleReviewer::new(all_rules(), UntilReady::Reject, around.clone());
    let early = response(ReviewPhase::Mutate, &question("CREATE", "shop", &pod("web"), None), &rules);
    assert_eq!((&early["allowed"], &early["status"]["code"]), (&json!(false), &json!(503)));
    let message = early["status"]["message"].as_str().unwrap();
    assert!(message.starts_with("not yet ready to handle request"), "{message}");
    around.namespaces(CacheUpdate::Replace(vec![namespace("shop", &[])]));
    around.policies(CacheUpdate::Replace(vec![]));
    around.pools(CacheUpdate::Replace(vec![]));
    around.nodes(CacheUpdate::Replace(vec![]));
    assert!(rules.missing().is_empty());
    let later = response(ReviewPhase::Mutate, &question("CREATE", "shop", &pod("web"), None), &rules);
    assert_eq!(later["allowed"], json!(true));
    // A namespace newer than the watch's state is not refused.
    let young = response(ReviewPhase::Mutate, &question("CREATE", "young", &pod("web"), None), &rules);
    assert_eq!(young["allowed"], json!(true));
}

#[test]
fn an_invalid_or_conflicting_pool_does_not_apply() {
    use taintward_core::admission::pool::PoolEnforcement;
    let around = around();
    let mut twin = pool("ml", PoolEnforcement::Deny);
    twin.name = "younger".into();
    twin.created = Some(taintward_core::time::Wall::from_secs(10));
    around.pools(CacheUpdate::Upsert(pool("ml", PoolEnforcement::Off)));
    around.pools(CacheUpdate::Upsert(twin));
    let rules = RuleReviewer::new(all_rules(), UntilReady::Allow, around.clone());
    let mut smuggler = pod("web");
    smuggler["spec"]["tolerations"] = json!([{"key": "dedicated", "value": "ml"}]);
    let message = |rules: &RuleReviewer| {
        response(ReviewPhase::Validate, &question("CREATE", "shop", &smuggler, None), rules)
    };
    let first = message(&rules);
    // One of the two is older, by its creation time; the other is refused and does not apply.
    around.pools(CacheUpdate::Delete("ml".into()));
    let alone = message(&rules);
    assert_eq!(alone["allowed"], json!(false));
    around.pools(CacheUpdate::Delete("younger".into()));
    assert_eq!(message(&rules)["allowed"], json!(true));
    assert!(first["allowed"].is_boolean());
}
