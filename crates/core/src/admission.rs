//! Computes the tolerations that admission adds to pods (AD-2).
//!
//! - The folder holds all admission rules; [`review::mutate`], [`review::validate`] and [`review::change_of_node`]
//!   apply them to a request.
//! - Invariant: every rule is idempotent, and none removes or changes a toleration of the author, except as [`policy`]
//!   and [`pod_toleration_restriction::MergeMode::AsUpstream`] say.

use crate::taint::{TaintEffect, keys};
use crate::toleration::Toleration;
use alloc::vec::Vec;

pub mod extended_resource_toleration;
mod label_selector;
mod messages;
pub mod no_execute_guard;
pub mod pod_toleration_restriction;
pub mod policy;
pub mod pool;
pub mod request;
mod requester;
pub mod review;
#[cfg(test)]
mod tests;
mod toleration_coverage;

pub use label_selector::LabelSelector;

/// For how long a pod tolerates a lost node, unless the pod itself says (AD-3). Any number is legal; with zero and
/// negative numbers the pod is evicted immediately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DefaultSeconds {
    /// A node that is not ready.
    pub not_ready: i64,
    /// A node that is unreachable.
    pub unreachable: i64,
}

impl Default for DefaultSeconds {
    fn default() -> Self {
        Self { not_ready: 300, unreachable: 300 }
    }
}

/// Returns the tolerations to append to those of a created or updated pod, in this order (AD-2, AD-3, AD-4).
///
/// Only the key and the effect of existing tolerations count: even a toleration that does not tolerate the real taint
/// suppresses the default.
pub fn default_tolerations(existing: &[Toleration], seconds: DefaultSeconds) -> Vec<Toleration> {
    let missing = |key: &str| {
        !existing.iter().any(|toleration| {
            (toleration.key.is_empty() || *toleration.key == *key)
                && matches!(toleration.effect, None | Some(TaintEffect::NoExecute))
        })
    };
    [(keys::NOT_READY, seconds.not_ready), (keys::UNREACHABLE, seconds.unreachable)]
        .into_iter()
        .filter(|(key, _)| missing(key))
        .map(|(key, seconds)| Toleration {
            seconds: Some(seconds),
            ..Toleration::exists(key, TaintEffect::NoExecute)
        })
        .collect()
}
