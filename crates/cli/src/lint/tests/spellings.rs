//! Tests that the order of fields and the spelling of an object do not change its report.

use super::*;
use crate::manifest::tests::{Spelling, spelled};
use serde_json::json;

fn element() -> impl Strategy<Value = Value> {
    let text = |texts: &'static [&'static str]| prop::sample::select(texts).prop_map(Value::from);
    let odd = prop_oneof![
        Just(json!(true)),
        Just(json!(5)),
        Just(json!([])),
        Just(json!({"a": "b"})),
        Just(Value::Null)
    ];
    let field = |texts: &'static [&'static str]| {
        prop::option::weighted(0.8, prop_oneof![6 => text(texts), 1 => odd.clone()])
    };
    let fields = (
        field(&["pool", "node.kubernetes.io/not-ready", "node.kubernetes.io/notready", "a b", ""]),
        field(&["Exists", "Equal", "exists", "In", ""]),
        field(&["db", "0300", "yes", "- x", "a: b", "ü"]),
        field(&["NoSchedule", "NoExecute", "NO_SCHEDULE"]),
        prop::option::of(prop_oneof![Just(json!(300)), Just(json!(0)), Just(json!("5m"))]),
    );
    let map = fields.prop_map(|(key, operator, value, effect, seconds)| {
        let fields = [
            ("key", key),
            ("operator", operator),
            ("value", value),
            ("effect", effect),
            ("tolerationSeconds", seconds),
        ];
        fields.into_iter().filter_map(|(name, field)| Some((name.to_owned(), field?))).collect::<Value>()
    });
    prop_oneof![12 => map, 1 => Just(json!("a=b")), 1 => Just(json!([{"key": "a"}]))]
}

/// An object with a list in a right or a wrong place, in a list with or without a kind of its own.
fn document() -> impl Strategy<Value = Value> {
    let list = prop_oneof![8 => prop::collection::vec(element(), 0..4).prop_map(Value::from), 1 => element()];
    (list, 0..7).prop_map(|(list, place)| {
        let meta = json!({"name": "a", "namespace": "shop"});
        let pod = |spec: Value| json!({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec});
        match place {
            0 => pod(json!({"tolerations": list, "containers": [{"name": "x"}]})),
            1 => pod(json!({"containers": [{"name": "x", "tolerations": list}]})),
            2 => json!({"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": {"taints": list}}),
            3 => json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": {"tolerations": list}}),
            4 => json!({"apiVersion": "e.example/v1", "kind": "E", "metadata": meta, "spec": {"x": {"tolerations": list}}}),
            5 => json!({"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": meta, "spec": {"tolerations": list}}]}),
            _ => {
                let inner = json!({"kind": "NodeList", "apiVersion": "v1", "items": [{"metadata": meta, "spec": {"taints": list}}]});
                json!({"apiVersion": "v1", "kind": "List", "items": [inner]})
            }
        }
    })
}

/// Findings without positions.
fn messages(text: &str) -> Vec<String> {
    let report = report(text);
    let findings = report.findings.iter();
    let mut messages: Vec<String> = findings
        .map(|finding| {
            format!(
                "{} {} {}: {}; {}",
                finding.rule.id(),
                finding.object,
                finding.field,
                finding.reason,
                finding.fix
            )
        })
        .chain(report.unreadable.iter().map(|skipped| skipped.why.clone()))
        .chain(report.gaps.iter().cloned())
        .collect();
    messages.sort();
    messages
}

proptest! {
    #[test]
    fn any_spelling_of_an_object_has_the_same_report(document in document(), order: u64) {
        let expected = messages(&document.to_string());
        for spelling in [Spelling::Json, Spelling::PrettyJson, Spelling::Block, Spelling::Flow] {
            let text = spelled(&document, spelling, order);
            prop_assert_eq!(messages(&text), expected.clone(), "{}", text);
        }
    }
}
