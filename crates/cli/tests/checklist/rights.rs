//! Checks items 5 and 39: what the webhook's account may do, and what the audit log shows that it did.

use super::elsewhere::record_of_the_controllers;
use super::harness::{ChecklistHarness, ItemResult, Shown, demand};
use crate::admission::account::{NAMESPACE, SECRET};
use serde_json::json;
use std::collections::BTreeSet;

const USER: &str = "system:serviceaccount:taintward-system:taintward-webhook";

/// Verb, group, resource, namespace, name; and whether it is granted.
const QUESTIONS: &[(&str, &str, &str, &str, &str, bool)] = &[
    ("watch", "", "nodes", "", "", true),
    ("list", "", "namespaces", "", "", true),
    ("watch", "taintward.io", "dedicatedpools", "", "", true),
    ("get", "", "secrets", NAMESPACE, SECRET, true),
    ("patch", "", "secrets", NAMESPACE, SECRET, true),
    ("create", "", "secrets", NAMESPACE, "", false),
    ("update", "", "secrets", NAMESPACE, SECRET, false),
    ("patch", "", "secrets", NAMESPACE, "another", false),
    ("patch", "admissionregistration.k8s.io", "mutatingwebhookconfigurations", "", "taintward", true),
    ("patch", "admissionregistration.k8s.io", "mutatingwebhookconfigurations", "", "main", false),
    ("get", "", "secrets", NAMESPACE, "another", false),
    ("list", "", "secrets", NAMESPACE, "", false),
    ("get", "", "secrets", "kube-system", "", false),
    ("create", "", "pods", "main", "", false),
    ("list", "", "pods", "main", "", false),
    ("delete", "", "pods", "main", "", false),
    ("create", "", "pods/exec", "main", "", false),
    ("patch", "", "nodes", "", "n", false),
    ("patch", "", "nodes/status", "", "n", false),
    ("patch", "taintward.io", "dedicatedpools", "", "p", false),
    ("impersonate", "", "users", "", "", false),
    ("bind", "rbac.authorization.k8s.io", "clusterroles", "", "", false),
    ("escalate", "rbac.authorization.k8s.io", "clusterroles", "", "", false),
    ("create", "", "serviceaccounts/token", NAMESPACE, "", false),
    ("*", "*", "*", "", "", false),
];

pub(crate) async fn what_the_account_may_do(harness: &ChecklistHarness) -> ItemResult {
    for (verb, group, resource, namespace, name, granted) in QUESTIONS {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        let requested = json!({"spec": {
            "user": USER, "groups": ["system:serviceaccounts", "system:authenticated"],
            "resourceAttributes": {
                "verb": verb, "group": group, "resource": resource, "subresource": subresource,
                "namespace": namespace, "name": name,
            },
        }});
        let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        let response = harness.api.create(path, &requested).await.map_err(|why| why.to_string())?;
        let allowed = response["status"]["allowed"] == true;
        demand(allowed == *granted, format!("{verb} {group}/{resource}/{subresource} {name}: {allowed}"))?;
    }
    Ok(Shown::with(
        "it watches nodes, namespaces, pools and policies, and writes its one Secret and its own configurations; it may not \
         read or write pods, change nodes, or read other Secrets",
        format!("{} questions", QUESTIONS.len()),
    ))
}

/// Checks that none of the account's requests was rejected, and that there were no others.
pub(crate) async fn what_the_account_did(harness: &ChecklistHarness) -> ItemResult {
    let entries = harness.cluster.audit().map_err(|why| why.to_string())?;
    let own: Vec<_> = entries.iter().filter(|entry| entry.user == USER).collect();
    demand(own.len() >= 4, format!("{} requests", own.len()))?;
    let watched = ["nodes", "namespaces", "dedicatedpools", "tolerationpolicies"];
    let mut kinds = BTreeSet::new();
    for entry in &own {
        let lists = ["list", "watch"].contains(&&*entry.verb);
        // The test itself sends one request to see whether the account is known; discovery and versions are open to
        // every account.
        let fine = (lists && watched.contains(&&*entry.resource))
            || (entry.verb == "get" && entry.resource.is_empty())
            || entry.resource == "secrets"
            || entry.resource.ends_with("webhookconfigurations");
        demand(fine, format!("an unexpected request: {} {}", entry.verb, entry.resource))?;
        kinds.insert(format!("{} {}", entry.verb, entry.resource));
    }
    let kinds = kinds.into_iter().collect::<Vec<_>>().join(", ");
    Ok(Shown::with(
        format!(
            "during the whole run, the webhook's account accessed only what it watches, its Secret and its configurations; {}",
            record_of_the_controllers()?
        ),
        format!("{} requests: {kinds}", own.len()),
    ))
}
