//! Tests a kube-rs controller against an API server in memory, through an outage of an hour in virtual time.
//!
//! The controller adds the label `example.com/tainted` to each node that has a taint, and removes it from other nodes.

use fakekube::api::{ApiServer, ApiServerSettings};
use fakekube::fault::{FaultInjector, InjectedFault};
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::Node;
use kube::api::{ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use std::error::Error;
use std::time::Duration;

const LABEL: &str = "example.com/tainted";

async fn reconcile(nodes: &Api<Node>, node: &Node) -> kube::Result<()> {
    let is_tainted =
        node.spec.as_ref().and_then(|spec| spec.taints.as_ref()).is_some_and(|all| !all.is_empty());
    if is_tainted == node.labels().contains_key(LABEL) {
        return Ok(());
    }
    let label = if is_tainted { json!("true") } else { Value::Null };
    let patch = Patch::Merge(json!({"metadata": {"labels": {LABEL: label}}}));
    nodes.patch(&node.name_any(), &PatchParams::default(), &patch).await?;
    Ok(())
}

/// Lists all nodes and follows their changes until a request or the watch ends.
async fn list_and_watch(nodes: &Api<Node>) -> kube::Result<()> {
    let list = nodes.list(&ListParams::default()).await?;
    for node in &list.items {
        reconcile(nodes, node).await?;
    }
    let version = list.metadata.resource_version.unwrap_or_default();
    let mut events = nodes.watch(&WatchParams::default(), &version).await?.boxed();
    while let Some(event) = events.try_next().await? {
        if let WatchEvent::Added(node) | WatchEvent::Modified(node) = event {
            reconcile(nodes, &node).await?;
        }
    }
    Ok(())
}

async fn run(client: Client) {
    let nodes = Api::all(client);
    loop {
        // If a request failed, the next list shows the current state.
        let _ = list_and_watch(&nodes).await;
        tokio::time::sleep(Duration::from_secs(10)).await;
    }
}

/// Waits until the node n1 has the label, or no longer has it.
async fn until_labelled(nodes: &Api<Node>, wanted: bool) -> Result<(), Box<dyn Error>> {
    let node = nodes.get("n1").await?;
    if node.labels().contains_key(LABEL) == wanted {
        return Ok(());
    }
    let version = node.resource_version().unwrap_or_default();
    let mut events = nodes.watch(&WatchParams::default(), &version).await?.boxed();
    while let Some(event) = events.try_next().await? {
        if let WatchEvent::Modified(node) = event
            && node.labels().contains_key(LABEL) == wanted
        {
            return Ok(());
        }
    }
    Err("the watch ended".into())
}

/// Time is virtual: it jumps to the next timer as soon as every task waits.
#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = ApiServer::new(ApiServerSettings::default());
    server.bootstrap();
    // Faults apply to the controller's requests, and not to those of the test.
    let faults = FaultInjector::new(1, 0);
    let controller = tokio::spawn(run(Client::new(faults.before(server.clone()), "default")));
    let nodes: Api<Node> = Api::all(Client::new(server, "default"));
    // An API server gives each new node a taint, which stays until the node reports that it is ready.
    let node = serde_json::from_value(json!({"metadata": {"name": "n1"}}))?;
    nodes.create(&PostParams::default(), &node).await?;
    until_labelled(&nodes, true).await?;
    println!("the label is there");

    // While the API server rejects all requests, nothing changes; afterwards the controller catches up.
    faults.outage(Some(InjectedFault::Unavailable));
    let no_taints = Patch::Merge(json!({"spec": {"taints": null}}));
    nodes.patch("n1", &PatchParams::default(), &no_taints).await?;
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert!(nodes.get("n1").await?.labels().contains_key(LABEL));
    println!("refused during the outage: {:?}", faults.counts());
    faults.outage(None);
    until_labelled(&nodes, false).await?;
    println!("the label is gone");
    controller.abort();
    Ok(())
}

#[test]
fn the_example_runs() {
    main().expect("the example runs to its end");
}
