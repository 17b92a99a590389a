//! Defines which control plane a test wants, and which account the test uses.

use std::time::Duration;

/// A server on a busy machine responds well within this.
pub(crate) const STARTUP_TIMEOUT: Duration = Duration::from_secs(90);

/// The kind of cluster.
#[derive(Clone, Debug)]
pub struct ClusterConfig {
    /// How many API servers share the one etcd.
    pub servers: usize,
    /// Whether requests are recorded.
    pub audit: Audit,
    /// Feature gates of the API servers, such as `A=true,B=false`.
    pub feature_gates: String,
    /// Whether tolerations may compare numbers (`Lt`, `Gt`), if the version supports these operators (since 1.35).
    pub comparison_operators: bool,
    /// The admission plugins of each API server; servers beyond the list have the default ones.
    pub admission: Vec<AdmissionConfig>,
    /// Whether etcd waits for its disk.
    pub disk: DiskSync,
    /// Whether the API servers allow every request. Otherwise, a server that has just started answers 403 until it has read the
    /// roles.
    pub always_allow: bool,
    /// By how many percent the heap of an API server grows before Go collects garbage (`GOGC`). More than Go's 100 leaves
    /// processor time to a test that measures time on the machine that runs everything else.
    pub gogc: u32,
}

/// Plugins of an API server, besides the default ones.
#[derive(Clone, Debug, Default)]
pub struct AdmissionConfig {
    /// Enabled plugins, such as `ExtendedResourceToleration`.
    pub on: Vec<&'static str>,
    /// Disabled plugins, besides ServiceAccount and TaintNodesByCondition (`servers.rs`).
    pub off: Vec<&'static str>,
    /// An `AdmissionConfiguration`, YAML or JSON; empty for none.
    pub configuration: String,
}

impl Default for ClusterConfig {
    fn default() -> Self {
        Self {
            servers: 1,
            audit: Audit::Full,
            feature_gates: String::new(),
            comparison_operators: false,
            admission: Vec::new(),
            disk: DiskSync::Unsynced,
            always_allow: false,
            gogc: 100,
        }
    }
}

/// Whether the API servers keep an audit log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audit {
    /// Every request; writes with bodies.
    Full,
    /// Nothing: for benchmarks.
    Off,
}

/// What etcd does before it confirms a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskSync {
    /// Nothing: tests need no durability.
    Unsynced,
    /// It syncs the disk, as every durable etcd does: for benchmarks of writes.
    Synced,
}

/// The account of requests to the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Account {
    /// May do everything (group `system:masters`).
    Admin,
    /// The account of deploy/rbac.yaml; may do exactly what that file grants.
    Taintward,
    /// An account for kube-controller-manager without any permissions of its own, so that roles decide about its requests.
    ControllerManager,
}

impl Account {
    /// The user name the API server sees.
    pub fn user(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Taintward => "system:serviceaccount:kube-system:taintward",
            Self::ControllerManager => "controller-manager",
        }
    }

    pub(crate) fn group(self) -> &'static str {
        match self {
            Self::Admin => "system:masters",
            Self::Taintward => "system:serviceaccounts",
            Self::ControllerManager => "controller-managers",
        }
    }

    pub(crate) fn file(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Taintward => "taintward",
            Self::ControllerManager => "controller-manager",
        }
    }
}
