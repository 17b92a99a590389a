//! Lists the attacks and the legitimate requests that resemble them.

use super::harness::{EVIL, TEAM};
use serde_json::{Value, json};
use taintward_envtest::api::PatchType;
use testkit::{ObjectExt as _, pod};

/// The policy that judges for the pools in the guard.
const POOL: &str = "taintward-dedicated-pools";

#[derive(Clone, Copy, Debug)]
pub(crate) enum Attacker {
    Admin,
    Bob,
    Ann,
    Daemons,
    Replicas,
}

pub(crate) enum AttackRequest {
    Create(Value),
    Change(PatchType, Value),
}

pub(crate) struct AttackAttempt {
    pub(crate) what: &'static str,
    pub(crate) by: Attacker,
    pub(crate) path: String,
    pub(crate) request: AttackRequest,
    /// The policy that must stop it; empty if it is legitimate.
    pub(crate) stopped_by: &'static str,
}

/// A pod of a mode, with more fields in its spec.
pub(crate) fn gpu_pod(name: &str, mode: &str, more: Value) -> Value {
    pod(&named(name, mode)).with("spec.nodeSelector", json!({"hardware": "gpu"})).with_all("spec", &more)
}

fn named(name: &str, mode: &str) -> String {
    format!("{name}-{mode}").replace(' ', "-").trim_end_matches('-').into()
}

pub(crate) fn everything() -> Value {
    json!({"tolerations": [{"operator": "Exists"}]})
}

fn only(key: &str) -> Value {
    json!({"tolerations": [{"key": key, "operator": "Exists"}]})
}

/// A pod as the DaemonSet controller creates it for a node.
pub(crate) fn daemon(name: &str, mode: &str, node: &str) -> Value {
    let pin = json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]});
    let mut more = everything();
    more["affinity"] = json!({"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [pin]}}});
    let mut pod = gpu_pod(name, mode, more);
    pod["spec"].as_object_mut().unwrap().remove("nodeSelector");
    pod["metadata"]["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d",
        "uid": "5b0e0e0c-0000-4000-8000-000000000000", "controller": true}]);
    pod
}

/// Requests that no user may make.
pub(crate) fn attacks(mode: &str) -> Vec<AttackAttempt> {
    let by = |by, what, stopped_by, pod| AttackAttempt {
        what,
        by,
        path: EVIL.into(),
        request: AttackRequest::Create(pod),
        stopped_by,
    };
    let new = |what, stopped_by, pod| by(Attacker::Bob, what, stopped_by, pod);
    let change = |what, name, kind, body| AttackAttempt {
        what,
        by: Attacker::Bob,
        path: format!("{EVIL}/{}", named(name, mode)),
        request: AttackRequest::Change(kind, body),
        stopped_by: POOL,
    };
    let add = |key: &str| json!([{"op": "add", "path": "/spec/tolerations/-", "value": {"key": key, "operator": "Exists"}}]);
    let mut critical = everything();
    critical["priorityClassName"] = json!("system-node-critical");
    let open = json!({"nodeName": "gpu", "nodeSelector": null});
    let ghost = json!({"nodeName": "gpu-2", "nodeSelector": null});
    vec![
        new("managedFields nested 110 deep", POOL, deep(mode)),
        new("1.4 MB of characters that are escaped", POOL, large(mode)),
        change("a toleration for pool teams by PATCH", "bare", PatchType::Json, add("example.com/teams")),
        change("a toleration for pool people by PATCH", "bare", PatchType::Json, add("example.com/people")),
        new("a system-critical priority class", POOL, gpu_pod("critical", mode, critical)),
        by(Attacker::Daemons, "a DaemonSet", POOL, daemon("d-gpu", mode, "gpu")),
        by(Attacker::Daemons, "a DaemonSet, for an unknown node", POOL, daemon("d-ghost", mode, "ghost")),
        by(Attacker::Replicas, "a Deployment", POOL, gpu_pod("deployed", mode, only("example.com/teams"))),
        new("an owner that is not a DaemonSet", POOL, daemon("forged", mode, "open")),
        new("a toleration for pool people", POOL, gpu_pod("person", mode, only("example.com/people"))),
        new("spec.nodeName", POOL, gpu_pod("named", mode, open)),
        new("spec.nodeName of a node to come", POOL, gpu_pod("early", mode, ghost)),
        change(
            "an older pod's gates removed",
            "gated",
            PatchType::Merge,
            json!({"spec": {"schedulingGates": null}}),
        ),
    ]
}

/// Requests that every user, or the pool's own user, may make.
pub(crate) fn legitimate(mode: &str) -> Vec<AttackAttempt> {
    let attempt = |by, what, path: &str, request| AttackAttempt {
        what,
        by,
        path: path.into(),
        request,
        stopped_by: "",
    };
    let new = |by, what, path, pod| attempt(by, what, path, AttackRequest::Create(pod));
    let change =
        |by, what, path: String, kind, body| attempt(by, what, &path, AttackRequest::Change(kind, body));
    let patient = json!([{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute",
        "tolerationSeconds": 5}]);
    let people = json!([{"op": "add", "path": "/spec/tolerations/-",
        "value": {"key": "example.com/people", "operator": "Exists"}}]);
    let path = |name| format!("{EVIL}/{}", named(name, mode));
    vec![
        new(Attacker::Bob, "an ordinary pod", EVIL, gpu_pod("ordinary", mode, json!({}))),
        new(
            Attacker::Bob,
            "ordinary tolerations",
            EVIL,
            gpu_pod("patient", mode, json!({"tolerations": patient})),
        ),
        new(Attacker::Admin, "the team's own", TEAM, gpu_pod("train", mode, only("example.com/teams"))),
        new(
            Attacker::Replicas,
            "the team's Deployment",
            TEAM,
            gpu_pod("deployed", mode, only("example.com/teams")),
        ),
        new(
            Attacker::Admin,
            "the team's own, by nodeName",
            TEAM,
            gpu_pod("named", mode, json!({"nodeName": "gpu"})),
        ),
        new(Attacker::Ann, "a user's own", EVIL, gpu_pod("anns", mode, only("example.com/people"))),
        change(
            Attacker::Ann,
            "a user's own, later",
            format!("{}?dryRun=All", path("bare")),
            PatchType::Json,
            people,
        ),
        new(
            Attacker::Admin,
            "the system's",
            "/api/v1/namespaces/kube-system/pods",
            gpu_pod("agent", mode, everything()),
        ),
        new(Attacker::Daemons, "a DaemonSet elsewhere", EVIL, daemon("d-open", mode, "open")),
        new(
            Attacker::Bob,
            "an open node",
            EVIL,
            gpu_pod("open", mode, json!({"nodeName": "open", "nodeSelector": null})),
        ),
        // Existing objects can be changed and deleted.
        change(
            Attacker::Bob,
            "a label",
            path("bare"),
            PatchType::Merge,
            json!({"metadata": {"labels": {"a": "b"}}}),
        ),
        change(
            Attacker::Bob,
            "a finalizer that goes",
            path("gated"),
            PatchType::Merge,
            json!({"metadata": {"finalizers": null}}),
        ),
    ]
}

/// A deeply nested field that a webhook must parse, and may fail to.
fn deep(mode: &str) -> Value {
    let mut pod = gpu_pod("deep", mode, everything());
    let mut fields = json!({});
    for at in 0..110 {
        fields = json!({format!("f:a{at}"): fields});
    }
    pod["metadata"]["managedFields"] = json!([{"manager": "x", "operation": "Update", "apiVersion": "v1",
        "fieldsType": "FieldsV1", "fieldsV1": fields}]);
    pod
}

fn large(mode: &str) -> Value {
    let mut pod = gpu_pod("large", mode, everything());
    pod["spec"]["containers"][0]["args"] = json!(["<".repeat(1_400_000)]);
    pod
}
