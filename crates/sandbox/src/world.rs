//! Runs a whole cluster in memory: API server, standard objects, nodes and controllers.
//!
//! - See `serve.rs` for sockets, `demo_workloads.rs` for sample workloads.

use crate::api::{ResourcePath, SandboxApi, WriteOptions};
use crate::clock::VirtualClock;
use crate::controllers::{Component, ReconcileLoop};
use crate::defaults::AdmissionDefaults;
use crate::resource::known;
use crate::store::ObjectStore;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

/// Who writes what every cluster has from its beginning.
const NAME: &str = "sandbox";

/// What a world is like.
#[derive(Clone, Debug)]
pub struct WorldSettings {
    /// The same seed gives the same names and the same life.
    pub seed: u64,
    /// The cluster's time at the beginning.
    pub start: Timestamp,
    /// How much faster than ours its time runs.
    pub speed: f64,
    /// How many nodes there are.
    pub nodes: usize,
    /// In how many zones.
    pub zones: usize,
    /// What goes on in it.
    pub roles: Vec<Component>,
    /// How often kubelets renew their leases.
    pub renew: SignedDuration,
    /// What is done to objects on their way in.
    pub admission: AdmissionDefaults,
}

impl Default for WorldSettings {
    fn default() -> Self {
        Self {
            seed: 1,
            start: Timestamp::now(),
            speed: 1.0,
            nodes: 6,
            zones: 3,
            roles: Component::ALL.to_vec(),
            renew: SignedDuration::from_secs(10),
            admission: AdmissionDefaults::default(),
        }
    }
}

/// A cluster.
pub struct World {
    server: SandboxApi,
    roles: Vec<Component>,
    renew: SignedDuration,
}

impl World {
    /// Begins one.
    pub fn new(settings: &WorldSettings) -> Self {
        let clock = VirtualClock::starting(settings.start, settings.speed);
        let server = SandboxApi::new(ObjectStore::default(), clock, settings.seed, settings.admission);
        let world = Self { server, roles: settings.roles.clone(), renew: settings.renew };
        world.begin();
        (0..settings.nodes).for_each(|index| world.create("", "nodes", "", node(index, settings.zones)));
        world
    }

    /// Its API server.
    pub fn server(&self) -> &SandboxApi {
        &self.server
    }

    /// The life in it, to be run.
    pub fn life(&self) -> ReconcileLoop {
        ReconcileLoop::new(self.server.clone(), &self.roles, self.renew)
    }

    /// Puts an object in; one that is there already stays as it is.
    pub fn create(&self, group: &str, plural: &str, namespace: &str, object: Value) {
        let on = ResourcePath::object(known(group, plural), namespace, "");
        let _ = self.server.create(&on, object, &WriteOptions::by(NAME));
    }

    fn begin(&self) {
        for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            self.create("", "namespaces", "", namespace);
        }
        // As a pod would find the API server, and as conformance tests look for it; nothing listens there.
        self.create(
            "",
            "services",
            "default",
            json!({
                "apiVersion": "v1", "kind": "Service",
                "metadata": {"name": "kubernetes", "labels": {"component": "apiserver", "provider": "kubernetes"}},
                "spec": {
                    "type": "ClusterIP", "clusterIP": "10.96.0.1", "clusterIPs": ["10.96.0.1"],
                    "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
                },
            }),
        );
        // The API server leaves it for the controller that cleans up old tokens.
        let name = "kube-apiserver-legacy-service-account-token-tracking";
        let since = self.server.clock().now().strftime("%Y-%m-%d").to_string();
        let tracking = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"since": since},
        });
        self.create("", "configmaps", "kube-system", tracking);
        for (name, value) in
            [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)]
        {
            self.create(
                "scheduling.k8s.io",
                "priorityclasses",
                "",
                json!({
                    "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name},
                    "value": value, "preemptionPolicy": "PreemptLowerPriority",
                }),
            );
        }
    }
}

/// A node as a kubelet registers it.
pub fn node(index: usize, zones: usize) -> Value {
    let mut node = named_node(&format!("n{}", index + 1), index);
    let labels = &mut node["metadata"]["labels"];
    labels["topology.kubernetes.io/zone"] = json!(format!("z{}", index % zones.max(1) + 1));
    labels["topology.kubernetes.io/region"] = json!("sandbox");
    node
}

/// A node in no zone.
pub(crate) fn named_node(name: &str, index: usize) -> Value {
    let capacity = json!({"cpu": "8", "memory": "32Gi", "ephemeral-storage": "100Gi", "pods": "110"});
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {
            "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
        }},
        "spec": {"podCIDR": format!("10.{}.{}.0/24", 244 + index / 250 % 10, index % 250), "providerID": format!("sandbox://{name}")},
        "status": {
            "capacity": capacity, "allocatable": capacity,
            "addresses": [
                {"type": "InternalIP", "address": format!("10.0.{}.{}", index / 250, index % 250 + 1)},
                {"type": "Hostname", "address": name},
            ],
            "nodeInfo": {
                "kubeletVersion": "v1.36.3", "kubeProxyVersion": "", "osImage": "Taintward sandbox",
                "kernelVersion": "none", "containerRuntimeVersion": "sandbox://1", "operatingSystem": "linux",
                "architecture": "amd64", "machineID": "", "systemUUID": "", "bootID": "",
            },
        },
    })
}
