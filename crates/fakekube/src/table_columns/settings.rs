//! Prints the columns of configuration, access rights, admission, quotas, classes and devices.

use super::{
    AGE, Made, MadeNow, NAME, TableColumn, Text, TextOr, boolean, count, flag_or, given, integer, items,
    list, number, string, string_or, text, wide,
};
use crate::age::human;
use crate::resource::ResourceType;
use serde_json::Value;

/// The columns of a resource, if it is one of those printed here.
pub(super) fn columns(resource: &ResourceType) -> Option<&'static [TableColumn]> {
    Some(match (resource.group, resource.plural) {
        ("", "configmaps") => CONFIG_MAPS,
        ("", "secrets") => SECRETS,
        ("", "serviceaccounts") | ("resource.k8s.io", "deviceclasses" | "resourceclaimtemplates") => {
            NAME_AND_AGE
        }
        ("", "resourcequotas") => QUOTAS,
        ("rbac.authorization.k8s.io", "rolebindings" | "clusterrolebindings") => BINDINGS,
        (
            "admissionregistration.k8s.io",
            "mutatingwebhookconfigurations" | "validatingwebhookconfigurations",
        ) => WEBHOOKS,
        ("admissionregistration.k8s.io", "validatingadmissionpolicies") => POLICIES,
        ("admissionregistration.k8s.io", "validatingadmissionpolicybindings") => POLICY_BINDINGS,
        ("certificates.k8s.io", "certificatesigningrequests") => SIGNING_REQUESTS,
        ("flowcontrol.apiserver.k8s.io", "flowschemas") => FLOW_SCHEMAS,
        ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations") => PRIORITY_LEVELS,
        ("node.k8s.io", "runtimeclasses") => RUNTIME_CLASSES,
        ("resource.k8s.io", "resourceclaims") => RESOURCE_CLAIMS,
        ("resource.k8s.io", "resourceslices") => RESOURCE_SLICES,
        ("scheduling.k8s.io", "priorityclasses") => PRIORITY_CLASSES,
        _ => return None,
    })
}

const NAME_AND_AGE: &[TableColumn] = &[NAME, AGE];

const CONFIG_MAPS: &[TableColumn] =
    &[NAME, text("Data", MadeNow(|map, _| (entries(map, "data") + entries(map, "binaryData")).into())), AGE];

const SECRETS: &[TableColumn] = &[
    NAME,
    text("Type", Text("type")),
    text("Data", MadeNow(|secret, _| entries(secret, "data").into())),
    AGE,
];

const QUOTAS: &[TableColumn] = &[
    NAME,
    text("Request", Made(|quota| used(quota, false))),
    text("Limit", Made(|quota| used(quota, true))),
    AGE,
];

const BINDINGS: &[TableColumn] = &[
    NAME,
    text(
        "Role",
        Made(|binding| format!("{}/{}", string(binding, "roleRef.kind"), string(binding, "roleRef.name"))),
    ),
    AGE,
    wide("Users", Made(|binding| subjects(binding, "User"))),
    wide("Groups", Made(|binding| subjects(binding, "Group"))),
    wide("ServiceAccounts", Made(|binding| subjects(binding, "ServiceAccount"))),
];

const WEBHOOKS: &[TableColumn] = &[NAME, count("Webhooks", |config| list(config, "webhooks").len()), AGE];

const POLICIES: &[TableColumn] = &[
    NAME,
    count("Validations", |policy| list(policy, "spec.validations").len()),
    text("ParamKind", Made(parameter_kind)),
    AGE,
];

const POLICY_BINDINGS: &[TableColumn] =
    &[NAME, text("PolicyName", Text("spec.policyName")), text("ParamRef", Made(parameter)), AGE];

const SIGNING_REQUESTS: &[TableColumn] = &[
    NAME,
    AGE,
    text("SignerName", TextOr("spec.signerName", "<none>")),
    text("Requestor", Text("spec.username")),
    text("RequestedDuration", Made(requested_duration)),
    text("Condition", Made(signing_state)),
];

const FLOW_SCHEMAS: &[TableColumn] = &[
    NAME,
    text("PriorityLevel", Text("spec.priorityLevelConfiguration.name")),
    text("MatchingPrecedence", MadeNow(|schema, _| number(schema, "spec.matchingPrecedence").into())),
    text("DistinguisherMethod", TextOr("spec.distinguisherMethod.type", "<none>")),
    AGE,
    text("MissingPL", Made(dangling)),
];

const PRIORITY_LEVELS: &[TableColumn] = &[
    NAME,
    text("Type", Text("spec.type")),
    text(
        "NominalConcurrencyShares",
        MadeNow(|level, _| or_none_value(given(level, "spec.limited"), "nominalConcurrencyShares")),
    ),
    text("Queues", MadeNow(|level, _| queuing(level, "queues"))),
    text("HandSize", MadeNow(|level, _| queuing(level, "handSize"))),
    text("QueueLengthLimit", MadeNow(|level, _| queuing(level, "queueLengthLimit"))),
    AGE,
];

const RUNTIME_CLASSES: &[TableColumn] = &[NAME, text("Handler", Text("handler")), AGE];

const RESOURCE_CLAIMS: &[TableColumn] = &[NAME, text("State", Made(claim_state)), AGE];

const RESOURCE_SLICES: &[TableColumn] = &[
    NAME,
    text("Node", Text("spec.nodeName")),
    text("Driver", Text("spec.driver")),
    text("Pool", Text("spec.pool.name")),
    AGE,
];

const PRIORITY_CLASSES: &[TableColumn] = &[
    NAME,
    integer("Value", "value"),
    boolean("Global-Default", |class| flag_or(class, "globalDefault", false)),
    AGE,
    text("PreemptionPolicy", Text("preemptionPolicy")),
];

/// The number of entries of a map.
fn entries(object: &Value, path: &str) -> usize {
    given(object, path).and_then(Value::as_object).map_or(0, serde_json::Map::len)
}

/// The amounts of a quota, of requests or of limits.
fn used(quota: &Value, limits: bool) -> String {
    let hard = given(quota, "status.hard").and_then(Value::as_object).into_iter().flatten();
    let mut amounts: Vec<(&String, &Value)> =
        hard.filter(|(resource, _)| resource.starts_with("limits.") == limits).collect();
    amounts.sort_by_key(|(resource, _)| *resource);
    let amount = |(resource, hard): (&String, &Value)| {
        let used = quota["status"]["used"][resource].as_str().unwrap_or("0");
        format!("{resource}: {used}/{}", hard.as_str().unwrap_or("0"))
    };
    amounts.into_iter().map(amount).collect::<Vec<_>>().join(", ")
}

fn subjects(binding: &Value, kind: &str) -> String {
    let subjects = list(binding, "subjects").iter().filter(|subject| string(subject, "kind") == kind);
    let name = |subject: &Value| match kind {
        "ServiceAccount" => format!("{}/{}", string(subject, "namespace"), string(subject, "name")),
        _ => string(subject, "name").to_owned(),
    };
    subjects.map(name).collect::<Vec<_>>().join(", ")
}

fn parameter_kind(policy: &Value) -> String {
    let found = given(policy, "spec.paramKind");
    found.map_or_else(
        || "<unset>".to_owned(),
        |found| format!("{}/{}", string(found, "apiVersion"), string(found, "kind")),
    )
}

fn parameter(binding: &Value) -> String {
    match string(binding, "spec.paramRef.name") {
        "" => "<unset>".to_owned(),
        name => format!("{}/{name}", string_or(binding, "spec.paramRef.namespace", "*")),
    }
}

fn requested_duration(request: &Value) -> String {
    match given(request, "spec.expirationSeconds").and_then(Value::as_i64) {
        Some(seconds) => human(seconds),
        None => "<none>".to_owned(),
    }
}

fn signing_state(request: &Value) -> String {
    let is = |type_| list(request, "status.conditions").iter().any(|one| string(one, "type") == type_);
    let first = match (is("Denied"), is("Approved")) {
        (true, _) => "Denied",
        (false, true) => "Approved",
        (false, false) => "Pending",
    };
    let failed = if is("Failed") { "Failed" } else { "" };
    let issued = if string(request, "status.certificate").is_empty() { "" } else { "Issued" };
    items([first, failed, issued]).join(",")
}

fn dangling(schema: &Value) -> String {
    let condition = super::condition(schema, "Dangling");
    condition.map_or("?", |condition| string(condition, "status")).to_owned()
}

fn queuing(level: &Value, field: &str) -> Value {
    or_none_value(given(level, "spec.limited.limitResponse.queuing"), field)
}

/// A number of an object; `<none>` without the object.
fn or_none_value(object: Option<&Value>, field: &str) -> Value {
    object.map_or_else(|| "<none>".into(), |object| number(object, field).into())
}

fn claim_state(claim: &Value) -> String {
    let deleted = given(claim, "metadata.deletionTimestamp").is_some();
    let states = match given(claim, "status.allocation") {
        None if deleted => ["deleted", "", ""],
        None => ["pending", "", ""],
        Some(_) => {
            let reserved = !list(claim, "status.reservedFor").is_empty();
            [if deleted { "deleted" } else { "" }, "allocated", if reserved { "reserved" } else { "" }]
        }
    };
    items(states).join(",")
}
