//! Builds the JSON of nodes, leases and conditions as a kubelet writes it.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use testkit::{ObjectExt as _, node};

/// The path of the nodes' leases.
pub(super) const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

/// The conditions of a healthy node.
pub(super) const HEALTHY: [(&str, &str); 4] =
    [("Ready", "True"), ("MemoryPressure", "False"), ("DiskPressure", "False"), ("PIDPressure", "False")];

pub(super) fn lease_path(node: &str) -> String {
    format!("{LEASES}/{node}")
}

/// The body of a renewal, from a clock that is wrong by `skew` seconds.
pub(super) fn renewal(skew: i64) -> String {
    format!(r#"{{"spec":{{"renewTime":"{}"}}}}"#, micros(skew))
}

fn micros(skew: i64) -> String {
    format!("{:.6}", Timestamp::now() + SignedDuration::from_secs(skew))
}

pub(super) fn lease(node: &str, uid: &str, skew: i64) -> Value {
    let owner = json!({"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid});
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": node, "namespace": "kube-node-lease", "ownerReferences": [owner]},
        "spec": {"holderIdentity": node, "leaseDurationSeconds": 40, "renewTime": micros(skew)},
    })
}

/// Conditions with a kubelet's times.
pub(super) fn conditions(all: &[(&str, &str)]) -> Vec<Value> {
    let now = format!("{:.0}", Timestamp::now());
    let condition = |(kind, status): &(&str, &str)| {
        json!({
            "type": kind, "status": status, "lastHeartbeatTime": now, "lastTransitionTime": now,
            "reason": format!("Kubelet{kind}{status}"), "message": "as the settings of the heartbeat generator demand",
        })
    };
    all.iter().map(condition).collect()
}

/// A node that has just registered, Ready.
pub(super) fn registered_node(name: &str, zone: &str, images: usize) -> Value {
    let image = |number: usize| {
        json!({
            "names": [
                format!("registry.invalid/shop/service-{number}@sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"),
                format!("registry.invalid/shop/service-{number}:v1.{number}.0"),
            ],
            "sizeBytes": 100_000_000 + number,
        })
    };
    let capacity = json!({
        "cpu": "16", "memory": "65536Mi", "pods": "110", "ephemeral-storage": "102687672Ki", "hugepages-2Mi": "0",
    });
    let labels = json!({
        "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64",
        "topology.kubernetes.io/zone": zone, "node.kubernetes.io/instance-type": "m7",
    });
    let status = json!({
        "capacity": capacity, "allocatable": capacity,
        "conditions": conditions(&HEALTHY),
        "addresses": [{"type": "Hostname", "address": name}],
        "nodeInfo": {
            "machineID": name, "systemUUID": name, "bootID": name, "kernelVersion": "6.12", "osImage": "Linux",
            "containerRuntimeVersion": "containerd://2.2.0", "kubeletVersion": "v1.36.3",
            "kubeProxyVersion": "", "operatingSystem": "linux", "architecture": "amd64",
        },
        "images": (0..images).map(image).collect::<Vec<_>>(),
    });
    node(name)
        .with("metadata.labels", labels)
        .with(
            "metadata.annotations",
            json!({"volumes.kubernetes.io/controller-managed-attach-detach": "true"}),
        )
        .with("spec.providerID", format!("invalid:///{zone}/{name}"))
        .with("status", status)
}
