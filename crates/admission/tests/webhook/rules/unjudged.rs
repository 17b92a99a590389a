//! Tests objects that try to avoid being judged: they are judged or rejected.

use super::reviews::*;
use serde_json::{Value, json};
use taintward_admission::review::Outcome;
use taintward_admission::review::{KEPT_MAX, ReviewPhase, judge};
use taintward_admission::rules::{CacheUpdate, ClusterCache, RuleReviewer, UntilReady};
use taintward_core::admission::pool::PoolEnforcement;

const DEPTHS: [usize; 3] = [110, 300, 10_000];

/// A pod that lets itself onto the nodes of the pool `ml`.
fn smuggler() -> Value {
    json!({"metadata": {"managedFields": "HERE"}, "spec": {"tolerations": [{"operator": "Exists"}]}})
}

fn of_node(mut question: Value) -> Value {
    question["request"]["name"] = json!("n3");
    question["request"]["kind"] = json!({"group": "", "version": "v1", "kind": "Node"});
    question["request"]["resource"] = json!({"group": "", "version": "v1", "resource": "nodes"});
    question
}

fn response_budget(phase: ReviewPhase, question: &str, rules: &RuleReviewer) -> (Value, Outcome) {
    let judged = judge(phase, question.as_bytes(), rules).unwrap();
    let response: Value = serde_json::from_slice(&judged.body).unwrap();
    (response["response"].clone(), judged.outcome)
}

/// The review with a value of this depth in place of every `"HERE"`.
fn deep(question: &Value, depth: usize) -> [String; 2] {
    [("{\"f:a\":", "}"), ("[", "]")].map(|(open, close)| {
        let nested = format!("[{}{{}}{}]", open.repeat(depth), close.repeat(depth));
        question.to_string().replace("\"HERE\"", &nested)
    })
}

#[test]
fn fields_that_are_not_read_may_be_of_any_depth() {
    let (rules, pod) = (rules(), smuggler());
    let plain = json!({"metadata": {"managedFields": "HERE"}, "spec": {}});
    let braked = |node: &str| {
        json!({
            "metadata": {"name": node, "managedFields": "HERE"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]},
            "spec": {"taints": [{"key": "k", "effect": "NoExecute"}]},
        })
    };
    let well = json!({"metadata": {"managedFields": "HERE"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
    let mut questions = vec![
        question("CREATE", "shop", &pod, None),
        question("CREATE", "ml", &plain, None),
        question("UPDATE", "shop", &pod, Some(&plain)),
        question("UPDATE", "shop", &plain, Some(&pod)),
        of_node(question("UPDATE", "", &braked("n3"), Some(&well))),
    ];
    for question in &mut questions {
        question["request"]["userInfo"]["extra"] = json!({"a": "HERE"});
        question["request"]["options"] = json!("HERE");
    }
    let around = around();
    let tainted = |name| cached_node(name, true, "k:NoExecute");
    around.nodes(CacheUpdate::Upsert(tainted("n1")));
    around.nodes(CacheUpdate::Upsert(tainted("n2")));
    let strict = RuleReviewer::new(all_rules(), UntilReady::Allow, around);
    let (mut patched, mut denied) = (0, 0);
    for question in &questions {
        for phase in [ReviewPhase::Mutate, ReviewPhase::Validate] {
            for rules in [&rules, &strict] {
                let expected = response_budget(phase, &question.to_string(), rules);
                patched += usize::from(expected.1 == Outcome::Patched);
                denied += usize::from(expected.1 == Outcome::Denied);
                for text in DEPTHS.into_iter().flat_map(|depth| deep(question, depth)) {
                    assert_eq!(response_budget(phase, &text, rules), expected, "{question}");
                }
            }
        }
    }
    assert!(patched > 0 && denied >= 4, "{patched} {denied}");
}

/// The same in the parts that rules read, and larger than the limits.
fn too_much() -> String {
    let mut question = question("CREATE", "shop", &smuggler(), None);
    question["request"]["object"]["spec"]["nodeName"] = json!("x".repeat(KEPT_MAX));
    question.to_string()
}

fn odd() -> Vec<(Value, &'static str)> {
    vec![
        (json!({"spec": {"tolerations": {}}}), "a list"),
        (json!({"spec": {"tolerations": [7]}}), "an object"),
        (json!({"spec": {"tolerations": [{"tolerationSeconds": 1.5}]}}), "i64"),
        (json!({"spec": []}), "an object"),
        (json!({"spec": {"nodeSelector": {"a": 1}}}), "a string"),
        (json!({"metadata": {"labels": 5}}), "a map"),
    ]
}

#[test]
fn an_object_that_cannot_be_judged_is_refused_with_a_reason_while_a_pool_denies() {
    let rules = rules();
    for (pod, part) in odd() {
        let text = question("CREATE", "shop", &pod, None).to_string();
        let (response, outcome) = response_budget(ReviewPhase::Validate, &text, &rules);
        assert_eq!(
            (&response["allowed"], &response["status"]["code"]),
            (&json!(false), &json!(403)),
            "{pod}"
        );
        assert_eq!((&response["uid"], outcome), (&json!("u"), Outcome::Unjudged));
        let message = response["status"]["message"].as_str().unwrap();
        assert!(message.contains(part) && message.contains("`enforcement: Deny`"), "{pod}: {message}");
        let (response, outcome) = response_budget(ReviewPhase::Mutate, &text, &rules);
        assert_eq!((response, outcome), (json!({"uid": "u", "allowed": true}), Outcome::Unjudged), "{pod}");
    }
    let (response, outcome) = response_budget(ReviewPhase::Validate, &too_much(), &rules);
    assert_eq!((&response["allowed"], outcome), (&json!(false), Outcome::Unjudged));
    let message = response["status"]["message"].as_str().unwrap();
    assert!(message.contains("more than 2097152 bytes or 32768 values"), "{message}");
    assert_eq!(
        response_budget(ReviewPhase::Mutate, &too_much(), &rules).0,
        json!({"uid": "u", "allowed": true})
    );
}

#[test]
fn without_a_denying_pool_it_is_allowed_and_before_pools_are_known_it_is_not() {
    let around = around();
    around.pools(CacheUpdate::Upsert(pool("ml", PoolEnforcement::Warn)));
    let lenient = RuleReviewer::new(all_rules(), UntilReady::Allow, around);
    let early =
        RuleReviewer::new(all_rules(), UntilReady::Allow, std::sync::Arc::new(ClusterCache::default()));
    let mut settings = all_rules();
    settings.pools = false;
    let others = RuleReviewer::new(settings, UntilReady::Allow, Default::default());
    for text in odd()
        .into_iter()
        .map(|(pod, _)| question("CREATE", "shop", &pod, None).to_string())
        .chain([too_much()])
    {
        assert_eq!(response_budget(ReviewPhase::Validate, &text, &lenient).0["allowed"], json!(true));
        assert_eq!(response_budget(ReviewPhase::Validate, &text, &early).0["allowed"], json!(false));
        assert_eq!(response_budget(ReviewPhase::Validate, &text, &others).0["allowed"], json!(true));
    }
}

#[test]
fn only_created_or_updated_pods_and_nodes_are_refused() {
    let rules = rules();
    let huge = json!({"spec": {"nodeName": "x".repeat(KEPT_MAX)}});
    for (operation, subresource) in
        [("DELETE", ""), ("UPDATE", "status"), ("CREATE", "binding"), ("CONNECT", "exec")]
    {
        let mut question = question(operation, "shop", &huge, Some(&huge));
        question["request"]["subResource"] = json!(subresource);
        let (response, outcome) = response_budget(ReviewPhase::Validate, &question.to_string(), &rules);
        assert_eq!(
            (&response["allowed"], outcome),
            (&json!(true), Outcome::Unjudged),
            "{operation} {subresource}"
        );
    }
    let node = of_node(question("UPDATE", "", &json!({"spec": {"taints": [7]}}), Some(&json!({}))));
    let (response, _) = response_budget(ReviewPhase::Validate, &node.to_string(), &rules);
    assert!(response["status"]["message"].as_str().unwrap().contains("while the brake is on"), "{response}");
    let mut settings = all_rules();
    settings.guard = None;
    let unbraked = RuleReviewer::new(settings, UntilReady::Allow, around());
    assert_eq!(
        response_budget(ReviewPhase::Validate, &node.to_string(), &unbraked).0["allowed"],
        json!(true)
    );
}
