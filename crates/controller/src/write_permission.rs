//! Decides whether requests that write may be sent now, by mode and leadership.

use taintward_core::time::{Mono, Span};
use taintward_kube::leader_election::Leadership;
use tokio::sync::watch;

/// The permission to write. Clones follow the same lease.
#[derive(Clone, Debug)]
pub(crate) enum WritePermission {
    /// Observe mode: never.
    ReadOnly,
    /// No election: always.
    Always,
    /// While this process leads, and a request sent now ends before another replica may lead (S5).
    Leader(watch::Receiver<Leadership>),
}

impl WritePermission {
    /// Whether a request that may take up to `longest` may be sent now.
    pub(crate) fn is_given(&self, now: Mono, longest: Span) -> bool {
        match self {
            Self::ReadOnly => false,
            Self::Always => true,
            Self::Leader(leadership) => leadership.borrow().allows(now, longest),
        }
    }

    /// Whether another replica may already write. A late renewal revokes [`WritePermission::is_given`] but not this.
    pub(crate) fn is_lost(&self, now: Mono) -> bool {
        !self.is_given(now, Span::ZERO)
    }

    /// When this process last renewed the lease: proof that the API server accepts its writes.
    pub(crate) fn renewed(&self) -> Option<Mono> {
        match self {
            Self::Leader(leadership) => leadership.borrow().last_renew_ok,
            Self::ReadOnly | Self::Always => None,
        }
    }

    /// Waits for a change of the lease; never returns if there is no election.
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
