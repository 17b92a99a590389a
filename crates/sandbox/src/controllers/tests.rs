//! Tests the controllers in virtual time.

mod jobs;

use super::Component;
use crate::snapshot::load;
use crate::world::{World, WorldSettings};
use fakekube::api::{DeleteOptions, ResourcePath, WriteOptions};
use fakekube::resource::known;
use fakekube::store::ListRange;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::time::Duration;
use testkit::{ObjectExt as _, pod};

fn alive(nodes: usize) -> World {
    let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let world = World::new(&WorldSettings {
        nodes,
        start,
        roles: Component::ALL.to_vec(),
        ..WorldSettings::default()
    });
    tokio::spawn(world.life().run());
    world
}

async fn sleep(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

fn all(world: &World, group: &str, plural: &str) -> Vec<Value> {
    let range = ListRange { namespace: None, after: None };
    let listed = world.server().store().list(known(group, plural), range, None).unwrap();
    listed.objects.into_iter().map(|(_, object)| object.value()).collect()
}

fn named(mut objects: Vec<Value>) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut names: Vec<_> = objects
        .drain(..)
        .map(|one| (text(&one["metadata"]["name"]), text(&one["metadata"]["uid"])))
        .collect();
    names.sort();
    names
}

fn owned_by(kind: &str, name: &str, uid: &str) -> Value {
    json!([{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid, "controller": true}])
}

fn ready_pod(name: &str, labels: &Value, owner: &Value) -> Value {
    let pod = pod(name).namespace("shop").uid(&format!("uid-{name}")).on("n1");
    pod.tolerates([json!({"operator": "Exists"})])
        .with("metadata.labels", labels.clone())
        .with("metadata.ownerReferences", owner.clone())
        .with("status.phase", "Running")
        .with("status.conditions", json!([{"type": "Ready", "status": "True"}]))
}

/// Workloads from another cluster, whose controllers hash templates differently.
fn of_another_cluster() -> Vec<u8> {
    let template = |labels: &Value| json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let (web, hashed) = (json!({"app": "web"}), json!({"app": "web", "pod-template-hash": "5f8466ff75"}));
    let agent = json!({"app": "agent"});
    let agents = json!({"app": "agent", "controller-revision-hash": "7c9", "pod-template-generation": "3"});
    let items = json!([
        {
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "shop", "uid": "uid-web", "generation": 1},
            "spec": {"replicas": 1, "selector": {"matchLabels": web}, "template": template(&web)},
        },
        {
            "apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {
                "name": "web-5f8466ff75", "namespace": "shop", "uid": "uid-set", "generation": 1, "labels": hashed,
                "annotations": {"deployment.kubernetes.io/revision": "1"},
                "ownerReferences": owned_by("Deployment", "web", "uid-web"),
            },
            "spec": {"replicas": 1, "selector": {"matchLabels": hashed}, "template": template(&hashed)},
        },
        ready_pod("web-5f8466ff75-abcde", &hashed, &owned_by("ReplicaSet", "web-5f8466ff75", "uid-set")),
        {
            "apiVersion": "apps/v1", "kind": "DaemonSet",
            "metadata": {
                "name": "agent", "namespace": "shop", "uid": "uid-agent", "generation": 3,
                "annotations": {"deprecated.daemonset.template.generation": "3"},
            },
            "spec": {"selector": {"matchLabels": agent}, "template": template(&agent), "updateStrategy": {"type": "RollingUpdate"}},
        },
        ready_pod("agent-x", &agents, &owned_by("DaemonSet", "agent", "uid-agent")),
    ]);
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string().into_bytes()
}

/// Loading a cluster starts no rollout; changing a template does.
#[tokio::test(start_paused = true)]
async fn workloads_of_another_cluster_are_left_as_they_are() {
    let world = alive(1);
    sleep(5).await;
    load(world.server(), &of_another_cluster()).unwrap();
    let before = named(all(&world, "", "pods"));
    assert_eq!(before.len(), 2);
    sleep(300).await;
    assert_eq!(named(all(&world, "", "pods")), before);
    assert_eq!(named(all(&world, "apps", "replicasets")).len(), 1);

    for plural in ["deployments", "daemonsets"] {
        let name = if plural == "deployments" { "web" } else { "agent" };
        let on = ResourcePath::object(known("apps", plural), "shop", name);
        let changed = world.server().change(&on, "test", |object| {
            object["spec"]["template"]["spec"]["containers"][0]["image"] = json!("newer");
        });
        changed.unwrap();
    }
    sleep(120).await;
    let after = named(all(&world, "", "pods"));
    assert_eq!(after.len(), 2, "{after:?}");
    assert!(after.iter().all(|pod| !before.contains(pod)), "{after:?}");
}

/// Pods of a deleted node exist for 40 s, as upstream leaves them, and no longer.
#[tokio::test(start_paused = true)]
async fn pods_of_a_node_that_is_gone_are_collected() {
    let world = alive(2);
    sleep(5).await;
    load(world.server(), &of_another_cluster()).unwrap();
    sleep(5).await;
    let web = |world: &World| named(all(world, "", "pods")).into_iter().any(|(_, uid)| uid.contains("abcde"));
    world
        .server()
        .delete(
            &ResourcePath::object(known("", "nodes"), "", "n1"),
            &DeleteOptions::default(),
            &WriteOptions::by("test"),
        )
        .unwrap();
    sleep(39).await;
    assert!(web(&world));
    sleep(2).await;
    assert!(!web(&world));
    sleep(10).await;
    let pods = all(&world, "", "pods");
    assert!(!pods.is_empty() && pods.iter().all(|pod| pod["spec"]["nodeName"] == "n2"), "{pods:?}");
}

/// What clients expect in every cluster; conformance tests wait for it.
#[tokio::test(start_paused = true)]
async fn a_namespace_has_its_account_and_its_ca_and_the_cluster_its_service() {
    let world = alive(1);
    world.create(
        "",
        "namespaces",
        "",
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new"}}),
    );
    sleep(1).await;
    let there = |plural: &str, namespace: &str, name: &str| {
        all(&world, "", plural)
            .iter()
            .any(|one| one["metadata"]["namespace"] == namespace && one["metadata"]["name"] == name)
    };
    for namespace in ["new", "default", "kube-system"] {
        assert!(there("serviceaccounts", namespace, "default"), "{namespace}");
        assert!(there("configmaps", namespace, "kube-root-ca.crt"), "{namespace}");
    }
    assert!(there("services", "default", "kubernetes"));
}

/// Cluster-scoped kinds can be created without a namespace; namespaced kinds need one.
#[test]
fn every_kind_can_be_made_where_it_belongs() {
    let world = World::new(&WorldSettings { nodes: 0, roles: Vec::new(), ..WorldSettings::default() });
    for resource in fakekube::resource::ResourceType::all().filter(|resource| resource.kept) {
        let namespace = if resource.namespaced { "default" } else { "" };
        let object = json!({
            "apiVersion": resource.api_version(), "kind": resource.kind, "metadata": {"name": "x", "namespace": namespace},
        });
        let on = ResourcePath::object(known(resource.group, resource.plural), namespace, "");
        if let Err(failure) = world.server().create(&on, object, &WriteOptions::by("test")) {
            assert!(
                !failure.message.contains("metadata.namespace"),
                "{}: {}",
                resource.plural,
                failure.message
            );
        }
    }
}

/// An almost empty node does not get all pods of an owner: the scheduler's default constraints spread them.
#[tokio::test(start_paused = true)]
async fn pods_of_one_owner_are_spread() {
    let world = alive(2);
    sleep(5).await;
    let fat = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "fat"},
        "spec": {"nodeName": "n2", "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "4"}}}]},
    });
    world.create("", "pods", "default", fat);
    let labels = json!({"app": "web"});
    let set = |name: &str, constraints: Value| {
        json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": name},
            "spec": {"replicas": 4, "selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "c", "image": "i"}], "topologySpreadConstraints": constraints},
            }},
        })
    };
    let on_n2 = |world: &World| {
        let here = |pod: &&Value| pod["spec"]["nodeName"] == "n2" && pod["metadata"]["labels"] == labels;
        all(world, "", "pods").iter().filter(here).count()
    };
    world.create("apps", "replicasets", "default", set("web", Value::Null));
    sleep(10).await;
    assert_eq!((on_n2(&world), all(&world, "", "pods").len()), (2, 5));
    // A pod's own constraints replace the default ones, and are not supported here.
    let own = json!([{"maxSkew": 1, "topologyKey": "none", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}]);
    let on = ResourcePath::object(known("apps", "replicasets"), "default", "web");
    world.server().delete(&on, &DeleteOptions::default(), &WriteOptions::by("test")).unwrap();
    sleep(10).await;
    world.create("apps", "replicasets", "default", set("own", own));
    sleep(10).await;
    assert_eq!((on_n2(&world), all(&world, "", "pods").len()), (0, 5));
}
