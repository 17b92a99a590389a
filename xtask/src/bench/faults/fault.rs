//! Lists the faults of the benchmark.

use super::deletion_webhook::WebhookFault;
use super::proxy::ProxyFault;
use FaultKind::*;
use std::time::Duration;

/// One row of the table.
pub(crate) struct Fault {
    /// For `--only`.
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) kind: FaultKind,
    pub(crate) lasts: Duration,
    /// Whether the API server allows every request, so that it never answers 403.
    pub(crate) always_allow: bool,
    /// Further flags for Taintward. A row with flags is not for kube-controller-manager.
    pub(crate) flags: &'static [&'static str],
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum FaultKind {
    /// The API server is killed, and restarted after a while.
    Killed,
    /// The contender has no ClusterRoleBinding.
    Forbidden,
    /// A webhook judges each deletion of a pod; a webhook that delays stays registered until the end.
    Webhook(WebhookFault),
    /// Between the contender and the API server.
    Proxy(ProxyFault),
    /// The same, until all pods have left.
    LastingProxy(ProxyFault),
    /// All connections are closed, and so are new ones.
    Cut,
    /// The client certificate has expired, and is renewed after a while.
    ExpiredCertificate,
    /// etcd is restored from a backup.
    Restored {
        /// Whether countdowns run in the meantime.
        counting: bool,
    },
}

impl FaultKind {
    /// Whether it includes a start of the API server.
    pub(crate) const fn restarts(self) -> bool {
        matches!(self, Killed | Restored { .. })
    }

    /// Whether pods can leave during the fault, only later.
    pub(crate) const fn is_lasting(self) -> bool {
        matches!(self, Self::LastingProxy(_) | Self::Webhook(WebhookFault::Delay(_)))
    }

    pub(crate) const fn restores(self) -> bool {
        matches!(self, Self::Restored { .. })
    }

    pub(crate) const fn needs_proxy(self) -> bool {
        matches!(self, Self::Proxy(_) | Self::LastingProxy(_) | Self::Cut)
    }
}

const fn fault(name: &'static str, title: &'static str, seconds: u64, kind: FaultKind) -> Fault {
    Fault { name, title, kind, lasts: Duration::from_secs(seconds), always_allow: false, flags: &[] }
}

const fn killed(name: &'static str, title: &'static str, seconds: u64, always_allow: bool) -> Fault {
    Fault { always_allow, ..fault(name, title, seconds, Killed) }
}

const fn restored(name: &'static str, title: &'static str, counting: bool) -> Fault {
    fault(name, title, 3, Restored { counting })
}

const fn elected(fault: Fault) -> Fault {
    Fault { flags: &["--leader-elect=true"], ..fault }
}

const fn storm(retry_after: bool) -> FaultKind {
    Proxy(ProxyFault::TooManyRequests { retry_after })
}

const fn slow_nodes(milliseconds: u64) -> ProxyFault {
    ProxyFault::SlowNodes(Duration::from_millis(milliseconds))
}

const SLOW_WEBHOOK: FaultKind = Webhook(WebhookFault::Delay(Duration::from_millis(2_500)));

pub(crate) const FAULTS: [Fault; 21] = [
    killed("killed-5", "API server killed, restarted after 5 s", 5, false),
    killed("killed-10", "API server killed, restarted after 10 s", 10, false),
    killed("killed-30", "API server killed, restarted after 30 s", 30, false),
    killed("killed-5-allowed", "the same without RBAC: 5 s", 5, true),
    killed("killed-10-allowed", "the same without RBAC: 10 s", 10, true),
    killed("killed-30-allowed", "the same without RBAC: 30 s", 30, true),
    fault("forbidden", "ClusterRoleBinding removed for 28 s", 28, Forbidden),
    fault("webhook-denies", "admission webhook denies deletions for 20 s", 20, Webhook(WebhookFault::Deny)),
    fault("storm-429", "429 to 80 % of requests for 15 s, `Retry-After: 1`", 15, storm(true)),
    fault("storm-429-bare", "429 to 80 % of requests for 15 s, no `Retry-After`", 15, storm(false)),
    fault(
        "storm-503",
        "503 to all writes and half of the reads for 15 s",
        15,
        Proxy(ProxyFault::Unavailable),
    ),
    fault("certificate", "client certificate expired, renewed after 15 s", 15, ExpiredCertificate),
    restored("restored-idle", "etcd restored from a backup, no countdowns", false),
    restored("restored-counting", "etcd restored from a backup, countdowns running", true),
    elected(restored("restored-idle-elected", "no countdowns, with leader election", false)),
    elected(restored("restored-counting-elected", "countdowns running, with leader election", true)),
    fault("slow-reads-2.5", "reads of nodes take 2.5 s", 15, LastingProxy(slow_nodes(2_500))),
    fault("slow-reads-4", "reads of nodes take 4 s", 15, LastingProxy(slow_nodes(4_000))),
    fault("slow-reads-6", "reads of nodes take 6 s, for 15 s", 15, Proxy(slow_nodes(6_000))),
    fault("slow-webhook", "admission webhook takes 2.5 s for each deletion", 15, SLOW_WEBHOOK),
    fault("cut", "network cut for 15 s", 15, Cut),
];

/// The names of all faults.
pub(crate) fn names() -> [&'static str; FAULTS.len()] {
    FAULTS.map(|fault| fault.name)
}
