//! Explains the effect of one NoExecute taint on a pod: which toleration matches, and what follows.

use crate::explain::taint_description::TaintDescription;
use crate::messages::{self, at_moment, toleration};
use taintward_core::taint::Taint;
use taintward_core::time::{Mono, Now};
use taintward_core::toleration::Toleration;
use taintward_core::toleration_matching::{KeyMismatch, NearestToleration, TaintMatch, ValueMismatch};
use taintward_core::verdict::{EvictionExemption, TaintInstance, TaintReason};
use taintward_kube::hold_request::HOLD;

/// A NoExecute taint.
pub(crate) struct TaintExplanation<'s> {
    pub(crate) instance: &'s TaintInstance,
    pub(crate) reason: &'s TaintReason,
    pub(crate) tolerations: &'s [Toleration],
    pub(crate) nearest: Option<NearestToleration>,
    /// A later toleration that is longer and does not count (MATCH-9).
    pub(crate) longer: Option<usize>,
    /// Why the pod is exempt, whatever it tolerates.
    pub(crate) exemption: Option<EvictionExemption>,
    /// It is the first taint to evict the pod.
    pub(crate) decisive: bool,
    pub(crate) description: TaintDescription<'s>,
}

/// `spec.tolerations[2], maintenance:NoExecute op=Exists for 300s`
fn named(tolerations: &[Toleration], at: usize) -> String {
    let text = tolerations.get(at).map(toleration).unwrap_or_default();
    let text = if text.is_empty() { "an empty toleration".to_owned() } else { text };
    format!("spec.tolerations[{at}], {text}")
}

/// `key matches, value web≠db`, for people.
pub(crate) fn miss(near: &NearestToleration, tolerations: &[Toleration], taint: &Taint) -> String {
    let own = &tolerations[near.position];
    let shown = |text: &str| if text.is_empty() { "\"\"".to_owned() } else { text.to_owned() };
    let mut parts = vec![match near.miss.key {
        None if own.key.is_empty() => "it has no key".to_owned(),
        None => "key matches".to_owned(),
        Some(KeyMismatch::Similar | KeyMismatch::Other) => format!("key {}≠{}", own.key, taint.key),
    }];
    let operator = own.operator.as_str();
    match near.miss.value {
        None => {}
        Some(ValueMismatch::Differs) => {
            parts.push(format!("value {}≠{}", shown(&own.value), shown(&taint.value)))
        }
        Some(ValueMismatch::GateOff) => {
            parts.push(format!("operator {operator} without its gate (TaintTolerationComparisonOperators)"))
        }
        Some(ValueMismatch::TaintNoNumber) => {
            parts.push(format!(
                "operator {operator}, but the taint's value {} is not a number",
                shown(&taint.value)
            ));
        }
        Some(ValueMismatch::OwnNoNumber) => {
            parts.push(format!("operator {operator}, but its value {} is not a number", shown(&own.value)));
        }
        Some(ValueMismatch::NotLess) => parts.push(format!("{} is not less than {}", taint.value, own.value)),
        Some(ValueMismatch::NotGreater) => {
            parts.push(format!("{} is not greater than {}", taint.value, own.value))
        }
    }
    if let (true, Some(effect)) = (near.miss.effect, &own.effect) {
        parts.push(format!("effect {}, needs {}", effect.as_str(), taint.effect.as_str()));
    }
    parts.join(", ")
}

impl TaintExplanation<'_> {
    /// The pod's toleration, in words.
    pub(crate) fn match_text(&self) -> String {
        let taint = &self.instance.taint;
        match (self.reason.taint_match, &self.nearest) {
            (TaintMatch::Tolerated(at), _) => format!("tolerated by {}", named(self.tolerations, at)),
            (TaintMatch::Unsupported(at), _) => {
                format!("{} is not supported, so the pod is not evicted", named(self.tolerations, at))
            }
            (TaintMatch::Untolerated, None) => "no toleration matches it, and none is similar".to_owned(),
            (TaintMatch::Untolerated, Some(near)) => format!(
                "no toleration matches it; the nearest is {}: {}",
                named(self.tolerations, near.position),
                miss(near, self.tolerations, taint)
            ),
        }
    }

    /// The consequence; nothing if the toleration is not understood.
    pub(crate) fn follows(&self, now: Now) -> Option<String> {
        let due = match (self.reason.taint_match, self.reason.due) {
            (TaintMatch::Unsupported(_), _) => return None,
            (_, None) if self.reason.is_held => return Some("its countdown is paused".to_owned()),
            (_, None) => return Some("it may stay indefinitely".to_owned()),
            (_, Some(due)) if due == Mono::NEVER => {
                return Some("its deadline is later than the latest supported date".to_owned());
            }
            (_, Some(due)) => at_moment(now, due),
        };
        let is_due = self.reason.due.is_some_and(|due| due <= now.mono);
        Some(match (self.exemption, is_due) {
            (Some(exemption), true) => {
                format!(
                    "it would have been due for eviction since {due}, but it {}",
                    messages::exempt(exemption)
                )
            }
            (Some(exemption), false) => {
                format!("it would be evicted at {due}, but it {}", messages::exempt(exemption))
            }
            (None, true) => format!("it has been due for eviction since {due}{}", self.decisive()),
            (None, false) => match self.reason.held_until {
                None => format!("it is evicted at {due}{}", self.decisive()),
                Some(until) => format!(
                    "an annotation ({HOLD}) holds it until {}; it is evicted at {due}{}",
                    at_moment(now, until),
                    self.decisive()
                ),
            },
        })
    }

    const fn decisive(&self) -> &'static str {
        if self.decisive { "; this taint decides" } else { "" }
    }

    /// MATCH-9, if it changes the result.
    pub(crate) fn trapped(&self) -> Option<String> {
        let (TaintMatch::Tolerated(used), Some(later)) = (self.reason.taint_match, self.longer) else {
            return None;
        };
        let period = messages::period(self.tolerations[later].period());
        Some(format!(
            "{} also matches and would let it stay for {period}, but only the first match counts: move it before \
             spec.tolerations[{used}], or remove the wrong one",
            named(self.tolerations, later)
        ))
    }
}
