//! Checks items 1, 2, 3, 7 and 29: the rights of both accounts, Pod Security, flow control.
//!
//! - Compares with `golden/rbac-*.txt`; `GOLDEN=overwrite` writes them.

use super::harness::{ChecklistHarness, ItemResult, demand};
use crate::admission::hook::STARTUP_TIMEOUT;
use crate::install::cluster::{InstalledCluster, RULES_OF};
use std::path::Path;
use taintward_envtest::{Account, wait};

const IMAGE: &str = "--image=registry.example.com/taintward:1";

/// Shares the parts of the ground that exist already.
pub(crate) fn on(harness: &ChecklistHarness) -> InstalledCluster<'_> {
    let there = InstalledCluster::on(&harness.cluster, harness.cluster.kubeconfig(Account::Admin, 0));
    there.done(&["--apply", IMAGE, "--force-conflicts"]);
    there
}

pub(crate) fn golden(there: &InstalledCluster<'_>) -> ItemResult {
    for (account, namespace, name) in RULES_OF {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.txt"));
        let message = there.may(account, namespace);
        assert!(!message.contains('*'), "no wildcards: {message}");
        if std::env::var("GOLDEN").as_deref() == Ok("overwrite") {
            std::fs::write(&path, &message).unwrap();
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            message == kept,
            "the permissions of {account} in {namespace:?} differ from {}:\n{message}",
            path.display()
        );
    }
    let accounts = there.json("get serviceaccounts -l app.kubernetes.io/name=taintward");
    let accounts = accounts["items"].as_array().unwrap();
    assert_eq!(accounts.len(), 2, "one for each part");
    assert!(accounts.iter().all(|account| account["automountServiceAccountToken"] == false));
    Ok("both accounts, in their own namespace and in another, according to the API server's own list; no token is mounted \
            automatically".into())
}

pub(crate) fn wildcards(there: &InstalledCluster<'_>) -> ItemResult {
    let roles = there.json("get clusterroles,roles -A -l app.kubernetes.io/name=taintward");
    let roles = roles["items"].as_array().unwrap();
    assert!(roles.len() > 5);
    let rules = roles.iter().flat_map(|role| role["rules"].as_array().unwrap());
    assert!(rules.into_iter().all(|rule| !rule.to_string().contains("\"*\"")));
    Ok("none in the verbs, groups and resources of the installed ClusterRoles and Roles".into())
}

pub(crate) fn escalation(there: &InstalledCluster<'_>) -> ItemResult {
    let never = [
        "create pods",
        "create pods --subresource=exec",
        "get secrets",
        "list secrets",
        "create secrets",
        "delete secrets/taintward-webhook-certificate",
        "patch nodes --subresource=status",
        "impersonate users",
        "bind clusterroles",
        "escalate clusterroles",
        "create serviceaccounts --subresource=token",
        "patch clusterroles",
        "create mutatingwebhookconfigurations",
        "delete mutatingwebhookconfigurations/taintward",
        "patch validatingadmissionpolicies",
        "delete validatingadmissionpolicybindings",
        "create nodes",
        "delete nodes",
    ];
    for account in ["taintward", "taintward-webhook"] {
        for what in never {
            assert!(!there.can(account, what), "{account} may {what}");
        }
    }
    let rows = [
        ("taintward", "delete pods", true),
        ("taintward-webhook", "delete pods", false),
        ("taintward", "patch nodes", true),
        ("taintward-webhook", "patch nodes", false),
        ("taintward", "update leases.coordination.k8s.io/taintward", true),
        ("taintward", "update leases.coordination.k8s.io/another", false),
        ("taintward-webhook", "update leases.coordination.k8s.io/taintward", false),
        ("taintward", "get secrets/taintward-webhook-certificate", false),
        ("taintward-webhook", "get secrets/taintward-webhook-certificate", true),
        ("taintward-webhook", "patch secrets/taintward-webhook-certificate", true),
        ("taintward-webhook", "patch secrets/another", false),
        ("taintward-webhook", "patch mutatingwebhookconfigurations/taintward", true),
        ("taintward-webhook", "patch mutatingwebhookconfigurations/another", false),
    ];
    for (account, what, expected) in rows {
        assert_eq!(there.can(account, what), expected, "{account}: {what}");
    }
    Ok("`kubectl auth can-i` answers no for creating pods, exec, nodes and their status, Secrets of other components, impersonation, \
            bind and escalate, tokens, roles, other webhook configurations, policies; and yes for what each account needs"
        .into())
}

pub(crate) fn restricted(there: &InstalledCluster<'_>) -> ItemResult {
    let level = "pod-security.kubernetes.io/enforce=restricted";
    let (message, warned) =
        there.kubectl(&format!("label --dry-run=server --overwrite ns taintward-system {level}"));
    assert!(message.contains("namespace/taintward-system") && warned.is_empty(), "{message}{warned}");
    let namespace = there.json("get namespace taintward-system");
    assert_eq!(namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"], "restricted");
    for name in ["taintward", "taintward-webhook"] {
        let template = there.json(&format!("get deployment {name}"))["spec"]["template"].clone();
        for probe in ["livenessProbe", "readinessProbe"] {
            let port = &template["spec"]["containers"][0][probe]["httpGet"]["port"];
            assert_eq!(port, "metrics", "{name}: not among the ports for reviews");
        }
        let preferred = &template["spec"]["affinity"]["nodeAffinity"];
        let preferred = &preferred["preferredDuringSchedulingIgnoredDuringExecution"][0]["preference"];
        let role = "node-role.kubernetes.io/control-plane";
        assert_eq!(preferred["matchExpressions"][0], serde_json::json!({"key": role, "operator": "Exists"}));
        let borne = template["spec"]["tolerations"].as_array().unwrap().iter();
        assert!(borne.clone().any(|one| one["key"] == role && one["effect"] == "NoSchedule"), "{template:#}");
        let (message, warned) = there.dry_run_pod(&template);
        assert!(
            message.contains("created (server dry run)") && warned.is_empty(),
            "{name}: {message}{warned}"
        );
        let mut loose = template.clone();
        loose["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = true.into();
        let (_, rejected) = there.dry_run_pod(&loose);
        assert!(rejected.contains("violates PodSecurity \"restricted"), "the level holds: {rejected}");
        let sources = &template["spec"]["volumes"][0]["projected"]["sources"];
        let hour = &sources[0]["serviceAccountToken"]["expirationSeconds"];
        assert!(hour.as_i64().is_some_and(|seconds| seconds <= 3600), "{template:#}");
        assert_eq!(template["spec"]["automountServiceAccountToken"], false);
    }
    Ok("at that level, the API server accepts the pods of both Deployments without a warning, and rejects them with \
            allowPrivilegeEscalation"
        .into())
}

/// The requests of each account, with the FlowSchema intended for them.
const FLOWS: [(&str, &str, &str); 3] = [
    ("taintward", "get lease taintward -n taintward-system", "taintward-leader-election"),
    ("taintward", "get nodes", "taintward"),
    ("taintward-webhook", "get nodes", "taintward-webhook"),
];

/// A response names the FlowSchema of its request.
pub(crate) async fn fairness(there: &InstalledCluster<'_>) -> ItemResult {
    for (account, requested, schema) in FLOWS {
        let found = there.json(&format!("get flowschema {schema}"));
        let level = found["spec"]["priorityLevelConfiguration"]["name"].as_str().unwrap_or_default();
        let own = if schema.ends_with("election") { "leader-election" } else { "workload-high" };
        demand(level == own, format!("{schema} has the level {level:?}"))?;
        let uid = found["metadata"]["uid"].as_str().ok_or("it has no uid")?.to_owned();
        let line = format!("{requested} -v=8 --as=system:serviceaccount:taintward-system:{account}");
        let counted = async || Ok(there.kubectl(&line).1.contains(&uid).then_some(()));
        let waited =
            wait::until(&format!("{requested} to be counted to {schema}"), STARTUP_TIMEOUT, counted).await;
        waited.map_err(|why| why.to_string())?;
    }
    Ok("according to its responses, the API server gives requests for the lease the level `leader-election`, and all other \
            requests of both accounts `workload-high`: neither shares a level with ordinary pods"
        .into())
}
