//! # Hint: whether a change is a reason to ask again
//! Room:     when taints that change may help a pod that they kept off (SC-3).
//! Comes in: the pod, and the taints before and after.
//! Goes out: yes or no.
//! Not here: the pod's own tolerations: when those change, asking again is always right (SC-3).

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
