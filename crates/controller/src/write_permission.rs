//! Decides whether requests that write may be sent now, by mode and leadership.

use taintward_core::time::{Mono, Span};
use taintward_kube::leader_election::Leadership;
use tokio::sync::watch;

/// The right to act. Clones follow the same lease.
#[derive(Clone, Debug)]
pub(crate) enum WritePermission {
    /// Observe mode: never.
    ReadOnly,
    /// No election: always.
    Always,
    /// While we lead, and a request sent now is over before anybody else may (S5).
    Leader(watch::Receiver<Leadership>),
}

impl WritePermission {
    /// Whether a request that can be carried out for `longest` may be sent now.
    pub(crate) fn is_given(&self, now: Mono, longest: Span) -> bool {
        match self {
            Self::ReadOnly => false,
            Self::Always => true,
            Self::Leader(leadership) => leadership.borrow().allows(now, longest),
        }
    }

    /// Whether somebody else may write by now. A renewal that is late takes [`WritePermission::is_given`] away, and not this.
    pub(crate) fn is_lost(&self, now: Mono) -> bool {
        !self.is_given(now, Span::ZERO)
    }

    /// When the lease was last renewed by us: proof that the API server takes our writes.
    pub(crate) fn renewed(&self) -> Option<Mono> {
        match self {
            Self::Leader(leadership) => leadership.borrow().last_renew_ok,
            Self::ReadOnly | Self::Always => None,
        }
    }

    /// Waits for news of the lease; for ever, where there is none.
    pub(crate) async fn changed(&mut self) {
        let changed = match self {
            Self::Leader(leadership) => leadership.changed().await.is_ok(),
            Self::ReadOnly | Self::Always => false,
        };
        if !changed {
            std::future::pending().await
        }
    }
}
