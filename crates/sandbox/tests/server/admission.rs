//! Tests Taintward's admission rules on the pods and nodes of a sandbox.

use fakekube::api::{ApiServer, CreateResult, PatchBody, RequestUser, ResourcePath, WriteOptions};
use fakekube::api_status::StatusError;
use fakekube::defaults::AdmissionDefaults;
use fakekube::resource::{Subresource, known};
use serde_json::{Value, json};
use taintward_sandbox::webhook_plugin::taintward_account;
use taintward_sandbox::world::{World, WorldSettings};
use testkit::{ObjectExt as _, pod};

struct AdmissionHarness {
    server: ApiServer,
}

impl AdmissionHarness {
    fn with(webhook: bool) -> Self {
        let admission = AdmissionDefaults { service_account: false, ..AdmissionDefaults::default() };
        let world = World::new(&WorldSettings {
            nodes: 4,
            roles: Vec::new(),
            admission,
            webhook,
            ..WorldSettings::default()
        });
        let harness = Self { server: world.server().clone() };
        for (name, team) in [("team-a", "a"), ("team-b", "b")] {
            let metadata = json!({"name": name, "labels": {"team": team}});
            harness.put("", "namespaces", "", &json!({"metadata": metadata})).unwrap();
        }
        for node in ["n1", "n2", "n3", "n4"] {
            harness.change_node(node, |node| node["spec"]["taints"] = json!([]));
            harness.ready(node);
        }
        harness
    }

    fn set() -> Self {
        Self::with(true)
    }

    fn put(
        &self,
        group: &str,
        plural: &str,
        namespace: &str,
        object: &Value,
    ) -> Result<CreateResult, StatusError> {
        self.put_by(group, plural, namespace, object, &WriteOptions::by("hand"))
    }

    fn put_by(
        &self,
        group: &str,
        plural: &str,
        namespace: &str,
        object: &Value,
        scheduling_spec: &WriteOptions,
    ) -> Result<CreateResult, StatusError> {
        let number = known(group, plural);
        let mut object = object.clone();
        object["apiVersion"] = number.get().api_version().into();
        object["kind"] = number.get().kind.into();
        self.server.create(&ResourcePath::object(number, namespace, ""), object, scheduling_spec)
    }

    fn create_pod(&self, namespace: &str, name: &str, spec: &Value) -> Result<CreateResult, StatusError> {
        self.put("", "pods", namespace, &pod_with(name, spec))
    }

    fn create_pool(&self, name: &str, enforcement: &str) {
        let pool = json!({
            "metadata": {"name": name},
            "spec": {
                "taint": {"key": "example.com/pool", "value": name},
                "nodes": {"names": ["n1"]},
                "users": {"namespaceSelector": {"matchLabels": {"team": name}}},
                "enforcement": enforcement,
            },
        });
        self.put("taintward.io", "dedicatedpools", "", &pool).unwrap();
    }

    fn change_node(&self, name: &str, change: impl FnOnce(&mut Value)) {
        self.server
            .change(&ResourcePath::object(known("", "nodes"), "", name), "node-controller", change)
            .unwrap();
    }

    fn ready(&self, name: &str) {
        let on = ResourcePath::object(known("", "nodes"), "", name).part(Subresource::Status);
        let ready = json!([{"type": "Ready", "status": "True"}]);
        self.server.change(&on, "kubelet", |node| node["status"]["conditions"] = ready).unwrap();
    }

    fn add_taint(
        &self,
        name: &str,
        key: &str,
        scheduling_spec: &WriteOptions,
    ) -> Result<CreateResult, StatusError> {
        let patch = json!({"spec": {"taints": [{"key": key, "effect": "NoExecute"}]}});
        self.server.patch(
            &ResourcePath::object(known("", "nodes"), "", name),
            &PatchBody::Merge(patch),
            scheduling_spec,
        )
    }
}

fn pod_with(name: &str, spec: &Value) -> Value {
    pod(name).with_all("spec", spec)
}

fn smuggled(pool: &str) -> Value {
    json!({"tolerations": [{"key": "example.com/pool", "operator": "Equal", "value": pool, "effect": "NoSchedule"}]})
}

fn seconds_of(made: &CreateResult, key: &str) -> Option<i64> {
    let pod = made.object.value();
    let all = pod["spec"]["tolerations"].as_array().unwrap().clone();
    all.iter().find(|one| one["key"] == key)?["tolerationSeconds"].as_i64()
}

const NOT_READY: &str = "node.kubernetes.io/not-ready";

#[test]
fn a_pools_pods_are_given_what_leads_them_there() {
    let harness = AdmissionHarness::set();
    let before = harness.create_pod("team-a", "before", &json!({})).unwrap().object.value();
    assert_eq!(before["spec"]["affinity"], Value::Null);
    harness.create_pool("a", "Deny");
    let made = harness.create_pod("team-a", "mine", &json!({})).unwrap().object.value();
    let terms = &made["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    let wanted =
        json!([{"key": "node-restriction.kubernetes.io/pool.a", "operator": "In", "values": ["true"]}]);
    assert_eq!(terms["nodeSelectorTerms"][0]["matchExpressions"], wanted, "{made}");
    let tolerated = made["spec"]["tolerations"].as_array().unwrap();
    assert!(tolerated.iter().any(|one| one["key"] == "example.com/pool" && one["value"] == "a"), "{made}");
    let other = harness.create_pod("team-b", "other", &json!({})).unwrap().object.value();
    assert_eq!(other["spec"]["affinity"], Value::Null);
    assert!(!other["spec"]["tolerations"].to_string().contains("example.com/pool"));
}

#[test]
fn a_pod_with_a_smuggled_toleration_is_rejected_with_a_reason() {
    let harness = AdmissionHarness::set();
    harness.create_pool("a", "Deny");
    let failure = harness.create_pod("team-b", "sly", &smuggled("a")).unwrap_err();
    assert_eq!((failure.code, failure.reason, &failure.details), (403, "Forbidden", &None));
    let words = "admission webhook \"pods.validate.taintward.io\" denied the request: ";
    assert!(failure.message.starts_with(words), "{}", failure.message);
    assert!(
        failure.message.contains("the nodes of pool a are for pods in namespaces with team=a"),
        "{}",
        failure.message
    );
    assert!(harness.create_pod("team-a", "mine", &smuggled("a")).is_ok());
    let dry = WriteOptions { dry_run: true, ..WriteOptions::by("hand") };
    let rejected = harness.put_by("", "pods", "team-b", &pod_with("sly", &smuggled("a")), &dry);
    assert_eq!(rejected.unwrap_err().code, 403, "a dry run is rejected as well");
    let on = ResourcePath::object(known("", "pods"), "team-b", "sly");
    assert_eq!(harness.server.read(&on).unwrap_err().code, 404);
    // Without a pool, or without the rules, every pod is admitted.
    assert!(AdmissionHarness::set().create_pod("team-b", "sly", &smuggled("a")).is_ok());
    let plain = AdmissionHarness::with(false);
    plain.create_pool("a", "Deny");
    assert!(plain.create_pod("team-b", "sly", &smuggled("a")).is_ok());
}

#[test]
fn a_pool_that_warns_lets_in() {
    let harness = AdmissionHarness::set();
    harness.create_pool("a", "Warn");
    let made = harness.create_pod("team-b", "sly", &smuggled("a")).unwrap();
    assert!(made.warnings.iter().any(|message| message.contains("pool")), "{:?}", made.warnings);
    assert_eq!(harness.create_pod("team-b", "plain", &json!({})).unwrap().warnings, [""; 0]);
}

#[test]
fn the_user_of_a_directly_created_pod_counts() {
    let harness = AdmissionHarness::set();
    let users = json!({"users": ["jane"]});
    let pool = json!({
        "metadata": {"name": "a"},
        "spec": {"taint": {"key": "example.com/pool", "value": "a"}, "nodes": {"names": ["n1"]}, "users": users,
            "enforcement": "Deny"},
    });
    harness.put("taintward.io", "dedicatedpools", "", &pool).unwrap();
    let by = |name: &str| {
        let user = RequestUser { name: name.to_owned(), groups: Vec::new() };
        WriteOptions { user, ..WriteOptions::by("hand") }
    };
    let made = harness
        .put_by("", "pods", "team-b", &pod_with("hers", &json!({})), &by("jane"))
        .unwrap()
        .object
        .value();
    assert!(made["spec"]["tolerations"].to_string().contains("example.com/pool"), "{made}");
    let rejected = harness.put_by("", "pods", "team-b", &pod_with("his", &smuggled("a")), &by("john"));
    assert_eq!(rejected.unwrap_err().code, 403);
}

#[test]
fn default_seconds_follow_policy_and_annotations() {
    let harness = AdmissionHarness::set();
    assert_eq!(seconds_of(&harness.create_pod("team-a", "p0", &json!({})).unwrap(), NOT_READY), Some(300));
    let policy = json!({
        "metadata": {"name": "a"},
        "spec": {"namespaceSelector": {"matchLabels": {"team": "a"}}, "notReadySeconds": 30, "bounds": {"most": 60}},
    });
    harness.put("taintward.io", "tolerationpolicies", "", &policy).unwrap();
    assert_eq!(seconds_of(&harness.create_pod("team-a", "p1", &json!({})).unwrap(), NOT_READY), Some(30));
    assert_eq!(seconds_of(&harness.create_pod("team-b", "p1", &json!({})).unwrap(), NOT_READY), Some(300));
    let mut wishful = pod_with("p2", &json!({}));
    wishful["metadata"]["annotations"] = json!({"taintward.io/not-ready-seconds": "600"});
    let made = harness.put("", "pods", "team-a", &wishful).unwrap();
    assert_eq!(seconds_of(&made, NOT_READY), Some(60), "the bound is kept");
    assert_eq!(made.warnings.len(), 1, "and a warning says so: {:?}", made.warnings);
    let on = ResourcePath::object(known("taintward.io", "tolerationpolicies"), "", "a");
    harness.server.delete(&on, &Default::default(), &WriteOptions::by("hand")).unwrap();
    assert_eq!(seconds_of(&harness.create_pod("team-a", "p3", &json!({})).unwrap(), NOT_READY), Some(300));
}

#[test]
fn extended_resources_are_tolerated_and_mistakes_get_warnings() {
    let harness = AdmissionHarness::set();
    let containers =
        json!([{"name": "main", "image": "x", "resources": {"limits": {"example.com/gpu": "1"}}}]);
    let made =
        harness.create_pod("team-a", "gpu", &json!({"containers": containers})).unwrap().object.value();
    assert!(made["spec"]["tolerations"].to_string().contains("example.com/gpu"), "{made}");
    let misspelt =
        json!([{"key": "node.kubernetes.io/notready", "operator": "Exists", "effect": "NoExecute"}]);
    let made = harness.create_pod("team-a", "slip", &json!({"tolerations": misspelt})).unwrap();
    assert!(made.warnings.iter().any(|message| message.contains("misspelt-key")), "{:?}", made.warnings);
}

#[test]
fn rejected_requests_get_the_warnings_too() {
    let harness = AdmissionHarness::set();
    harness.create_pool("a", "Deny");
    let mut sly = smuggled("a");
    let slip = json!({"key": "node.kubernetes.io/notready", "operator": "Exists", "effect": "NoExecute"});
    sly["tolerations"].as_array_mut().unwrap().push(slip);
    let rejected = harness.create_pod("team-b", "sly", &sly).unwrap_err();
    assert_eq!(rejected.code, 403);
    assert!(
        rejected.warnings.iter().any(|message| message.contains("misspelt-key")),
        "{:?}",
        rejected.warnings
    );
}

#[test]
fn a_slip_of_the_hand_does_not_empty_the_cluster() {
    let harness = AdmissionHarness::set();
    let hand = WriteOptions::by("hand");
    assert!(harness.add_taint("n1", "oops", &hand).is_ok() && harness.add_taint("n2", "oops", &hand).is_ok());
    let failure = harness.add_taint("n3", "oops", &hand).unwrap_err();
    assert!(
        failure.code == 403
            && failure.message.starts_with("admission webhook \"nodes.validate.taintward.io\" denied"),
        "{failure:?}"
    );
    harness.change_node("n3", |node| {
        node["metadata"]["annotations"] = json!({"taintward.io/allow-no-execute": "oops"});
    });
    assert!(harness.add_taint("n3", "oops", &hand).is_ok(), "the limit can be overridden explicitly");
    // Reports of node health in Kubernetes' own taints are trusted.
    let ours = WriteOptions { user: taintward_account(), ..WriteOptions::by("taintward") };
    assert!(harness.add_taint("n4", "node.kubernetes.io/unreachable", &ours).is_ok());
    let plain = AdmissionHarness::with(false);
    assert!(["n1", "n2", "n3", "n4"].iter().all(|node| plain.add_taint(node, "oops", &hand).is_ok()));
}

#[test]
fn a_namespaces_own_lists_count() {
    let harness = AdmissionHarness::set();
    let list = json!([{"key": "injected", "operator": "Exists"}]).to_string();
    let annotations = json!({"scheduler.alpha.kubernetes.io/defaultTolerations": list});
    harness
        .put("", "namespaces", "", &json!({"metadata": {"name": "c", "annotations": &annotations}}))
        .unwrap();
    let made = harness.create_pod("c", "p", &json!({})).unwrap().object.value();
    assert!(made["spec"]["tolerations"].to_string().contains("\"injected\""), "{made}");
    // The webhook is not called for the system's own namespace.
    let on = ResourcePath::object(known("", "namespaces"), "", "kube-system");
    let listed = PatchBody::Merge(json!({"metadata": {"annotations": annotations}}));
    harness.server.patch(&on, &listed, &WriteOptions::by("hand")).unwrap();
    let made = harness.create_pod("kube-system", "p", &json!({})).unwrap().object.value();
    assert!(!made["spec"]["tolerations"].to_string().contains("\"injected\""), "{made}");
}

#[test]
fn an_old_pod_can_still_be_changed() {
    let harness = AdmissionHarness::set();
    harness.create_pod("team-b", "old", &smuggled("a")).unwrap();
    harness.create_pool("a", "Deny");
    let on = ResourcePath::object(known("", "pods"), "team-b", "old");
    let label = PatchBody::Merge(json!({"metadata": {"labels": {"x": "y"}}}));
    assert!(harness.server.patch(&on, &label, &WriteOptions::by("hand")).is_ok());
    let status = PatchBody::Merge(json!({"status": {"phase": "Running"}}));
    assert!(
        harness.server.patch(&on.part(Subresource::Status), &status, &WriteOptions::by("kubelet")).is_ok()
    );
}

#[test]
fn the_cache_survives_a_compacted_history() {
    let harness = AdmissionHarness::set();
    harness.create_pod("team-a", "first", &json!({})).unwrap();
    harness.create_pool("a", "Deny");
    harness.server.store().compact();
    assert_eq!(harness.create_pod("team-b", "sly", &smuggled("a")).unwrap_err().code, 403);
    let on = ResourcePath::object(known("taintward.io", "dedicatedpools"), "", "a");
    harness.server.delete(&on, &Default::default(), &WriteOptions::by("hand")).unwrap();
    harness.server.store().compact();
    assert!(harness.create_pod("team-b", "sly", &smuggled("a")).is_ok());
}
