//! Runs a whole cluster in memory: API server with Taintward's kinds and rules, nodes and controllers.
//!
//! - See `demo_workloads.rs` for sample workloads.

use crate::controllers::{Component, ReconcileLoop};
use crate::custom_resources;
use crate::webhook_plugin::{PolicyRejection, WebhookPlugin};
use fakekube::api::{AdmissionPlugin, ApiServer, ApiServerSettings, ResourcePath, WriteOptions};
use fakekube::clock::VirtualClock;
use fakekube::defaults::AdmissionDefaults;
use fakekube::resource::known;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::sync::Arc;

/// The suffix of a sandbox's `gitVersion`, by which it is identified.
pub const VERSION_SUFFIX: &str = "+taintward-sandbox";

/// The field manager of a world's initial objects.
const NAME: &str = "sandbox";

/// Settings of a world.
#[derive(Clone, Debug)]
pub struct WorldSettings {
    /// The same seed gives the same names and the same run.
    pub seed: u64,
    /// The cluster's start time.
    pub start: Timestamp,
    /// The speed of its time, relative to real time.
    pub speed: f64,
    /// How many nodes there are.
    pub nodes: usize,
    /// The number of zones.
    pub zones: usize,
    /// The components that run in it.
    pub roles: Vec<Component>,
    /// How often kubelets renew their leases.
    pub renew: SignedDuration,
    /// Which admission defaults are applied to new objects.
    pub admission: AdmissionDefaults,
    /// Enables Taintward's webhook: all its rules about pods and nodes.
    pub webhook: bool,
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
            // A cluster has no webhook until one is installed.
            webhook: false,
        }
    }
}

/// A cluster.
pub struct World {
    server: ApiServer,
    roles: Vec<Component>,
    renew: SignedDuration,
}

impl World {
    /// Creates a cluster.
    pub fn new(settings: &WorldSettings) -> Self {
        // Started first: the rest takes time, by which the cluster's clock would lag.
        let clock = VirtualClock::starting(settings.start, settings.speed);
        custom_resources::register();
        let mut plugins: Vec<Arc<dyn AdmissionPlugin>> = vec![Arc::new(PolicyRejection)];
        if settings.webhook {
            plugins.push(Arc::new(WebhookPlugin::default()));
        }
        let server = ApiServer::new(ApiServerSettings {
            seed: settings.seed,
            clock,
            admission: settings.admission,
            plugins,
            version_suffix: VERSION_SUFFIX,
            ..ApiServerSettings::default()
        });
        server.bootstrap();
        let world = Self { server, roles: settings.roles.clone(), renew: settings.renew };
        (0..settings.nodes).for_each(|index| world.create("", "nodes", "", node(index, settings.zones)));
        world
    }

    /// Its API server.
    pub fn server(&self) -> &ApiServer {
        &self.server
    }

    /// Its components, to be run.
    pub fn life(&self) -> ReconcileLoop {
        ReconcileLoop::new(self.server.clone(), &self.roles, self.renew)
    }

    /// Creates an object; an existing one stays as it is.
    pub fn create(&self, group: &str, plural: &str, namespace: &str, object: Value) {
        let on = ResourcePath::object(known(group, plural), namespace, "");
        let _ = self.server.create(&on, object, &WriteOptions::by(NAME));
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

/// A node without a zone.
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
