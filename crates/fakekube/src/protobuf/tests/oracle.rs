//! Compares the encoding with the types of k8s-pb, which are generated from upstream's .proto files.

use k8s_pb::api::{
    apps::v1::Deployment,
    authorization::v1::SelfSubjectAccessReview,
    coordination::v1::Lease,
    core::v1::{ConfigMap, Event, Node, Pod, PodList},
    events::v1::Event as NewEvent,
    policy::v1::PodDisruptionBudget,
};
use k8s_pb::apimachinery::pkg::apis::meta::v1::{DeleteOptions, Status, WatchEvent};
use k8s_pb::apimachinery::pkg::runtime::Unknown;
use prost::Message;
use serde_json::{Value, json};

use crate::canonicalize::normal;
use crate::protobuf::{decode, encode, encode_watch_event};

/// Decodes fakekube's bytes with the oracle. What the oracle encodes again is decoded to the same object.
fn read<T: Message + Default>(api_version: &str, kind: &str, object: Value) -> T {
    let object = normal(api_version, kind, object).unwrap();
    assert!(object.unknown.is_empty(), "{:?}", object.unknown);
    let bytes = encode(api_version, kind, &object.value);
    let mut envelope = Unknown::decode(bytes.strip_prefix(b"k8s\0").unwrap()).unwrap();
    let types = envelope.type_meta.clone().unwrap();
    assert_eq!((types.api_version(), types.kind()), (api_version, kind));
    let theirs = T::decode(envelope.raw()).unwrap();
    envelope.raw = Some(theirs.encode_to_vec());
    let again = [b"k8s\0".to_vec(), envelope.encode_to_vec()].concat();
    assert_eq!(decode(&again).unwrap(), object.value, "{kind}");
    theirs
}

fn detailed_pod() -> Value {
    json!({
        "metadata": {"name": "p", "labels": {"a": "b", "c": ""}, "creationTimestamp": "2024-02-29T12:00:00Z",
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u", "controller": false}],
            "managedFields": [{"manager": "m", "time": "1969-12-31T23:59:59Z", "fieldsV1": {"f:spec": {}}}]},
        "spec": {
            "containers": [{"name": "c", "command": ["a", ""], "resources": {"limits": {"cpu": "100m", "memory": "1Gi"}},
                "ports": [{"containerPort": 80}], "env": [{"name": "E", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}],
                "livenessProbe": {"httpGet": {"port": "http"}, "periodSeconds": 5},
                "readinessProbe": {"tcpSocket": {"port": 8080}}, "securityContext": {"runAsUser": 0}}],
            "volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1Mi"}}, {"name": "s", "secret": {"optional": false}}],
            "ephemeralContainers": [{"name": "e", "image": "i", "targetContainerName": "c"}],
            "tolerations": [{"key": "k", "effect": "NoExecute", "tolerationSeconds": -5}, {"tolerationSeconds": 0}],
            "terminationGracePeriodSeconds": 0, "priority": -10, "hostNetwork": true,
            "securityContext": {"supplementalGroups": [1, -2, 1_099_511_627_776_i64]},
        },
        "status": {"phase": "Running", "startTime": "2024-01-01T00:00:00Z", "conditions": [
            {"type": "Ready", "status": "True", "lastProbeTime": null, "lastTransitionTime": "2024-01-01T00:00:01Z"}]},
    })
}

#[test]
fn a_pod() {
    let pod: Pod = read("v1", "Pod", detailed_pod());
    let spec = pod.spec.unwrap();
    assert_eq!(spec.tolerations[0].toleration_seconds, Some(-5));
    assert_eq!(spec.tolerations[1].toleration_seconds, Some(0));
    assert_eq!((spec.priority, spec.termination_grace_period_seconds), (Some(-10), Some(0)));
    assert_eq!(spec.active_deadline_seconds, None);
    assert_eq!(spec.security_context.unwrap().supplemental_groups, [1, -2, 1 << 40]);
    assert_eq!(spec.containers[0].resources.as_ref().unwrap().limits["cpu"].string(), "100m");
    let port = |probe: &k8s_pb::api::core::v1::Probe| {
        let handler = probe.handler.clone().unwrap();
        let port =
            handler.http_get.and_then(|get| get.port).or_else(|| handler.tcp_socket.and_then(|tcp| tcp.port));
        port.map(|port| (port.r#type(), port.int_val(), port.str_val().to_owned())).unwrap()
    };
    assert_eq!(port(spec.containers[0].liveness_probe.as_ref().unwrap()), (1, 0, "http".into()));
    assert_eq!(port(spec.containers[0].readiness_probe.as_ref().unwrap()), (0, 8080, String::new()));
    assert_eq!(pod.metadata.unwrap().creation_timestamp.unwrap().seconds(), 1_709_208_000);
    assert_eq!(pod.status.unwrap().conditions[0].last_probe_time.as_ref().unwrap().seconds, None);
}

#[test]
fn a_list_and_what_is_in_it() {
    let mut item = detailed_pod();
    item["apiVersion"] = json!("v1");
    item["kind"] = json!("Pod");
    let list = json!({"metadata": {"resourceVersion": "5", "remainingItemCount": 0}, "items": [item, {}]});
    let bytes = encode("v1", "PodList", &list);
    let envelope = Unknown::decode(&bytes[4..]).unwrap();
    let theirs = PodList::decode(envelope.raw()).unwrap();
    assert_eq!(theirs.items.len(), 2);
    assert_eq!(theirs.items[0].metadata.as_ref().unwrap().name(), "p");
    assert_eq!(theirs.metadata.unwrap().remaining_item_count, Some(0));
    let ours = decode(&bytes).unwrap();
    assert_eq!(ours["items"][0].get("kind"), None);
    assert_eq!(ours["items"][0]["spec"]["priority"], -10);
}

#[test]
fn nodes_and_leases() {
    let node: Node = read(
        "v1",
        "Node",
        json!({"spec": {"taints": [{"key": "k", "effect": "NoExecute", "timeAdded": "2024-01-01T00:00:00Z"}, {"key": "l", "effect": "E"}],
                        "unschedulable": true, "podCIDRs": ["a", "b"]},
               "status": {"capacity": {"cpu": "4"}, "images": [{"names": ["n"], "sizeBytes": 5}],
                          "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}}}}),
    );
    let taints = node.spec.unwrap().taints;
    assert_eq!(taints[0].time_added.as_ref().unwrap().seconds(), 1_704_067_200);
    assert_eq!(taints[1].time_added, None);
    let lease: Lease = read(
        "coordination.k8s.io/v1",
        "Lease",
        json!({"spec": {"holderIdentity": "", "leaseDurationSeconds": 0, "renewTime": "1969-12-31T23:59:59.250001Z"}}),
    );
    let spec = lease.spec.unwrap();
    assert_eq!((spec.holder_identity.as_deref(), spec.lease_duration_seconds), (Some(""), Some(0)));
    let renewed = spec.renew_time.unwrap();
    assert_eq!((renewed.seconds(), renewed.nanos()), (-1, 250_001_000));
}

#[test]
fn events_of_both_groups() {
    let event: Event = read(
        "v1",
        "Event",
        json!({"involvedObject": {"kind": "Pod"}, "count": 3, "firstTimestamp": "2024-01-01T00:00:00Z",
               "eventTime": "2024-01-01T00:00:00.000001Z", "series": {"count": 2, "lastObservedTime": null}}),
    );
    assert_eq!((event.count(), event.event_time.unwrap().nanos()), (3, 1000));
    let event: NewEvent = read(
        "events.k8s.io/v1",
        "Event",
        json!({"regarding": {"name": "n"}, "note": "m", "eventTime": null, "deprecatedCount": -1}),
    );
    assert_eq!((event.note(), event.deprecated_count()), ("m", -1));
}

#[test]
fn workloads_and_budgets() {
    let deployment: Deployment = read(
        "apps/v1",
        "Deployment",
        json!({"spec": {"replicas": 0, "selector": {"matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}]},
                        "template": {"spec": {"containers": [{"name": "c"}]}},
                        "strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 0}}}}),
    );
    let spec = deployment.spec.unwrap();
    assert_eq!(spec.replicas, Some(0));
    assert_eq!(spec.strategy.unwrap().rolling_update.unwrap().max_surge.unwrap().str_val(), "25%");
    let budget: PodDisruptionBudget = read(
        "policy/v1",
        "PodDisruptionBudget",
        json!({"spec": {"minAvailable": -1, "selector": {}}, "status": {"disruptedPods": {"p": "2024-01-01T00:00:00Z"}}}),
    );
    assert_eq!(budget.spec.unwrap().min_available.unwrap().int_val(), -1);
    assert_eq!(budget.status.unwrap().disrupted_pods["p"].seconds(), 1_704_067_200);
    let map: ConfigMap =
        read("v1", "ConfigMap", json!({"data": {"a": ""}, "binaryData": {"b": "AAEC"}, "immutable": false}));
    assert_eq!((map.binary_data["b"].as_ref(), map.immutable), (&[0_u8, 1, 2][..], Some(false)));
}

#[test]
fn options_statuses_and_reviews() {
    let options: DeleteOptions = read(
        "policy/v1",
        "DeleteOptions",
        json!({"gracePeriodSeconds": 0, "preconditions": {"uid": "u"}, "propagationPolicy": "Orphan", "dryRun": ["All"]}),
    );
    assert_eq!((options.grace_period_seconds, options.dry_run), (Some(0), vec!["All".to_owned()]));
    let status: Status = read(
        "v1",
        "Status",
        json!({"status": "Failure", "code": 409, "details": {"causes": [{"field": "f"}], "retryAfterSeconds": 1}}),
    );
    assert_eq!((status.code(), status.details.unwrap().causes[0].field().to_owned()), (409, "f".to_owned()));
    let review: SelfSubjectAccessReview = read(
        "authorization.k8s.io/v1",
        "SelfSubjectAccessReview",
        json!({"spec": {"resourceAttributes": {"verb": "get"}}, "status": {"allowed": true}}),
    );
    assert!(review.status.unwrap().allowed());
    let user = json!({"status": {"userInfo": {"extra": {"k": ["a", "b"], "l": []}}}});
    let bytes = encode("authentication.k8s.io/v1", "SelfSubjectReview", &user);
    assert_eq!(decode(&bytes).unwrap()["status"], user["status"]);
}

#[test]
fn a_watch_event() {
    let object = encode("v1", "ConfigMap", &json!({"data": {"a": "b"}}));
    let frame = encode_watch_event("MODIFIED", &object);
    let event = WatchEvent::decode(&frame[4..]).unwrap();
    assert_eq!((event.r#type(), event.object.as_ref().unwrap().raw()), ("MODIFIED", object.as_slice()));
}
