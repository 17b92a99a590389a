//! Interprets field values by rules that both encodings share.

use taintward_core::fact::PodLifePhase;
use taintward_core::node_lifecycle::{ConditionKind, ConditionStatus, NodeCondition, NodeConditions};
use taintward_core::taint::{Taint, TaintEffect};

/// How the API server is told who wrote a field, and the name of the product in messages.
pub const FIELD_MANAGER: &str = "taintward";

/// The priority class of pods a node can't do without.
pub(super) const NODE_CRITICAL: &str = "system-node-critical";

/// A generation that fits; absurd ones end at the nearest bound.
pub(super) fn generation(written: i64) -> u32 {
    u32::try_from(written.max(0)).unwrap_or(u32::MAX)
}

/// Whether the pod can still leave (D6); a deletion that was asked for comes first.
pub(super) fn standing(deleting: bool, phase: &str) -> PodLifePhase {
    match phase {
        _ if deleting => PodLifePhase::Terminating,
        _ if is_over(phase) => PodLifePhase::Finished,
        _ => PodLifePhase::Live,
    }
}

/// Whether nothing of the pod runs any more, and never will.
pub(super) fn is_over(phase: &str) -> bool {
    matches!(phase, "Succeeded" | "Failed")
}

/// Whether a condition is the mark of a taint eviction (TE-31).
pub(super) fn is_mark(kind: &str, status: &str, reason: &str) -> bool {
    (kind, status, reason) == ("DisruptionTarget", "True", "DeletionByTaintManager")
}

/// Whether an entry of managed fields is another's than Taintward's, whichever process of it wrote.
pub(super) fn is_another(manager: &str) -> bool {
    !matches!(manager, "" | FIELD_MANAGER)
}

/// Whether a condition tells when the pod came to its node (D1).
pub(super) fn is_arrival(kind: &str, status: &str) -> bool {
    (kind, status) == ("PodScheduled", "True")
}

/// The status of a pod's condition `Ready`, one condition later; told in two ways it is not understood, as with nodes.
pub(super) fn ready(before: Option<ConditionStatus>, kind: &str, status: &str) -> Option<ConditionStatus> {
    if kind != "Ready" {
        return before;
    }
    let status = ConditionStatus::new(status);
    Some(before.filter(|before| *before != status).map_or(status, |_| ConditionStatus::Other))
}

/// Whether a node's conditions, of which `None` are those that do not matter, say that it is ready; told in two ways it
/// is not.
pub(super) fn is_ready(conditions: &[Option<NodeCondition>]) -> bool {
    let relevant: Vec<NodeCondition> = conditions.iter().flatten().copied().collect();
    NodeConditions::of(&relevant).get(ConditionKind::Ready) == Some(ConditionStatus::True)
}

/// Whether the managed fields are worth looking at (D1): some NoExecute taint doesn't say when it was added.
pub(super) fn needs_ownership(taints: &[Taint]) -> bool {
    taints.iter().any(|taint| taint.effect == TaintEffect::NoExecute && taint.time_added.is_none())
}
