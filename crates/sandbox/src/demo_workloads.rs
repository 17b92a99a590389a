//! Creates sample workloads with different tolerations.

use crate::world::World;
use serde_json::{Value, json};

/// The namespace of the workloads.
pub const NAMESPACE: &str = "shop";

/// How long cart tolerates the maintenance taint.
pub const CART_SECONDS: u64 = 10;

/// Creates the workloads.
pub fn furnish(world: &World) {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
    world.create("", "namespaces", "", namespace);
    let key = "maintenance";
    let for_seconds = |seconds: u64| json!([{"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}]);
    let web = workload("Deployment", "web", Some(6), json!([]));
    let cart = workload("Deployment", "cart", Some(3), for_seconds(CART_SECONDS));
    let search = workload("Deployment", "search", Some(3), for_seconds(90));
    let agent = workload("DaemonSet", "agent", None, json!([{"operator": "Exists"}]));
    for deployment in [web, cart, search] {
        world.create("apps", "deployments", NAMESPACE, deployment);
    }
    world.create("apps", "daemonsets", NAMESPACE, agent);
    world.create(
        "policy",
        "poddisruptionbudgets",
        NAMESPACE,
        json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"},
            "spec": {"minAvailable": 4, "selector": {"matchLabels": {"app": "web"}}},
        }),
    );
}

fn workload(kind: &str, name: &str, replicas: Option<u32>, tolerations: Value) -> Value {
    let mut workload = json!({
        "apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {
                    "tolerations": tolerations,
                    "containers": [{
                        "name": "main", "image": format!("registry.example/{name}:1"),
                        "resources": {"requests": {"cpu": "200m", "memory": "256Mi"}},
                    }],
                },
            },
        },
    });
    if let Some(replicas) = replicas {
        workload["spec"]["replicas"] = json!(replicas);
    }
    workload
}
