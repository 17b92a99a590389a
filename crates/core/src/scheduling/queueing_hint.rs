//! Decides whether a change of taints may make an unschedulable pod schedulable (SC-3).

use super::PodSchedulingSpec;
use super::filter::has_untolerated;
use crate::taint::Taint;
use crate::toleration_matching::NumericOperators;

/// Whether a pod that taints kept off (SC-1) may go to this node now and could not before; `None` before means that the
/// node is new (SC-3). A change that lets nobody in is no reason to ask again.
pub fn taints_help(
    spec: &PodSchedulingSpec,
    before: Option<&[Taint]>,
    after: &[Taint],
    numeric: NumericOperators,
) -> bool {
    let kept_off = |taints| has_untolerated(&spec.tolerations, taints, numeric);
    before.is_none_or(kept_off) && !kept_off(after)
}
