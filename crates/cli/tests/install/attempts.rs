//! Lists requests of both accounts, and whether the policies must reject each.

use super::harness::{CONTROLLER, NAMESPACE, WEBHOOK};
use serde_json::{Value, json};
use taintward_envtest::api::PatchType;
use testkit::taint;

#[derive(Clone, Debug)]
pub(crate) enum RequestVerb {
    Patch(PatchType),
    Create,
    Delete,
}

#[derive(Clone, Debug)]
pub(crate) struct InstallAttempt {
    pub(crate) what: &'static str,
    pub(crate) verb: RequestVerb,
    pub(crate) path: String,
    pub(crate) body: Value,
    /// Words of the rejection.
    pub(crate) message: &'static str,
}

const NODE: &str = "/api/v1/nodes/n1";
const POD: &str = "/api/v1/namespaces/default/pods/p1";
const POOL: &str = "/apis/taintward.io/v1alpha1/dedicatedpools/gpu";
const GUARDS: &str = "/apis/taintward.io/v1alpha1/poolguards";
const GUARD: &str = "/apis/taintward.io/v1alpha1/poolguards/taintward";
const MUTATING: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/taintward";
const VALIDATING: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/taintward";
const BUNDLE: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1BPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=";

fn secret(name: &str) -> String {
    format!("/api/v1/namespaces/{NAMESPACE}/secrets/{name}")
}

/// A JSON Patch of one step.
fn step(
    what: &'static str,
    on: &str,
    (op, at, value): (&str, &str, Value),
    message: &'static str,
) -> InstallAttempt {
    let body = json!([{"op": op, "path": at, "value": value}]);
    InstallAttempt { what, verb: RequestVerb::Patch(PatchType::Json), path: on.to_owned(), body, message }
}

fn merge(what: &'static str, on: &str, body: Value, message: &'static str) -> InstallAttempt {
    InstallAttempt { what, verb: RequestVerb::Patch(PatchType::Merge), path: on.to_owned(), body, message }
}

fn strategic(what: &'static str, on: &str, body: Value, message: &'static str) -> InstallAttempt {
    let verb = RequestVerb::Patch(PatchType::Strategic);
    InstallAttempt { what, verb, path: on.to_owned(), body, message }
}

/// With the rights that it has.
pub(crate) fn of_controller() -> Vec<InstallAttempt> {
    let (status, pod_status, pool_status) =
        (format!("{NODE}/status"), format!("{POD}/status"), format!("{POOL}/status"));
    let label = |key: &str, value: Value| json!({"metadata": {"labels": {key: value}}});
    let condition =
        |kind: &str, status: &str| json!({"status": {"conditions": [{"type": kind, "status": status}]}});
    let labels = "may write only labels that pools may have";
    let taints = "may write only taints that pools may have";
    let conditions = "may only set conditions of nodes to Unknown";
    let spec = "may change only taints in the spec of nodes";
    let of_node = "in the metadata of nodes";
    let of_pod = "only annotations in the metadata of pods";
    let of_status = "may change only conditions in the status of pods";
    let of_pool = "may not change the spec of pools";
    vec![
        merge("cordon", NODE, json!({"spec": {"unschedulable": true}}), spec),
        merge("providerID", NODE, json!({"spec": {"providerID": "aws:///theirs"}}), spec),
        merge("control-plane", NODE, label("node-role.kubernetes.io/control-plane", json!("")), labels),
        merge("master", NODE, label("node-role.kubernetes.io/master", json!("")), labels),
        merge("hostname", NODE, label("kubernetes.io/hostname", json!("n2")), labels),
        merge("no hostname", NODE, label("kubernetes.io/hostname", Value::Null), labels),
        merge("a zone", NODE, label("topology.kubernetes.io/zone", json!("a")), labels),
        merge("a label of a subdomain", NODE, label("a.k8s.io/b", json!("")), labels),
        merge("a label by way of the status", &status, label("kubernetes.io/hostname", json!("n2")), labels),
        merge("an annotation", NODE, json!({"metadata": {"annotations": {"theirs": "2"}}}), "only the annotation taintward.io/pool of nodes"),
        merge("no annotation", NODE, json!({"metadata": {"annotations": {"theirs": null}}}), "only the annotation taintward.io/pool of nodes"),
        merge("a finalizer", NODE, json!({"metadata": {"finalizers": ["example.com/stay"]}}), of_node),
        merge(
            "an owner",
            NODE,
            json!({"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p1", "uid": "u"}]}}),
            of_node,
        ),
        step("open control-plane", NODE, ("remove", "/spec/taints/1", Value::Null), taints),
        step("an uninitialized node", NODE, ("remove", "/spec/taints/2", Value::Null), taints),
        step("another value of a taint", NODE, ("replace", "/spec/taints/2/value", json!("x")), taints),
        step("another effect", NODE, ("replace", "/spec/taints/1/effect", json!("NoExecute")), taints),
        step("another client's taint", NODE, ("add", "/spec/taints/-", taint("a.kubernetes.io/b:NoExecute")), taints),
        step(
            "a taint of node health with another effect",
            NODE,
            ("add", "/spec/taints/-", taint("node.kubernetes.io/memory-pressure:NoExecute")),
            taints,
        ),
        strategic("a node that is ready", &status, condition("Ready", "False"), conditions),
        strategic("a network that is not there", &status, condition("NetworkUnavailable", "Unknown"), conditions),
        strategic("a condition of its own", &status, condition("Theirs", "Unknown"), conditions),
        step("no conditions", &status, ("remove", "/status/conditions/0", Value::Null), conditions),
        merge("another address", &status, json!({"status": {"addresses": []}}), "in the status of nodes"),
        merge("more room", &status, json!({"status": {"capacity": {"cpu": "1000"}}}), "in the status of nodes"),
        merge("podIP", &pod_status, json!({"status": {"podIP": "10.6.6.6", "podIPs": [{"ip": "10.6.6.6"}]}}), of_status),
        merge("phase", &pod_status, json!({"status": {"phase": "Succeeded"}}), of_status),
        merge("a message", &pod_status, json!({"status": {"message": "theirs"}}), of_status),
        merge("a pod's label", &pod_status, json!({"metadata": {"labels": {"app": "theirs"}}}), of_pod),
        strategic("a pod that is ready", &pod_status, condition("Ready", "Unknown"), "only the condition DisruptionTarget of pods"),
        strategic("a gate", &pod_status, condition("example.com/gate", "True"), "only the condition DisruptionTarget of pods"),
        step("a condition less", &pod_status, ("remove", "/status/conditions/1", Value::Null), "only the condition DisruptionTarget of pods"),
        merge("enforcement Off", POOL, json!({"spec": {"enforcement": "Off"}}), of_pool),
        merge("other users", POOL, json!({"spec": {"users": {"groups": ["theirs"]}}}), of_pool),
        merge("other nodes", POOL, json!({"spec": {"nodes": {"names": ["n2"]}}}), of_pool),
        merge("a pool's label", POOL, json!({"metadata": {"labels": {"a": "b"}}}), "only the label taintward.io/pool-guard of pools"),
        merge("a pool's note", POOL, json!({"metadata": {"annotations": {"a": "b"}}}), "in the metadata of pools"),
        merge("the guard's label", GUARD, json!({"metadata": {"labels": {"a": "b"}}}), "in the metadata of pools"),
        merge("a hold of the guard", GUARD, json!({"metadata": {"finalizers": ["a.b/c"]}}), "in the metadata of pools"),
        merge("their finalizer", POOL, json!({"metadata": {"finalizers": null}}), "only the finalizer taintward.io/pool of pools"),
        merge(
            "another finalizer",
            POOL,
            json!({"metadata": {"finalizers": ["example.com/theirs", "example.com/more"]}}),
            "only the finalizer taintward.io/pool of pools",
        ),
    ]
    .into_iter()
    .inspect(|one| assert_ne!(one.path, pool_status))
    .collect()
}

/// What it writes of pools themselves.
pub(crate) fn writes_of_pools() -> Vec<InstallAttempt> {
    let label = |value: Value| json!({"metadata": {"labels": {"taintward.io/pool-guard": value}}});
    vec![
        merge("a pool's status", &format!("{POOL}/status"), json!({"status": {"standing": "Applied"}}), ""),
        merge(
            "the finalizer",
            POOL,
            json!({"metadata": {"finalizers": ["example.com/theirs", "taintward.io/pool"]}}),
            "",
        ),
        merge("the label of the guard", POOL, label(json!("true")), ""),
        merge("no label of the guard", POOL, label(Value::Null), ""),
        merge("the guard", GUARD, json!({"spec": {"unknownNodes": "AllowDaemonSets"}}), ""),
    ]
}

/// What it writes when it does its work. The first word names the controller.
pub(crate) fn writes_of_controller() -> Vec<InstallAttempt> {
    let (status, pod_status) = (format!("{NODE}/status"), format!("{POD}/status"));
    let mark = json!({"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"});
    let time = "2026-01-01T00:00:00Z";
    let lost = |kind: &str| json!({"type": kind, "status": "Unknown", "reason": "NodeStatusUnknown"});
    let stamped = json!([{"op": "add", "path": "/spec/taints/3/timeAdded", "value": time}]);
    vec![
        strategic("evicts: marks", &pod_status, json!({"status": {"conditions": [mark]}}), ""),
        merge("stamps: timeAdded", NODE, Value::Null, "").with(stamped),
        strategic(
            "health: unknown",
            &status,
            json!({"status": {"conditions": [lost("Ready"), lost("DiskPressure")]}}),
            "",
        ),
        strategic(
            "health: pods are not ready",
            &pod_status,
            json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}}),
            "",
        ),
        step(
            "health: a taint",
            NODE,
            (
                "add",
                "/spec/taints/-",
                json!({"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": time}),
            ),
            "",
        ),
        step(
            "health: another",
            NODE,
            ("add", "/spec/taints/-", taint("node.kubernetes.io/pid-pressure:NoSchedule")),
            "",
        ),
        merge(
            "health: labels",
            NODE,
            json!({"metadata": {"labels": {"beta.kubernetes.io/os": "linux"}}}),
            "",
        ),
        merge("pools: a record", NODE, json!({"metadata": {"annotations": {"taintward.io/pool": "{}"}}}), ""),
        merge(
            "pools: a label",
            NODE,
            json!({"metadata": {"labels": {"node-restriction.kubernetes.io/pool.gpu": ""}}}),
            "",
        ),
        merge("pools: no label", NODE, json!({"metadata": {"labels": {"example.com/gpu": null}}}), ""),
        step("pools: a taint", NODE, ("add", "/spec/taints/-", taint("example.com/gpu:NoSchedule")), ""),
        step("pools: no taint", NODE, ("remove", "/spec/taints/0", Value::Null), ""),
    ]
}

/// What it writes for holds: behind the pod's own toleration stand those of not-ready and unreachable.
pub(crate) fn write_of_holds() -> InstallAttempt {
    let held = json!([
        {"op": "add", "path": "/metadata/annotations", "value": {"taintward.io/held": "{}"}},
        {"op": "remove", "path": "/spec/tolerations/1/tolerationSeconds"},
        {"op": "remove", "path": "/spec/tolerations/2/tolerationSeconds"},
    ]);
    merge("holds: seconds", POD, Value::Null, "").with(held)
}

/// What it writes for the guard.
pub(crate) fn write_of_guard() -> InstallAttempt {
    let guarded = json!([
        {"op": "add", "path": "/metadata/annotations", "value": {"taintward.io/guard": "{}"}},
        {"op": "add", "path": "/spec/tolerations/1/tolerationSeconds", "value": 3600},
    ]);
    merge("guard: ceiling", POD, Value::Null, "").with(guarded)
}

/// What it writes for backfill, and for a hold's end.
pub(crate) fn write_of_backfill() -> InstallAttempt {
    step("backfill: seconds", POD, ("add", "/spec/tolerations/1/tolerationSeconds", json!(77)), "")
}

/// What it may not write for holds or backfill, though its roles let it patch pods.
pub(crate) fn beyond_seconds() -> Vec<InstallAttempt> {
    let (seconds, spec) = ("only the seconds of tolerations", "in the spec of pods");
    // Another policy also rejects one that lets the pod onto nodes of pools, and either message may be shown.
    let more = json!({"key": "elsewhere", "operator": "Exists"});
    vec![
        step("a toleration more", POD, ("add", "/spec/tolerations/-", more), seconds),
        step(
            "seconds of another key",
            POD,
            ("add", "/spec/tolerations/0/tolerationSeconds", json!(5)),
            seconds,
        ),
        merge("another image", POD, json!({"spec": {"activeDeadlineSeconds": 5}}), spec),
        merge(
            "a label of a pod",
            POD,
            json!({"metadata": {"labels": {"app": "theirs"}}}),
            "only annotations in the metadata of pods",
        ),
        merge(
            "a note",
            POD,
            json!({"metadata": {"annotations": {"theirs": "1"}}}),
            "only the annotations taintward.io/held and taintward.io/guard of pods",
        ),
        merge(
            "another's note",
            POD,
            json!({"metadata": {"annotations": {"theirs": null, "a": "b"}}}),
            "only the annotations taintward.io/held and taintward.io/guard of pods",
        ),
        merge(
            "a finalizer of a pod",
            POD,
            json!({"metadata": {"finalizers": ["example.com/a"]}}),
            "only annotations in the metadata of pods",
        ),
    ]
}

impl InstallAttempt {
    /// As a JSON Patch.
    fn with(self, body: Value) -> Self {
        Self { verb: RequestVerb::Patch(PatchType::Json), body, ..self }
    }
}

/// With the rights that it has.
pub(crate) fn of_webhook() -> Vec<InstallAttempt> {
    let own = "may change only webhooks[].clientConfig.caBundle of webhook configurations";
    let wide = json!([{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}]);
    let away = json!({"url": "https://192.0.2.6:443/", "caBundle": BUNDLE});
    let service = json!({"name": "theirs", "namespace": "default", "path": "/", "port": 443});
    let one = json!({
        "name": "a.example.com", "clientConfig": away, "rules": wide, "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    });
    let no_metadata = "may not change the metadata of webhook configurations";
    let secret = &secret("taintward-webhook-certificate");
    let of_secret = "may not change the metadata of its Secret";
    vec![
        step("a url", MUTATING, ("replace", "/webhooks/0/clientConfig", away), own),
        step("another service", MUTATING, ("replace", "/webhooks/0/clientConfig/service", service), own),
        step(
            "another path",
            VALIDATING,
            ("replace", "/webhooks/0/clientConfig/service/path", json!("/mutate")),
            own,
        ),
        step("all rules", MUTATING, ("replace", "/webhooks/0/rules", wide), own),
        step(
            "more operations",
            VALIDATING,
            ("add", "/webhooks/0/rules/0/operations/-", json!("DELETE")),
            own,
        ),
        step("all namespaces", MUTATING, ("replace", "/webhooks/0/namespaceSelector", json!({})), own),
        step(
            "no namespace",
            MUTATING,
            ("replace", "/webhooks/0/objectSelector", json!({"matchLabels": {"a": "b"}})),
            own,
        ),
        step("kubelets", MUTATING, ("remove", "/webhooks/0/matchConditions/0", Value::Null), own),
        step("Fail", VALIDATING, ("replace", "/webhooks/1/failurePolicy", json!("Fail")), own),
        step("patience", MUTATING, ("replace", "/webhooks/0/timeoutSeconds", json!(30)), own),
        step("a webhook more", MUTATING, ("add", "/webhooks/-", one), own),
        step("a webhook less", VALIDATING, ("remove", "/webhooks/1", Value::Null), own),
        step("another order", VALIDATING, ("move", "/webhooks/1", Value::Null), own).moved("/webhooks/0"),
        merge("a label", MUTATING, json!({"metadata": {"labels": {"a": "b"}}}), no_metadata),
        merge("an owner", VALIDATING, json!({"metadata": {"finalizers": ["example.com/a"]}}), no_metadata),
        merge(
            "of an account",
            secret,
            json!({"metadata": {"annotations": {
            "kubernetes.io/service-account.name": "taintward"}}}),
            of_secret,
        ),
        merge("a Secret's label", secret, json!({"metadata": {"labels": {"a": "b"}}}), of_secret),
        merge("immutable", secret, json!({"immutable": true}), "may change only the data of its Secret"),
    ]
}

impl InstallAttempt {
    fn moved(mut self, from: &str) -> Self {
        self.body[0]["from"] = from.into();
        self
    }
}

pub(crate) fn writes_of_webhook() -> Vec<InstallAttempt> {
    let secret = &secret("taintward-webhook-certificate");
    vec![
        step("trusted CAs", MUTATING, ("add", "/webhooks/0/clientConfig/caBundle", json!(BUNDLE)), ""),
        step("and of nodes", VALIDATING, ("add", "/webhooks/1/clientConfig/caBundle", json!(BUNDLE)), ""),
        step("the certificate", secret, ("add", "/data", json!({"tls.crt": "QQ==", "tls.key": "QQ=="})), ""),
    ]
}

/// What no role of theirs grants, and no policy would let pass.
pub(crate) fn beyond_roles() -> Vec<(&'static str, InstallAttempt)> {
    let create = |what, path: &str, body| {
        let (verb, path) = (RequestVerb::Create, path.to_owned());
        InstallAttempt { what, verb, path, body, message: "" }
    };
    let delete = |what, path: &str| InstallAttempt {
        what,
        verb: RequestVerb::Delete,
        path: path.to_owned(),
        body: json!({}),
        message: "",
    };
    let token = json!({
        "metadata": {"name": "token", "annotations": {"kubernetes.io/service-account.name": CONTROLLER}},
        "type": "kubernetes.io/service-account-token",
    });
    let pod = json!({"metadata": {"name": "p2"}, "spec": {"containers": [{"name": "a", "image": "registry.invalid/a"}]}});
    let hooks = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
    let guard =
        json!({"apiVersion": "taintward.io/v1alpha1", "kind": "PoolGuard", "metadata": {"name": "another"}});
    let bound = json!({"metadata": {"name": "p1"}, "target": {"kind": "Node", "name": "n1"}});
    let elsewhere = merge(
        "Secrets of other components",
        "/api/v1/namespaces/kube-system/secrets/theirs",
        json!({"data": {"a": "QQ=="}}),
        "",
    );
    vec![
        (WEBHOOK, create("a Secret", &format!("/api/v1/namespaces/{NAMESPACE}/secrets"), token)),
        (WEBHOOK, elsewhere),
        (WEBHOOK, delete("its Secret", &secret("taintward-webhook-certificate"))),
        (WEBHOOK, create("a configuration", hooks, json!({"metadata": {"name": "theirs"}, "webhooks": []}))),
        (WEBHOOK, delete("its configuration", MUTATING)),
        (CONTROLLER, create("a pod", "/api/v1/namespaces/default/pods", pod)),
        (CONTROLLER, create("a node for a pod", &format!("{POD}/binding"), bound)),
        (CONTROLLER, merge("a pod's image", POD, json!({"spec": {"activeDeadlineSeconds": 5}}), "")),
        (CONTROLLER, create("a node", "/api/v1/nodes", json!({"metadata": {"name": "n2"}}))),
        (CONTROLLER, delete("a node less", NODE)),
        (CONTROLLER, delete("a pool less", POOL)),
        (CONTROLLER, create("another guard", GUARDS, guard)),
        (CONTROLLER, delete("no guard", GUARD)),
    ]
}
