//! Works on a sandbox with kube-rs.

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use k8s_openapi::api::events::v1::Event;
use kube::api::{
    Api, DeleteParams, EvictParams, ListParams, Patch, PatchParams, PostParams, Preconditions, WatchEvent,
    WatchParams,
};
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use kube::{Client, Error, ResourceExt as _};
use serde_json::json;
use std::fmt::Debug;
use std::pin::pin;
use testkit::ObjectExt as _;

fn web_pod(name: &str, node: Option<&str>) -> Pod {
    let spec = json!({"nodeName": node, "terminationGracePeriodSeconds": 0});
    let pod = testkit::pod(name).with("metadata.labels.app", "web").with_all("spec", &spec);
    serde_json::from_value(pod).unwrap()
}

#[track_caller]
fn rejected<T: Debug>(result: kube::Result<T>, code: u16, reason: &str) {
    let Err(Error::Api(status)) = result else { panic!("{result:?}") };
    assert_eq!((status.code, status.reason.as_str()), (code, reason), "{status:?}");
}

fn name(pod: &Pod) -> String {
    pod.name_any()
}

/// Returns when the pod of this UID is deleted.
async fn until_deleted(pods: &Api<Pod>, name: &str, uid: &str) {
    let Some(pod) = pods.get_opt(name).await.unwrap() else { return };
    let only = WatchParams::default().fields(&format!("metadata.name={name}"));
    let events = pods.watch(&only, &pod.resource_version().unwrap()).await.unwrap();
    let mut events = pin!(events);
    while let Some(event) = events.try_next().await.unwrap() {
        if matches!(&event, WatchEvent::Deleted(pod) if pod.uid().as_deref() == Some(uid)) {
            return;
        }
    }
    panic!("the watch ended");
}

pub(crate) async fn work(kubeconfig: &str) {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    let client = Client::try_from(config).unwrap();
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    create(&pods).await;
    list_in_pages(&pods).await;
    watch(&pods).await;
    patch(&client, &pods).await;
    apply(&client).await;
    scale(&client).await;
    scheduled_events(&client).await;
    evict_and_delete(&pods).await;
    evict_by_taint(&client, &pods).await;
}

async fn create(pods: &Api<Pod>) {
    for number in 0..5 {
        let node = (number < 3).then_some("n1");
        let made =
            pods.create(&PostParams::default(), &web_pod(&format!("web-{number}"), node)).await.unwrap();
        assert!(made.uid().is_some() && made.creation_timestamp().is_some(), "{made:?}");
    }
    rejected(pods.create(&PostParams::default(), &web_pod("web-0", None)).await, 409, "AlreadyExists");
    rejected(pods.create(&PostParams::default(), &web_pod("Web_0", None)).await, 422, "Invalid");
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    pods.create(&dry_run, &web_pod("never", None)).await.unwrap();
    rejected(pods.get("never").await, 404, "NotFound");
    assert!(pods.get_opt("never").await.unwrap().is_none());
}

async fn list_in_pages(pods: &Api<Pod>) {
    let (mut names, mut pages) = (Vec::new(), 0);
    let mut params = ListParams::default().limit(2);
    loop {
        let page = pods.list(&params).await.unwrap();
        assert!(page.items.len() <= 2);
        names.extend(page.iter().map(name));
        pages += 1;
        match page.metadata.continue_.as_deref() {
            Some(token) if !token.is_empty() => params = params.continue_token(token),
            _ => break,
        }
    }
    assert_eq!((names.join(" ").as_str(), pages), ("web-0 web-1 web-2 web-3 web-4", 3));
    let metadata = pods.list_metadata(&ListParams::default().labels("app=web").match_any()).await.unwrap();
    assert_eq!((metadata.items.len(), metadata.types.kind.as_str()), (5, "PartialObjectMetadataList"));
}

/// The list comes as a stream that ends with a bookmark; changes follow it.
async fn watch(pods: &Api<Pod>) {
    let params = WatchParams::default().labels("app=web").initial_events();
    let mut events = pods.watch(&params, "0").await.unwrap().boxed();
    let mut listed = Vec::new();
    loop {
        match events.try_next().await.unwrap().expect("the watch ended") {
            WatchEvent::Added(pod) => listed.push(name(&pod)),
            WatchEvent::Bookmark(mark) => {
                assert_eq!(mark.metadata.annotations["k8s.io/initial-events-end"], "true");
                break;
            }
            other => assert!(matches!(other, WatchEvent::Modified(_)), "{other:?}"),
        }
    }
    assert_eq!(listed.len(), 5, "{listed:?}");
    let made = pods.create(&PostParams::default(), &web_pod("watched", None)).await.unwrap();
    let tier = Patch::Merge(json!({"metadata": {"labels": {"tier": "front"}}}));
    pods.patch("watched", &PatchParams::default(), &tier).await.unwrap();
    pods.delete("watched", &DeleteParams::default()).await.unwrap();
    let mut seen = Vec::new();
    while let Some(event) = events.try_next().await.unwrap() {
        let (change, pod) = match event {
            WatchEvent::Added(pod) => ("added", pod),
            WatchEvent::Modified(pod) if pod.labels().contains_key("tier") => ("modified", pod),
            WatchEvent::Deleted(pod) => ("deleted", pod),
            _ => continue,
        };
        assert_eq!(pod.uid(), made.uid());
        seen.push(change);
        if change == "deleted" {
            break;
        }
    }
    seen.dedup();
    assert_eq!(seen, ["added", "modified", "deleted"]);
}

async fn patch(client: &Client, pods: &Api<Pod>) {
    let params = PatchParams::default();
    let merge = Patch::Merge(json!({"metadata": {"labels": {"tier": "front", "app": null}}}));
    let merged = pods.patch("web-4", &params, &merge).await.unwrap();
    assert_eq!(merged.labels().iter().collect::<Vec<_>>(), [(&"tier".to_owned(), &"front".to_owned())]);
    let containers = json!([{"name": "main", "image": "registry.example/app:2"}]);
    let strategic = Patch::Strategic(json!({"spec": {"containers": containers}}));
    let patched = pods.patch("web-4", &params, &strategic).await.unwrap();
    let container = &patched.spec.unwrap().containers[0];
    assert_eq!(container.image.as_deref(), Some("registry.example/app:2"));
    assert_eq!(container.termination_message_path.as_deref(), Some("/dev/termination-log"), "it is replaced");

    // `Patch::Json` is a feature of kube-rs that this repository does not build.
    let json_patch = |value: &str| {
        let steps = json!([
            {"op": "test", "path": "/metadata/labels/tier", "value": value},
            {"op": "add", "path": "/metadata/labels/app", "value": "web"},
        ]);
        http::Request::patch("/api/v1/namespaces/default/pods/web-4")
            .header("content-type", "application/json-patch+json")
            .body(steps.to_string().into_bytes())
            .unwrap()
    };
    let patched: Pod = client.request(json_patch("front")).await.unwrap();
    assert_eq!(patched.labels()["app"], "web");
    rejected(client.request::<Pod>(json_patch("back")).await, 422, "Invalid");

    let moved = Patch::Merge(json!({"spec": {"nodeName": "n2"}}));
    rejected(pods.patch("web-0", &params, &moved).await, 422, "Invalid");
    rejected(pods.patch("never", &params, &merge).await, 404, "NotFound");
    let mut late = pods.get("web-4").await.unwrap();
    pods.patch("web-4", &params, &Patch::Merge(json!({"metadata": {"labels": {"tier": "back"}}})))
        .await
        .unwrap();
    late.labels_mut().insert("tier".into(), "late".into());
    rejected(pods.replace("web-4", &PostParams::default(), &late).await, 409, "Conflict");
}

/// Server-side apply: a field has an owner, and another manager must take it by force.
async fn apply(client: &Client) {
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let settings = |color: &str| {
        let data = json!({"color": color});
        Patch::Apply(
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": data}),
        )
    };
    let first = maps.patch("settings", &PatchParams::apply("one"), &settings("red")).await.unwrap();
    let again = maps.patch("settings", &PatchParams::apply("one"), &settings("red")).await.unwrap();
    assert_eq!(again.resource_version(), first.resource_version(), "nothing has changed");
    rejected(maps.patch("settings", &PatchParams::apply("two"), &settings("blue")).await, 409, "Conflict");
    let forced = maps.patch("settings", &PatchParams::apply("two").force(), &settings("blue")).await.unwrap();
    assert_eq!(forced.data.as_ref().unwrap()["color"], "blue");
    let managers = forced.managed_fields().iter().map(|entry| entry.manager.as_deref().unwrap());
    assert_eq!(managers.collect::<Vec<_>>(), ["two"]);
}

async fn scale(client: &Client) {
    let deployments: Api<Deployment> = Api::default_namespaced(client.clone());
    let labels = json!({"app": "shop"});
    let containers = json!([{"name": "main", "image": "registry.example/shop:1"}]);
    let template = json!({"metadata": {"labels": labels}, "spec": {"containers": containers}});
    let spec = json!({"replicas": 0, "selector": {"matchLabels": labels}, "template": template});
    let shop =
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "shop"}, "spec": spec});
    deployments.patch("shop", &PatchParams::apply("one"), &Patch::Apply(shop)).await.unwrap();
    let one = Patch::Merge(json!({"spec": {"replicas": 1}}));
    let scale = deployments.patch_scale("shop", &PatchParams::default(), &one).await.unwrap();
    assert_eq!(scale.spec.unwrap().replicas, Some(1));
    assert_eq!(deployments.get_scale("shop").await.unwrap().spec.unwrap().replicas, Some(1));
    deployments.restart("shop").await.unwrap();
    deployments.delete("shop", &DeleteParams::foreground()).await.unwrap();
}

async fn scheduled_events(client: &Client) {
    let events: Api<Event> = Api::default_namespaced(client.clone());
    let params = WatchParams::default().fields("regarding.kind=Pod,regarding.name=web-3,reason=Scheduled");
    let mut changes = events.watch(&params.initial_events(), "0").await.unwrap().boxed();
    let first = loop {
        if let WatchEvent::Added(event) = changes.try_next().await.unwrap().expect("the watch ended") {
            break event;
        }
    };
    let about = first.regarding.unwrap();
    assert_eq!((about.name.as_deref(), first.reason.as_deref()), (Some("web-3"), Some("Scheduled")));
    assert!(first.event_time.is_some());
    rejected(
        events.list(&ListParams::default().fields("involvedObject.name=web-3")).await,
        400,
        "BadRequest",
    );
}

async fn evict_and_delete(pods: &Api<Pod>) {
    let uid = pods.get("web-3").await.unwrap().uid().unwrap();
    pods.evict("web-3", &EvictParams::default()).await.unwrap();
    until_deleted(pods, "web-3", &uid).await;
    rejected(pods.evict("web-3", &EvictParams::default()).await, 404, "NotFound");

    let uid = pods.get("web-4").await.unwrap().uid().unwrap();
    let of = |uid: &str| {
        let only = Preconditions { uid: Some(uid.to_owned()), ..Preconditions::default() };
        DeleteParams::default().grace_period(0).preconditions(only)
    };
    rejected(pods.delete("web-4", &of("another")).await, 409, "Conflict");
    pods.delete("web-4", &of(&uid)).await.unwrap();
    until_deleted(pods, "web-4", &uid).await;
    rejected(pods.delete("web-4", &of(&uid)).await, 404, "NotFound");
}

/// A taint evicts the pods of its node.
async fn evict_by_taint(client: &Client, pods: &Api<Pod>) {
    let nodes: Api<Node> = Api::all(client.clone());
    nodes.cordon("n2").await.unwrap();
    let open = nodes.uncordon("n2").await.unwrap();
    assert_ne!(open.spec.unwrap().unschedulable, Some(true));
    let left = pods.list(&ListParams::default().fields("spec.nodeName=n1").labels("app=web")).await.unwrap();
    assert_eq!(left.items.len(), 3);
    let taints = json!([{"key": "maintenance", "value": "now", "effect": "NoExecute"}]);
    let patch = Patch::Strategic(json!({"spec": {"taints": taints}}));
    let node = nodes.patch("n1", &PatchParams::default(), &patch).await.unwrap();
    assert_eq!(node.spec.unwrap().taints.unwrap()[0].key, "maintenance");
    for pod in left {
        until_deleted(pods, &name(&pod), &pod.uid().unwrap()).await;
    }
}
