//! Reviews pods as the admission webhook does: an AdmissionReview goes in, a patch or a rejection comes out.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use std::error::Error;
use std::sync::Arc;
use taintward_admission::review::{ReviewPhase, judge};
use taintward_admission::rules::{CacheUpdate, ClusterCache, RuleReviewer, UntilReady};
use taintward_core::admission::LabelSelector;
use taintward_core::admission::policy::DefaultTolerationSeconds;
use taintward_core::admission::pool::{DedicatedPool, PoolEnforcement, PoolMembers, PoolTaint, PoolUsers};
use taintward_core::admission::request::NamespaceFact;
use taintward_core::admission::review::ReviewSettings;

/// Nodes with the taint `dedicated=ml` are for namespaces with the label `team: ml`.
fn pool() -> DedicatedPool {
    DedicatedPool {
        name: "ml".into(),
        taint: PoolTaint { key: "dedicated".into(), value: "ml".into(), effects: Vec::new() },
        members: PoolMembers { names: vec!["n1".into()], selector: None },
        users: PoolUsers {
            namespaces: Some(LabelSelector::of_labels([("team", "ml")])),
            ..PoolUsers::default()
        },
        enforcement: PoolEnforcement::Deny,
        ..DedicatedPool::default()
    }
}

/// The response that the API server gets for a new pod of the namespace `shop`.
fn response(phase: ReviewPhase, pod: &Value, rules: &RuleReviewer) -> Result<Value, Box<dyn Error>> {
    let review = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5", "operation": "CREATE", "namespace": "shop", "name": "web",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "userInfo": {"username": "jane", "groups": ["system:authenticated"]},
            "object": pod,
        },
    });
    let body: Value = serde_json::from_slice(&judge(phase, review.to_string().as_bytes(), rules)?.body)?;
    Ok(body["response"].clone())
}

fn main() -> Result<(), Box<dyn Error>> {
    // The webhook's watches fill the cache; what was never filled counts as unknown, not as empty.
    let cluster = Arc::new(ClusterCache::default());
    cluster.namespaces(CacheUpdate::Replace(vec![("shop".into(), NamespaceFact::default())]));
    cluster.policies(CacheUpdate::Replace(Vec::new()));
    cluster.pools(CacheUpdate::Replace(vec![pool()]));
    let settings =
        ReviewSettings { defaults: Some(DefaultTolerationSeconds::default()), ..ReviewSettings::default() };
    let rules = RuleReviewer::new(settings, UntilReady::Allow, cluster);

    let plain = json!({"metadata": {"name": "web"}, "spec": {"containers": []}});
    let mutated = response(ReviewPhase::Mutate, &plain, &rules)?;
    let patch = BASE64_STANDARD.decode(mutated["patch"].as_str().unwrap_or_default())?;
    let patch = String::from_utf8(patch)?;
    println!("the patch: {patch}");
    assert_eq!(mutated["allowed"], true);
    assert!(patch.contains("node.kubernetes.io/unreachable") && patch.contains("300"), "{patch}");

    let intruder = json!({
        "metadata": {"name": "web"},
        "spec": {"containers": [], "tolerations": [{"key": "dedicated", "value": "ml"}]},
    });
    let validated = response(ReviewPhase::Validate, &intruder, &rules)?;
    println!("the refusal: {}", validated["status"]["message"]);
    assert_eq!(validated["allowed"], false);
    assert_eq!(response(ReviewPhase::Validate, &plain, &rules)?["allowed"], true);
    Ok(())
}

#[test]
fn the_example_runs() {
    main().expect("the example runs to its end");
}
