//! Defines which control plane a test wants, and as which account it talks to it.

use std::time::Duration;

/// A server on a busy machine has answered well within this.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

/// What kind of cluster is wanted.
#[derive(Clone, Debug)]
pub struct ClusterConfig {
    /// API servers on the one etcd.
    pub servers: usize,
    /// Whether requests are recorded.
    pub audit: Audit,
    /// Feature gates of the API servers, as in `A=true,B=false`.
    pub feature_gates: String,
    /// Whether tolerations may compare numbers (`Lt`, `Gt`), where the version knows these operators: since 1.35.
    pub comparison_operators: bool,
    /// What each of the API servers does to objects by itself; one that is not named here, what it does by default.
    pub admission: Vec<AdmissionConfig>,
    /// Whether etcd waits for its disk.
    pub disk: DiskSync,
}

/// Plugins of an API server, besides those that are on by default.
#[derive(Clone, Debug, Default)]
pub struct AdmissionConfig {
    /// Switched on, as in `ExtendedResourceToleration`.
    pub on: Vec<&'static str>,
    /// Switched off, besides ServiceAccount and TaintNodesByCondition (`servers.rs`).
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

/// What etcd does before it says that something is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskSync {
    /// Nothing: what tests write does not outlive them.
    Unsynced,
    /// It waits until the disk has it, as every etcd that is meant to last: for benchmarks of writes.
    Synced,
}

/// Who talks to the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Account {
    /// May do everything (group `system:masters`).
    Admin,
    /// The account deploy/rbac.yaml describes; may do exactly what that file grants.
    Taintward,
}

impl Account {
    /// The user name the API server sees.
    pub fn user(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Taintward => "system:serviceaccount:kube-system:taintward",
        }
    }

    pub(crate) fn group(self) -> &'static str {
        match self {
            Self::Admin => "system:masters",
            Self::Taintward => "system:serviceaccounts",
        }
    }

    pub(crate) fn file(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Taintward => "taintward",
        }
    }
}
