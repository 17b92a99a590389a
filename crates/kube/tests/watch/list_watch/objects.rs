//! Builds the objects of the scripted server in protobuf (by an independent encoder) and JSON.

use super::fake::WatchReply;
use k8s_pb::api::core::v1::{Pod, PodSpec};
use k8s_pb::apimachinery::pkg::apis::meta::v1::{ListMeta, ObjectMeta, Status, StatusDetails, WatchEvent};
use k8s_pb::apimachinery::pkg::runtime::{RawExtension, TypeMeta, Unknown};
use prost::Message;
use serde_json::{Value, json};

/// The encoding of the server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum WireFormat {
    Protobuf,
    Json,
}

pub(crate) const BOTH: [WireFormat; 2] = [WireFormat::Protobuf, WireFormat::Json];

impl WireFormat {
    pub(crate) fn watch_type(self) -> &'static str {
        match self {
            Self::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
            Self::Json => "application/json",
        }
    }

    fn body_type(self) -> &'static str {
        match self {
            Self::Protobuf => "application/vnd.kubernetes.protobuf",
            Self::Json => "application/json",
        }
    }
}

pub(crate) fn uid(number: u64) -> String {
    format!("00000000-0000-4000-8000-{number:012x}")
}

fn pod_message(number: u64, version: u64) -> Pod {
    Pod {
        metadata: Some(ObjectMeta {
            name: Some(format!("p{number}")),
            namespace: Some("shop".to_owned()),
            uid: Some(uid(number)),
            resource_version: Some(version.to_string()),
            ..ObjectMeta::default()
        }),
        spec: Some(PodSpec { node_name: Some("n1".to_owned()), ..PodSpec::default() }),
        status: None,
    }
}

pub(crate) fn pod_json(number: u64, version: u64) -> Value {
    json!({
        "kind": "Pod", "apiVersion": "v1",
        "metadata": {"name": format!("p{number}"), "namespace": "shop", "uid": uid(number),
                     "resourceVersion": version.to_string()},
        "spec": {"nodeName": "n1"},
    })
}

/// The envelope of a protobuf body.
pub(crate) fn envelope(kind: &str, message: Vec<u8>) -> Vec<u8> {
    let types = TypeMeta { api_version: Some("v1".to_owned()), kind: Some(kind.to_owned()) };
    let unknown = Unknown { type_meta: Some(types), raw: Some(message), ..Unknown::default() };
    [&b"k8s\0"[..], &unknown.encode_to_vec()].concat()
}

/// A protobuf event around an object that may be anything.
pub(crate) fn frame(kind: &str, object: Vec<u8>) -> Vec<u8> {
    let event =
        WatchEvent { r#type: Some(kind.to_owned()), object: Some(RawExtension { raw: Some(object) }) };
    let event = event.encode_to_vec();
    [&u32::try_from(event.len()).unwrap().to_be_bytes()[..], &event].concat()
}

/// A JSON event around an object that may be anything.
pub(crate) fn line(kind: &str, object: &Value) -> Vec<u8> {
    format!("{}\n", json!({"type": kind, "object": object})).into_bytes()
}

/// An event about a pod.
pub(crate) fn event(wire: WireFormat, kind: &str, number: u64, version: u64) -> Vec<u8> {
    match wire {
        WireFormat::Protobuf => frame(kind, envelope("Pod", pod_message(number, version).encode_to_vec())),
        WireFormat::Json => line(kind, &pod_json(number, version)),
    }
}

pub(crate) fn bookmark(wire: WireFormat, version: u64, ends_initial: bool) -> Vec<u8> {
    let annotation = ("k8s.io/initial-events-end".to_owned(), "true".to_owned());
    match wire {
        WireFormat::Protobuf => {
            let metadata = ObjectMeta {
                resource_version: Some(version.to_string()),
                annotations: ends_initial.then_some(annotation).into_iter().collect(),
                ..ObjectMeta::default()
            };
            let pod = Pod { metadata: Some(metadata), ..Pod::default() };
            frame("BOOKMARK", envelope("Pod", pod.encode_to_vec()))
        }
        WireFormat::Json => {
            let mut metadata = json!({"resourceVersion": version.to_string(), "creationTimestamp": null});
            if ends_initial {
                metadata["annotations"] = json!({annotation.0: annotation.1});
            }
            line("BOOKMARK", &json!({"kind": "Pod", "apiVersion": "v1", "metadata": metadata}))
        }
    }
}

fn status_body(wire: WireFormat, code: u16, reason: &str, message: &str, wait: Option<u32>) -> Vec<u8> {
    match wire {
        WireFormat::Protobuf => {
            let details = wait.map(|wait| StatusDetails {
                retry_after_seconds: Some(i32::try_from(wait).unwrap()),
                ..StatusDetails::default()
            });
            let status = Status {
                status: Some("Failure".to_owned()),
                message: Some(message.to_owned()),
                reason: Some(reason.to_owned()),
                details,
                code: Some(code.into()),
                ..Status::default()
            };
            envelope("Status", status.encode_to_vec())
        }
        WireFormat::Json => json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
            "reason": reason, "details": {"retryAfterSeconds": wait}, "code": code,
        })
        .to_string()
        .into_bytes(),
    }
}

/// An ERROR event.
pub(crate) fn error(wire: WireFormat, code: u16, reason: &str, message: &str) -> Vec<u8> {
    let body = status_body(wire, code, reason, message, None);
    match wire {
        WireFormat::Protobuf => frame("ERROR", body),
        WireFormat::Json => line("ERROR", &serde_json::from_slice(&body).unwrap()),
    }
}

/// A `Status` as response.
pub(crate) fn rejection(wire: WireFormat, code: u16, reason: &str, wait: Option<u32>) -> WatchReply {
    WatchReply::new(code, wire.body_type()).bytes(status_body(wire, code, reason, "the script says so", wait))
}

/// A started watch.
pub(crate) fn stream(wire: WireFormat) -> WatchReply {
    WatchReply::new(200, wire.watch_type())
}

/// A streamed list of pods `0..count` at a version, complete; the watch continues from there.
pub(crate) fn streamed(wire: WireFormat, count: u64, version: u64) -> WatchReply {
    let events = (0..count).map(|number| event(wire, "ADDED", number, number + 1));
    let list: Vec<u8> = events.chain([bookmark(wire, version, true)]).flatten().collect();
    stream(wire).bytes(list)
}

/// The body of one page of pods.
pub(crate) fn page_body(wire: WireFormat, pods: std::ops::Range<u64>, version: u64, onward: &str) -> Vec<u8> {
    match wire {
        WireFormat::Protobuf => {
            let list = k8s_pb::api::core::v1::PodList {
                metadata: Some(ListMeta {
                    resource_version: Some(version.to_string()),
                    r#continue: Some(onward.to_owned()),
                    ..ListMeta::default()
                }),
                items: pods.map(|number| pod_message(number, number + 1)).collect(),
            };
            envelope("PodList", list.encode_to_vec())
        }
        WireFormat::Json => {
            let items: Vec<_> = pods.map(|number| pod_json(number, number + 1)).collect();
            let metadata = json!({"resourceVersion": version.to_string(), "continue": onward});
            json!({"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": items})
                .to_string()
                .into()
        }
    }
}

/// One page of pods.
pub(crate) fn page(wire: WireFormat, pods: std::ops::Range<u64>, version: u64, onward: &str) -> WatchReply {
    WatchReply::new(200, wire.body_type()).bytes(page_body(wire, pods, version, onward))
}
