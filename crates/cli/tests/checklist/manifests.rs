//! Checks items 4, 6, 8 and 13 in the manifests that `taintward install` prints.

use super::elsewhere::stands;
use super::harness::{ChecklistHarness, ItemResult, Shown, demand};
use crate::admission::account::{collection, manifests};
use serde_json::{Value, json};

/// One hour.
const TOKEN_MAX: i64 = 3600;
const SECONDS_MAX: i64 = 2;

/// Checks all objects of some kinds, of which there must be this many.
fn by_manifest(
    kinds: &[&str],
    least: usize,
    check: impl Fn(&Value) -> Result<(), String>,
) -> Result<String, String> {
    with_flags(&[], kinds, least, check)
}

fn with_flags(
    flags: &[&str],
    kinds: &[&str],
    least: usize,
    check: impl Fn(&Value) -> Result<(), String>,
) -> Result<String, String> {
    let all = manifests(flags);
    let of = |object: &&Value| kinds.iter().any(|kind| object["kind"] == *kind);
    let found: Vec<&Value> = all.iter().filter(of).collect();
    demand(found.len() >= least, format!("{} of {kinds:?}, {least} expected", found.len()))?;
    for object in &found {
        let name = &object["metadata"]["name"];
        check(object).map_err(|why| format!("by manifest: {} {name}: {why}", object["kind"]))?;
    }
    Ok(format!("{} of {}", found.len(), kinds.join(", ")))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Policies that keep pods off dedicated nodes, regardless of their creator (`pool_attacks.rs`).
const OF_PODS: [&str; 2] = ["taintward-dedicated-pools", "taintward-new-pools"];

/// Protects the objects that these policies trust against all but the controller (`pool_handover.rs`).
const OF_OTHERS: &str = "taintward-pool-guard";

/// Protects the definitions of these objects against all accounts (`guard_limits.rs`).
const OF_DEFINITIONS: &str = "taintward-pool-definitions";

/// Keeps kubelets from the annotations that the controller trusts (`guard_limits.rs`).
const OF_KUBELETS: &str = "taintward-node-annotations";

/// `install_bounds.rs` tests their rules.
pub(crate) async fn bounds() -> ItemResult {
    let policies = by_manifest(&["ValidatingAdmissionPolicy"], 10, |object| {
        let spec = &object["spec"];
        demand(spec["failurePolicy"] == "Fail", "its failurePolicy is not Fail")?;
        if object["metadata"]["name"].as_str().is_some_and(|name| OF_PODS.contains(&name)) {
            return demand(spec["paramKind"].is_object(), "it has no parameters");
        }
        let account = spec["matchConditions"][0]["expression"].as_str().unwrap_or_default();
        if object["metadata"]["name"] == OF_DEFINITIONS {
            return demand(spec["paramKind"]["kind"] == "DedicatedPool", "it has no parameters");
        }
        if object["metadata"]["name"] == OF_KUBELETS {
            return demand(account.starts_with("'system:nodes' in "), "it is not about kubelets");
        }
        if object["metadata"]["name"] == OF_OTHERS {
            let all_but = "request.userInfo.username != 'system:serviceaccount:taintward-system:taintward'";
            return demand(account == all_but, "it exempts more than the controller");
        }
        let ours = account
            .starts_with("request.userInfo.username == 'system:serviceaccount:taintward-system:taintward");
        demand(ours, "it restricts another account")?;
        // An account with permission for evictions may evict any pod, just as one with permission for deletions may
        // delete any.
        let others: Vec<&str> =
            list(&spec["matchConditions"]).iter().skip(1).filter_map(|one| one["name"].as_str()).collect();
        let expected: &[&str] = match object["metadata"]["name"].as_str() {
            Some("taintward-controller-pods") => &["no-eviction"],
            _ => &[],
        };
        demand(others == expected, "it has other match conditions than expected")?;
        demand(list(&spec["validations"]).len() > 2, "it has too few validations")
    })?;
    let bindings = by_manifest(&["ValidatingAdmissionPolicyBinding"], 10, |object| {
        let spec = &object["spec"];
        demand(spec["validationActions"] == json!(["Deny"]), "it does not deny")?;
        demand(spec["policyName"] == object["metadata"]["name"], "it binds another policy")?;
        let has_parameters = |name: &str| OF_PODS.contains(&name) || name == OF_DEFINITIONS;
        if spec["policyName"].as_str().is_some_and(has_parameters) {
            return demand(spec["paramRef"].is_object(), "it has no parameters");
        }
        demand(spec["matchResources"].is_null() && spec["paramRef"].is_null(), "it does not apply everywhere")
    })?;
    stands(
        "crates/cli/tests/cluster/install_bounds.rs",
        "fn accounts_change_what_their_parts_write_and_nothing_else",
    )?;
    let found = "by manifest: policies that fail closed restrict each account's writes, each with a binding that denies; a \
            test in the gate (`install_bounds`) checks what they reject, field by field, with both accounts' tokens on a real \
            API server";
    Ok(Shown::with(found, format!("{policies}; {bindings}")))
}

pub(crate) async fn tokens() -> ItemResult {
    let found = by_manifest(&["Deployment"], 2, |object| {
        let spec = &object["spec"]["template"]["spec"];
        demand(spec["automountServiceAccountToken"] == false, "a token is mounted automatically")?;
        let sources = list(&spec["volumes"]).iter().flat_map(|volume| list(&volume["projected"]["sources"]));
        let lasting: Vec<i64> =
            sources.filter_map(|one| one["serviceAccountToken"]["expirationSeconds"].as_i64()).collect();
        demand(!lasting.is_empty(), "there is no token")?;
        demand(lasting.iter().all(|seconds| *seconds <= TOKEN_MAX), format!("tokens last {lasting:?} s"))
    })?;
    Ok(Shown::with(
        "by manifest: projected, valid for an hour at most; no token is mounted automatically",
        found,
    ))
}

/// From the addresses of the API servers, to one port only.
pub(crate) async fn network() -> ItemResult {
    const THERE: &str = "192.0.2.0/28";
    let flag = format!("--api-server-cidr={THERE}");
    let found = with_flags(&[&flag], &["NetworkPolicy"], 2, |object| {
        let spec = &object["spec"];
        demand(list(&spec["policyTypes"]).contains(&"Ingress".into()), "it does not restrict ingress")?;
        let part = &spec["podSelector"]["matchLabels"]["app.kubernetes.io/component"];
        for rule in list(&spec["ingress"]) {
            demand(!list(&rule["ports"]).is_empty(), "every port is open")?;
            demand(!list(&rule["from"]).is_empty(), "it admits every address")?;
            let there = |from: &Value| from["ipBlock"]["cidr"] == THERE;
            // Metrics and probes have their own port, open to labeled namespaces.
            let allowed = &json!({"namespaceSelector": {"matchLabels": {"taintward.io/metrics": "allowed"}}});
            let of_metrics = list(&rule["ports"]).iter().all(|one| one["port"] == "metrics");
            let only =
                list(&rule["from"]).iter().all(|from| if of_metrics { from == allowed } else { there(from) });
            demand(only, format!("{part}: it admits {}", rule["from"]))?;
        }
        Ok(())
    })?;
    let message = "by manifest, with --api-server-cidr: a NetworkPolicy admits only these networks; without the flag, or if the \
            network does not support policies, the pod network reaches the webhook, and install says so";
    Ok(Shown::with(message, found))
}

/// As an API server stores them, with all defaults.
pub(crate) async fn configurations(harness: &ChecklistHarness) -> ItemResult {
    let mut found = 0;
    for object in manifests(&["--parts=webhook"]) {
        let mutates = object["kind"] == "MutatingWebhookConfiguration";
        if !mutates && object["kind"] != "ValidatingWebhookConfiguration" {
            continue;
        }
        let path = format!("{}?dryRun=All&fieldValidation=Strict", collection(&object));
        let kept = harness.api.create(&path, &object).await.map_err(|why| why.to_string())?;
        demand(
            kept["metadata"]["name"] == "taintward" && !list(&kept["webhooks"]).is_empty(),
            "it names no webhook",
        )?;
        list(&kept["webhooks"]).iter().try_for_each(webhook)?;
        let again = |webhook: &Value| webhook["reinvocationPolicy"] == "IfNeeded";
        demand(!mutates || list(&kept["webhooks"]).iter().all(again), "reinvocationPolicy is not IfNeeded")?;
        found += 1;
    }
    demand(found == 2, format!("{found} configurations"))?;
    Ok("both configurations, as the API server would store them: Ignore, 2 s at most, no side effects, no wildcards, match \
            conditions; they exclude the webhook's own namespace and kube-system"
        .into())
}

fn webhook(one: &Value) -> Result<(), String> {
    demand(one["failurePolicy"] == "Ignore", "failurePolicy is not Ignore")?;
    demand(
        one["timeoutSeconds"].as_i64().is_some_and(|seconds| seconds <= SECONDS_MAX),
        "it may take too long",
    )?;
    demand(one["sideEffects"] == "None", "sideEffects is not None")?;
    demand(one["admissionReviewVersions"] == json!(["v1"]), "not v1 alone")?;
    for rule in list(&one["rules"]) {
        let wide = |field: &str| list(&rule[field]).iter().any(|one| one == "*");
        demand(
            !["apiGroups", "resources", "operations"].iter().any(|field| wide(field)),
            "a rule is too wide",
        )?;
    }
    demand(!list(&one["rules"]).is_empty(), "there is no rule")?;
    let selector = one["namespaceSelector"].to_string();
    let of_nodes = list(&one["rules"]).iter().all(|rule| rule["resources"] == json!(["nodes"]));
    let excluded = ["kube-system", "taintward-system"].iter().all(|name| selector.contains(name));
    demand(
        of_nodes || (excluded && selector.contains("NotIn")),
        "it does not exclude kube-system and its own namespace",
    )?;
    demand(of_nodes || !list(&one["matchConditions"]).is_empty(), "there are no matchConditions")
}
