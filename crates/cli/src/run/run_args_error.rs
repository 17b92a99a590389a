//! Defines the errors of inconsistent `taintward run` flags.

use crate::args::{controllers, duration};
use std::num::NonZeroU16;
use std::time::Duration;
use taintward_core::node_lifecycle;

/// Why the flags are inconsistent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RunArgsError {
    #[error(
        "--controllers enables no controller; entries that switch controllers off belong to kube-controller-manager's flag; \
         here, omit --controllers or name one of: {}", controllers::KNOWN.join(", ")
    )]
    NothingToRun,
    #[error("{}", controllers::TWO_EVICTIONS)]
    TwoEvictions,
    #[error("{0}")]
    NodeHealth(node_lifecycle::InvalidFlag),
    #[error("--hold-for must be from 1s to 24h; it is {}", duration::display(*.0))]
    HoldFor(Duration),
    #[error(
        "--leader-elect-lease-duration must be whole seconds from 1s on, because the Lease object stores whole \
         seconds; it is {}", duration::display(*.0)
    )]
    LeaseDuration(Duration),
    #[error(
        "--leader-elect-lease-duration ({}) must be longer than --leader-elect-renew-deadline ({}), or a follower \
         could take over before the leader stops", duration::display(*lease), duration::display(*renew)
    )]
    RenewDeadline { lease: Duration, renew: Duration },
    #[error(
        "--leader-elect-renew-deadline ({}) must be longer than 1.2 times --leader-elect-retry-period ({}), or the \
         leader gives up before its second attempt", duration::display(*renew), duration::display(*retry)
    )]
    RetryPeriod { renew: Duration, retry: Duration },
    #[error("--leader-elect-retry-period must be longer than 0s")]
    NoRetryPeriod,
    #[error(
        "--relist-interval must be 0 (never) or at least {}, because every node and pod is read each time; it is {}",
        duration::display(*shortest), duration::display(*interval)
    )]
    RelistInterval { interval: Duration, shortest: Duration },
    #[error(
        "--metrics-port and --secure-port are both {0}, but one port cannot serve HTTP and HTTPS; choose another port"
    )]
    SamePort(NonZeroU16),
    #[error(
        "--tls-cert-file has no effect, because --secure-port=0 switches HTTPS off; set --secure-port to a port"
    )]
    IdleCertificate,
    #[error(
        "--metrics-authentication=delegated needs HTTPS, because clients send tokens; set --secure-port to a port"
    )]
    TokensInClear,
    #[error(
        "--mode=enforce and {old}=false contradict each other: the first switches evictions on, the second off; omit {old} \
         to evict, or choose --mode=observe"
    )]
    Contradiction { old: &'static str },
}
