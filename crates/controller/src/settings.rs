//! Holds the validated settings of `taintward run`.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::time::Duration;
use taintward_core::admission::pool::PoolExemptions;
use taintward_core::node_lifecycle;
use taintward_core::node_limit::NodeLimit;
use taintward_core::toleration_seconds::{BackfillSettings, GuardSettings, HoldSettings};
use taintward_kube::config;
use taintward_record::EngineRecorder;
pub use taintward_server::settings::{
    MetricsReadersSetting, SecureServing, ServingCertificate, ServingSettings,
};

/// The settings of `run`.
#[derive(Clone, Debug, PartialEq)]
pub struct ControllerSettings {
    /// How to find the API server, and how to limit requests to it.
    pub cluster: ClusterAccess,
    /// Which controllers run; at least one.
    pub controllers: EnabledControllers,
    /// Whether decisions are carried out.
    pub mode: WriteMode,
    /// Which pods get the `DisruptionTarget` condition before they are deleted (TE-31).
    pub marking: Marking,
    /// Whether `timeAdded` is written to NoExecute taints that were observed to appear without one (D1).
    pub stamp_taints: bool,
    /// Whether `EvictionPolicy` objects govern evictions; needs the controller of taint eviction.
    pub eviction_policies: bool,
    /// Whether the toleration operators `Lt` and `Gt` compare numbers (MATCH-6).
    pub numeric_operators: bool,
    /// Lease election; `None` means that this process is the only one, or that it observes and needs no lease.
    pub election: Option<ElectionSettings>,
    /// Namespaces exempt from dedicated pools, in addition to kube-system and the one of the lease.
    pub exempt_namespaces: Vec<String>,
    /// Where metrics and health are served.
    pub serving: ServingSettings,
    /// The seed for jittered pauses and for the identity in the lease. `None` differs between processes, as it must
    /// between replicas; a reproducible simulation gives each its own.
    pub seed: Option<u64>,
    /// Where the engines' inputs, effects and notices are recorded; `None`: nowhere.
    pub recorder: Option<EngineRecorder>,
}

impl ControllerSettings {
    /// The pods exempt from dedicated pools.
    pub(crate) fn exemptions(&self) -> PoolExemptions {
        let own = self.election.as_ref().map(|election| election.namespace.as_str());
        PoolExemptions::beside(own.into_iter().chain(self.exempt_namespaces.iter().map(String::as_str)))
    }
}

/// How to disable kube-controller-manager's own controller, wherever that is recommended. Never a complete value for
/// its flag: a list that omits controllers which only run if named keeps new nodes from joining.
pub const ORIGINAL_OFF: &str = "append -taint-eviction-controller to the current --controllers of \
                                kube-controller-manager (docs/switch-off.md)";

/// Which controllers run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnabledControllers {
    /// taint-eviction-controller: evicts pods because of NoExecute taints.
    pub taint_eviction: bool,
    /// Of how many nodes taint eviction evicts pods because of one key before it brakes; `None`: of any number.
    pub brake: Option<NodeLimit>,
    /// node-lifecycle-controller: taints nodes for their conditions and their silence. With `None`, another controller
    /// does.
    pub node_lifecycle: Option<node_lifecycle::NodeLifecycleConfig>,
    /// dedicated-pool-controller: taints and labels of the nodes of `DedicatedPool`s.
    pub dedicated_pools: bool,
    /// toleration-hold-controller: where kube-controller-manager's own taint eviction stays on, holds countdowns while
    /// too many nodes are silent, or while an operator asks for it.
    pub toleration_hold: Option<HoldSettings>,
    /// toleration-backfill-controller: running pods get the toleration seconds that new ones get.
    pub toleration_backfill: Option<BackfillSettings>,
    /// toleration-guard-controller: gives pods of guarded namespaces a ceiling, and evicts them by their own seconds.
    /// Not together with `taint_eviction`.
    pub toleration_guard: Option<GuardSettings>,
}

/// Which pods taint eviction handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EvictionScope {
    /// All pods: kube-controller-manager evicts none.
    AllPods,
    /// Pods with a ceiling, for the two taints that it covers: kube-controller-manager evicts the others.
    GuardedPods,
}

impl EnabledControllers {
    /// Whether an enabled controller needs pods and nodes.
    pub(crate) fn watch_pods(&self) -> bool {
        self.eviction().is_some() || self.node_lifecycle.is_some() || self.change_seconds()
    }

    /// Whether a controller changes the seconds of pods' tolerations.
    pub(crate) fn change_seconds(&self) -> bool {
        self.toleration_hold.is_some() || self.follow_namespaces()
    }

    /// Whether the seconds of pods depend on their namespaces.
    pub(crate) fn follow_namespaces(&self) -> bool {
        self.toleration_backfill.is_some() || self.toleration_guard.is_some()
    }

    /// Which pods are evicted; `None`: none.
    pub(crate) fn eviction(&self) -> Option<EvictionScope> {
        match (self.taint_eviction, &self.toleration_guard) {
            (true, _) => Some(EvictionScope::AllPods),
            (false, Some(_)) => Some(EvictionScope::GuardedPods),
            (false, None) => None,
        }
    }

    /// Whether a controller reads a node or a pod again before it writes.
    pub(crate) fn read_live(&self) -> bool {
        self.eviction().is_some() || self.node_lifecycle.is_some() || self.dedicated_pools
    }
}

impl Default for EnabledControllers {
    fn default() -> Self {
        Self {
            taint_eviction: true,
            brake: None,
            node_lifecycle: None,
            dedicated_pools: false,
            toleration_hold: None,
            toleration_backfill: None,
            toleration_guard: None,
        }
    }
}

/// How to find the API server, and how many requests to send it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterAccess {
    /// A kubeconfig file; `None` means the default places, then the in-cluster service account.
    pub kubeconfig: Option<PathBuf>,
    /// The context; `None` means the current one.
    pub context: Option<String>,
    /// A client-side limit on requests; `None` leaves it to the API server's priority and fairness.
    pub limit: Option<RequestLimit>,
    /// How old the last complete list of nodes and pods may become before the next relist (L4); `None` trusts the
    /// watch.
    pub relist_every: Option<Duration>,
}

impl ClusterAccess {
    /// Settings for the connection. A credential plugin may only prompt if its output cannot be mistaken for the log.
    pub fn connection(&self) -> config::ConnectSettings {
        config::ConnectSettings {
            kubeconfig: self.kubeconfig.clone(),
            context: self.context.clone(),
            interactive: std::io::stderr().is_terminal(),
            ..config::ConnectSettings::default()
        }
    }
}

/// A client-side limit on requests: a bucket of `burst` requests that fills at `qps` a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RequestLimit {
    /// Requests per second; finite and above zero.
    pub qps: f64,
    /// How many requests may be sent immediately after a pause; at least 1.
    pub burst: u32,
}

/// Whether decisions are carried out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteMode {
    /// Evict.
    #[default]
    Enforce,
    /// Watch, predict, count and log; never write, not even the lease (S14).
    Observe,
}

impl WriteMode {
    /// `enforce` or `observe`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Enforce => "enforce",
            Self::Observe => "observe",
        }
    }
}

/// Which pods get the `DisruptionTarget` condition before the DELETE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Marking {
    /// Every pod, as upstream does (TE-31).
    #[default]
    Always,
    /// Pods of Jobs, whose failure policy reads it (NB-3). The others are deleted with one request instead of two.
    Jobs,
    /// No pod.
    Never,
}

/// Settings of the leader election, by client-go's rules. The creator ensures `retry_period * 1.2 < renew_deadline <
/// lease_duration`, with `lease_duration` in whole seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElectionSettings {
    /// How long a follower waits after the last renewal that it observed.
    pub lease_duration: Duration,
    /// How long a leader continues without a successful renewal.
    pub renew_deadline: Duration,
    /// The pause between attempts.
    pub retry_period: Duration,
    /// The name of the Lease object.
    pub name: String,
    /// The namespace of the Lease object.
    pub namespace: String,
}

impl Default for ElectionSettings {
    fn default() -> Self {
        Self {
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
            name: "taintward".into(),
            namespace: "kube-system".into(),
        }
    }
}
