//! Holds the validated settings of `taintward run`.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::time::Duration;
use taintward_core::admission::pool::PoolExemptions;
use taintward_core::node_lifecycle;
use taintward_core::toleration_seconds::{BackfillSettings, GuardSettings, HoldSettings};
use taintward_kube::config;
pub use taintward_server::settings::{
    MetricsReadersSetting, SecureServing, ServingCertificate, ServingSettings,
};

/// Everything `run` needs to know.
#[derive(Clone, Debug, PartialEq)]
pub struct ControllerSettings {
    /// How to find and treat the API server.
    pub cluster: ClusterAccess,
    /// Which controllers run; one at least.
    pub controllers: EnabledControllers,
    /// Whether what is decided is carried out.
    pub mode: WriteMode,
    /// Which pods get the `DisruptionTarget` condition before they are deleted (TE-31).
    pub marking: Marking,
    /// Whether `timeAdded` is written to NoExecute taints that were seen appearing without one (D1).
    pub stamp_taints: bool,
    /// Whether the toleration operators `Lt` and `Gt` compare numbers (MATCH-6).
    pub numeric_operators: bool,
    /// Lease election; `None` means that this process is the only one, or that it observes and needs no lease.
    pub election: Option<ElectionSettings>,
    /// Namespaces that no dedicated pool has a say in, beside kube-system and the one of the lease.
    pub exempt_namespaces: Vec<String>,
    /// Where metrics and health are served.
    pub serving: ServingSettings,
    /// Where chance starts from: the spread of pauses, the identity in the lease. `None` differs from process to process,
    /// as it must between replicas; a simulation that is to repeat itself gives each its own.
    pub seed: Option<u64>,
}

impl ControllerSettings {
    /// Which pods no dedicated pool has a say in.
    pub(crate) fn exemptions(&self) -> PoolExemptions {
        let own = self.election.as_ref().map(|election| election.namespace.as_str());
        PoolExemptions::beside(own.into_iter().chain(self.exempt_namespaces.iter().map(String::as_str)))
    }
}

/// What keeps kube-controller-manager's own controller from evicting, wherever that is recommended. Never a whole value of
/// its flag: a list without the controllers that run only if they are named keeps new nodes from joining.
pub const ORIGINAL_OFF: &str = "add -taint-eviction-controller to what kube-controller-manager's --controllers lists \
                                already (docs/switch-off.md)";

/// Which controllers run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnabledControllers {
    /// taint-eviction-controller: pods leave because of NoExecute taints.
    pub taint_eviction: bool,
    /// node-lifecycle-controller: nodes are tainted for their conditions and their silence; `None`: somebody else does.
    pub node_lifecycle: Option<node_lifecycle::NodeLifecycleConfig>,
    /// dedicated-pool-controller: taints and labels of the nodes of `DedicatedPool`s.
    pub dedicated_pools: bool,
    /// toleration-hold-controller: where kube-controller-manager's own taint eviction stays on, countdowns stand still
    /// while too many nodes are silent, or while a person says so.
    pub toleration_hold: Option<HoldSettings>,
    /// toleration-backfill-controller: running pods get the toleration seconds that new ones get.
    pub toleration_backfill: Option<BackfillSettings>,
    /// toleration-guard-controller: pods of guarded namespaces get a ceiling, and are evicted by their own seconds. Not
    /// beside `taint_eviction`.
    pub toleration_guard: Option<GuardSettings>,
}

/// Which pods taint eviction is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EvictionScope {
    /// All: kube-controller-manager evicts none.
    AllPods,
    /// Those that have a ceiling, for the two taints that it covers: kube-controller-manager evicts the others.
    GuardedPods,
}

impl EnabledControllers {
    /// Whether somebody looks at pods, and at nodes, in order to taint or to evict.
    pub(crate) fn look_at_pods(&self) -> bool {
        self.eviction().is_some() || self.node_lifecycle.is_some() || self.change_seconds()
    }

    /// Whether the seconds of pods' tolerations are changed.
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

    /// Whether a node or a pod is read once more before it is written.
    pub(crate) fn read_live(&self) -> bool {
        self.eviction().is_some() || self.node_lifecycle.is_some() || self.dedicated_pools
    }
}

impl Default for EnabledControllers {
    fn default() -> Self {
        Self {
            taint_eviction: true,
            node_lifecycle: None,
            dedicated_pools: false,
            toleration_hold: None,
            toleration_backfill: None,
            toleration_guard: None,
        }
    }
}

/// How to find the API server, and how much of it to ask for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterAccess {
    /// A kubeconfig file; `None` means the usual places, then the in-cluster service account.
    pub kubeconfig: Option<PathBuf>,
    /// The context in it; `None` means its current one.
    pub context: Option<String>,
    /// A limit of our own on requests; `None` leaves it to the API server's fairness.
    pub limit: Option<RequestLimit>,
    /// How old the last complete list of nodes and pods may become before they are listed again (L4); `None` means that
    /// the watch is trusted.
    pub relist_every: Option<Duration>,
}

impl ClusterAccess {
    /// What the client is told. A plugin that gives credentials may speak only if nobody takes its words for our log.
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
    /// Requests a second; finite and above zero.
    pub qps: f64,
    /// How many requests may go out at once after a pause; at least 1.
    pub burst: u32,
}

/// Whether what was decided is also done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteMode {
    /// Evict.
    #[default]
    Enforce,
    /// Watch, predict, meter and log; not one write, not even the lease (S14).
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

/// Which pods are marked with the `DisruptionTarget` condition before the DELETE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Marking {
    /// Every pod, as upstream does (TE-31).
    #[default]
    Always,
    /// Pods that a Job owns, whose failure policy reads it (NB-3); the others leave in one request instead of two.
    Jobs,
    /// No pod.
    Never,
}

/// Lease election by client-go's rules. Whoever fills it keeps
/// `retry_period * 1.2 < renew_deadline < lease_duration`, with `lease_duration` in whole seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElectionSettings {
    /// How long a follower waits after the last sign of the leader.
    pub lease_duration: Duration,
    /// How long a leader goes on without a successful renewal.
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
