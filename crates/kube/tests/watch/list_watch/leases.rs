//! Tests the watch of the nodes' leases.

use super::fake::{WatchHarness, WatchReply, WatchRequest};
use super::objects::{WireFormat, envelope, frame, line, rejection, stream};
use k8s_pb::api::coordination::v1::{Lease, LeaseSpec};
use k8s_pb::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use prost::Message;
use serde_json::{Value, json};
use taintward_core::identity::{NodeName, ResourceVersion};
use taintward_core::node_lifecycle::LeaseFact;
use taintward_core::object_event::ObjectEvent;
use taintward_core::time::Wall;
use taintward_kube::watch::MissingAccess;

const PATH: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases?";

fn lease(name: &str, version: u64) -> LeaseFact {
    LeaseFact {
        node: NodeName::new(name),
        version: Some(ResourceVersion(version)),
        renewed: Some(Wall::from_secs(1_795_255_200)),
    }
}

fn lease_json(name: &str, version: u64) -> Value {
    json!({
        "kind": "Lease", "apiVersion": "coordination.k8s.io/v1",
        "metadata": {"name": name, "namespace": "kube-node-lease", "uid": name, "resourceVersion": version.to_string()},
        "spec": {"renewTime": "2026-11-21T10:00:00.000000Z"},
    })
}

fn event(wire: WireFormat, kind: &str, name: &str, version: u64) -> Vec<u8> {
    if wire == WireFormat::Json {
        return line(kind, &lease_json(name, version));
    }
    let metadata = ObjectMeta {
        name: Some(name.to_owned()),
        namespace: Some("kube-node-lease".to_owned()),
        uid: Some(name.to_owned()),
        resource_version: Some(version.to_string()),
        ..ObjectMeta::default()
    };
    let renew_time = Some(MicroTime { seconds: Some(1_795_255_200), nanos: None });
    let spec = LeaseSpec { renew_time, ..LeaseSpec::default() };
    let lease = Lease { metadata: Some(metadata), spec: Some(spec) };
    frame(kind, envelope("Lease", lease.encode_to_vec()))
}

fn ended(wire: WireFormat) -> Vec<u8> {
    let annotation = ("k8s.io/initial-events-end", "true");
    if wire == WireFormat::Json {
        let metadata = json!({"resourceVersion": "7", "annotations": {annotation.0: annotation.1}});
        return line("BOOKMARK", &json!({"kind": "Lease", "metadata": metadata}));
    }
    let metadata = ObjectMeta {
        resource_version: Some("7".to_owned()),
        annotations: [(annotation.0.to_owned(), annotation.1.to_owned())].into(),
        ..ObjectMeta::default()
    };
    let lease = Lease { metadata: Some(metadata), spec: None };
    frame("BOOKMARK", envelope("Lease", lease.encode_to_vec()))
}

fn requests_leases(requested: &WatchRequest) {
    assert!(requested.path.starts_with(PATH), "{}", requested.path);
    assert_eq!(requested.parameter("fieldSelector"), None, "all leases of the namespace");
}

#[tokio::test(start_paused = true)]
async fn leases_are_listed_and_watched_in_their_namespace() {
    for wire in super::objects::BOTH {
        let mut rig = WatchHarness::<LeaseFact>::start(move |_, nth| match nth {
            0 => stream(wire)
                .bytes(event(wire, "ADDED", "n1", 5))
                .bytes(ended(wire))
                .bytes(event(wire, "MODIFIED", "n1", 8))
                .bytes(event(wire, "DELETED", "n1", 9))
                .hang(),
            _ => stream(wire).hang(),
        });
        let received = rig.until_quiet().await;
        let seen = |version, listed| ObjectEvent::Applied { fact: lease("n1", version), listed };
        assert_eq!(received[0], ObjectEvent::ListStarted { silent_since: None });
        assert_eq!(received[1..4], [seen(5, true), ObjectEvent::ListCompleted, seen(8, false)]);
        let ObjectEvent::Deleted(object) = &received[4] else { panic!("{received:?}") };
        assert_eq!(&*object.name, "n1");
        let requested = rig.requested();
        assert!(requested[0].is_watch_list());
        requests_leases(&requested[0]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_paged_list_of_leases_is_a_lease_list() {
    let mut rig = WatchHarness::<LeaseFact>::start(|requested, _| {
        if requested.is_watch_list() {
            return rejection(WireFormat::Json, 400, "BadRequest", None);
        }
        if requested.is_watch() {
            return stream(WireFormat::Json).hang();
        }
        let items = [lease_json("n1", 5), lease_json("n2", 6)];
        let list = json!({"kind": "LeaseList", "metadata": {"resourceVersion": "7"}, "items": items});
        WatchReply::new(200, "application/json").bytes(list.to_string())
    });
    let received = rig.until_quiet().await;
    for (name, version) in [("n1", 5), ("n2", 6)] {
        assert!(
            received.contains(&ObjectEvent::Applied { fact: lease(name, version), listed: true }),
            "{received:?}"
        );
    }
    assert!(received.contains(&ObjectEvent::ListCompleted));
    rig.requested().iter().for_each(requests_leases);
    assert_eq!(rig.requested()[2].parameter("resourceVersion"), Some("7"));
}

#[tokio::test(start_paused = true)]
async fn a_missing_permission_for_leases_names_their_group() {
    let mut rig =
        WatchHarness::<LeaseFact>::start(|_, _| rejection(WireFormat::Json, 403, "Forbidden", None));
    rig.until_quiet().await;
    let missing = MissingAccess { verb: "watch", group: "coordination.k8s.io", resource: "leases" };
    assert_eq!(rig.health().missing, Some(missing));
    let last_error = rig.health().last_error.unwrap();
    assert!(
        last_error.contains(r#"apiGroups: ["coordination.k8s.io"], resources: ["leases"]"#),
        "{last_error}"
    );
}
