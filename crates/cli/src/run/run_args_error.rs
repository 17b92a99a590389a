//! Defines the errors of inconsistent `taintward run` flags.

use crate::args::{controllers, duration};
use std::num::NonZeroU16;
use std::time::Duration;
use taintward_core::node_lifecycle;

/// Why the flags are inconsistent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RunArgsError {
    #[error(
        "--controllers leaves nothing to run; entries that switch off belong on kube-controller-manager, here leave \
         --controllers out, or name one of: {}", controllers::KNOWN.join(", ")
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
    #[error("--metrics-port and --secure-port are both {0}; one port cannot speak both HTTP and HTTPS")]
    SamePort(NonZeroU16),
    #[error(
        "--tls-cert-file is given, but --secure-port=0 switches HTTPS off; give --secure-port a port as well"
    )]
    IdleCertificate,
    #[error(
        "--metrics-authentication=delegated asks for tokens, which everybody on the way could read without TLS; give \
         --secure-port a port as well"
    )]
    TokensInClear,
    #[error(
        "--mode=enforce and {old}=false contradict each other: one says evict, the other do not; leave {old} out to \
         evict, or choose --mode=observe"
    )]
    Contradiction { old: &'static str },
}
