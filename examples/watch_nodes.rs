//! Watches nodes, from the first list to the last change, and prints their taints.
//!
//! The API server runs in memory. `Client::try_from(Config::infer().await?)` connects to the cluster of your kubeconfig.

use fakekube::api::{ApiServer, ApiServerSettings};
use k8s_openapi::api::core::v1::Node;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use std::error::Error;
use taintward_core::fact::NodeFact;
use taintward_core::object_event::ObjectEvent;
use taintward_kube::clock::Clock;
use taintward_kube::watch::{StreamHealth, WatchSettings, Watcher};
use tokio::sync::{mpsc, watch};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = ApiServer::new(ApiServerSettings::default());
    server.bootstrap();
    let client = Client::new(server, "default");
    let nodes: Api<Node> = Api::all(client.clone());
    nodes
        .create(&PostParams::default(), &serde_json::from_value(json!({"metadata": {"name": "n1"}}))?)
        .await?;

    let (sender, mut events) = mpsc::channel(16);
    let (health, _health) = watch::channel(StreamHealth::default());
    let watcher = Watcher::<NodeFact>::new(client, Clock::system(), WatchSettings::default());
    let watcher = tokio::spawn(watcher.run(sender, health));

    let mut seen = Vec::new();
    'watch: while let Some(batch) = events.recv().await {
        for event in batch {
            match event {
                ObjectEvent::Applied { fact, listed } => {
                    let taints: Vec<String> = fact.taints.iter().map(ToString::to_string).collect();
                    println!("{} has the taints {taints:?}", fact.name.as_str());
                    if taints.contains(&"maintenance:NoExecute".to_owned()) {
                        nodes.delete("n1", &DeleteParams::default()).await?;
                    }
                    seen.push((listed, taints));
                }
                ObjectEvent::ListCompleted => {
                    let taints = json!({"spec": {"taints": [{"key": "maintenance", "effect": "NoExecute"}]}});
                    nodes.patch("n1", &PatchParams::default(), &Patch::Merge(taints)).await?;
                }
                ObjectEvent::Deleted(object) => {
                    println!("{} is gone", object.name);
                    break 'watch;
                }
                // The watcher skips an object that it cannot decode, and starts an interrupted list again.
                ObjectEvent::Undecodable(object) => eprintln!("not understood: {}", object.name),
                ObjectEvent::ListStarted { .. } | ObjectEvent::ListAborted => {}
            }
        }
    }
    watcher.abort();

    // An API server gives each new node a taint, which stays until the node reports that it is ready.
    let [new, changed] =
        ["node.kubernetes.io/not-ready:NoSchedule", "maintenance:NoExecute"].map(str::to_owned);
    assert_eq!(seen, [(true, vec![new]), (false, vec![changed])]);
    Ok(())
}

#[test]
fn the_example_runs() {
    main().expect("the example runs to its end");
}
