//! Decides whether a change of taints may make an unschedulable pod schedulable (SC-3).

use super::{PodSchedulingSpec, kept_off_by};
use crate::taint::Taint;
use crate::toleration_matching::NumericOperators;

/// Whether a pod that taints repelled (SC-1) may be scheduled to this node now and could not before; `None` before
/// means that the node is new (SC-3). A change that lets no pod in is not a reason to try again.
pub fn taints_help(
    spec: &PodSchedulingSpec,
    before: Option<&[Taint]>,
    after: &[Taint],
    numeric: NumericOperators,
) -> bool {
    let kept_off = |taints| !kept_off_by(&spec.tolerations, taints, numeric).is_empty();
    before.is_none_or(kept_off) && !kept_off(after)
}
