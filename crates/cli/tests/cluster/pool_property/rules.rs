//! Decides whether a scheduler would run a pod on a node, by Kubernetes' documentation, independently of the product.

use serde_json::Value;

pub(crate) fn text<'v>(object: &'v Value, field: &str) -> &'v str {
    object[field].as_str().unwrap_or_default()
}

pub(crate) fn list<'v>(object: &'v Value, field: &str) -> impl Iterator<Item = &'v Value> + Clone {
    object[field].as_array().into_iter().flatten()
}

/// Whether a scheduler may bind a pod to a node.
pub(crate) fn fits(pod: &Value, node: &Value) -> bool {
    let keeps_off = |taint: &&Value| ["NoSchedule", "NoExecute"].contains(&text(taint, "effect"));
    let mut taints = list(&node["spec"], "taints").filter(keeps_off);
    taints.all(|taint| list(&pod["spec"], "tolerations").any(|one| tolerates(one, taint)))
        && is_wanted(&pod["spec"], &node["metadata"])
}

/// With the operators `Lt` and `Gt`, which compare the taint's value to the toleration's.
fn tolerates(toleration: &Value, taint: &Value) -> bool {
    let [key, effect, value] = ["key", "effect", "value"].map(|field| text(toleration, field));
    let numbers = text(taint, "value").parse::<i64>().ok().zip(value.parse::<i64>().ok());
    (effect.is_empty() || effect == text(taint, "effect"))
        && match text(toleration, "operator") {
            "Exists" => key.is_empty() || key == text(taint, "key"),
            _ if key != text(taint, "key") => false,
            "Gt" => numbers.is_some_and(|(taint, bound)| taint > bound),
            "Lt" => numbers.is_some_and(|(taint, bound)| taint < bound),
            _ => value == text(taint, "value"),
        }
}

fn is_wanted(spec: &Value, node: &Value) -> bool {
    let labels = &node["labels"];
    let selected =
        spec["nodeSelector"].as_object().into_iter().flatten().all(|(key, value)| labels[key] == *value);
    let required = &spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    let meets = |term: &Value| {
        let has_some =
            ["matchExpressions", "matchFields"].iter().any(|part| list(term, part).next().is_some());
        has_some
            && list(term, "matchExpressions").all(|one| holds(one, labels[text(one, "key")].as_str()))
            && list(term, "matchFields").all(|one| holds(one, node["name"].as_str()))
    };
    selected && (required.is_null() || list(required, "nodeSelectorTerms").any(meets))
}

/// A requirement on a node's label, or on a namespace's.
pub(crate) fn holds(requirement: &Value, value: Option<&str>) -> bool {
    let listed = || value.is_some_and(|value| list(requirement, "values").any(|one| one == value));
    match text(requirement, "operator") {
        "In" => listed(),
        "NotIn" => !listed(),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        other => panic!("unsupported operator: {other}"),
    }
}
