//! Formats the messages of events and log lines about an eviction: upstream's text first (TE-34), then taint,
//! toleration and times (D8).

use crate::text_time::{length, moment};
use taintward_core::eviction::{CancellationReason, EvictionReason, GoverningPolicy};
use taintward_core::identity::{NodeName, PodName};
use taintward_core::taint::Taint;
use taintward_core::taint_start::TaintStartSource;
use taintward_core::time::{Now, Span};

/// The event of a deleted pod.
pub(crate) fn evicted(node: &NodeName, grounds: &EvictionReason, now: Now) -> String {
    format!("Marking for deletion Pod {}: {}", grounds.name, why(node, grounds, now))
}

/// The event of a pod whose countdown ended without a deletion.
pub(crate) fn cancelled(pod: &PodName, why: &str) -> String {
    format!("Cancelling deletion of Pod {pod}: {why}")
}

/// Why a countdown ended without a deletion, in one sentence.
pub fn why_cancelled(node: &NodeName, reason: CancellationReason, taint: Option<&Taint>) -> String {
    let taint = taint.map(|taint| format!("taint {taint}"));
    let taint = taint.as_deref();
    match reason {
        CancellationReason::TaintRemoved => {
            let taint = taint.unwrap_or("a NoExecute taint that requires its eviction");
            format!("node {node} no longer has {taint}")
        }
        CancellationReason::NodeDeleted => format!("node {node} was deleted"),
        CancellationReason::TolerationsChanged => {
            let taint = taint.unwrap_or("every NoExecute taint");
            format!("the pod's tolerations have changed, and it tolerates {taint} of node {node} for good")
        }
        CancellationReason::UnsupportedToleration => {
            "a toleration of the pod has an unsupported operator or effect".to_owned()
        }
        CancellationReason::PodFinished => "the pod has succeeded or failed".to_owned(),
        CancellationReason::PodDeleted => "another client deleted the pod".to_owned(),
    }
}

/// Taint, toleration and timing in one sentence, and the policy that governed it.
pub(crate) fn why(node: &NodeName, grounds: &EvictionReason, now: Now) -> String {
    let why = why_due(node, grounds, now);
    match &grounds.policy {
        None => why,
        Some(GoverningPolicy { name, is_forced: false }) => format!("{why}; under eviction policy {name}"),
        Some(GoverningPolicy { name, is_forced: true }) => {
            format!("{why}; in spite of its disruption budgets, after the deadline of eviction policy {name}")
        }
    }
}

fn why_due(node: &NodeName, grounds: &EvictionReason, now: Now) -> String {
    let (taint, since) = (&grounds.taint, moment(grounds.start.at, now));
    let source = source(grounds.start.source);
    let arrived = match grounds.counts_from > grounds.start.at {
        true => format!(", pod there since {}", moment(grounds.counts_from, now)),
        false => String::new(),
    };
    match grounds.toleration {
        None => {
            format!(
                "node {node} has taint {taint} since {since} ({source}){arrived}, and the pod does not tolerate it"
            )
        }
        Some((position, Span::ZERO)) => format!(
            "node {node} has taint {taint} since {since} ({source}){arrived}, tolerated for 0s (toleration {position})"
        ),
        Some((position, bears)) => format!(
            "node {node} has taint {taint} since {since} ({source}){arrived}, tolerated for {} (toleration {position}){} \
             until {}",
            length(bears),
            held(grounds.held),
            moment(grounds.due, now),
        ),
    }
}

/// How long the countdown was on hold (NL-48), if it was.
fn held(span: Span) -> String {
    match span {
        Span::ZERO => String::new(),
        span => format!(", held for {}", length(span)),
    }
}

/// The source of a taint start, as text. Times of objects have whole seconds and come from another clock, so the start
/// is the latest that they allow (S3).
pub const fn source(source: TaintStartSource) -> &'static str {
    match source {
        TaintStartSource::SeenLive => "observed live",
        TaintStartSource::TimeAdded => "at the latest; by its timeAdded",
        TaintStartSource::ManagedFields => "at the latest; by the node's managedFields",
        TaintStartSource::FirstSight => "first seen then",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taintward_core::taint::TaintEffect;
    use taintward_core::taint_start::TaintStart;
    use taintward_core::time::{Mono, Wall};

    const NOW: Now = Now::exact(Mono::from_secs(100), Wall::from_secs(1_800_000_000));

    fn grounds(toleration: Option<(usize, Span)>) -> EvictionReason {
        let taint =
            Taint { key: "k".into(), value: "v".into(), effect: TaintEffect::NoExecute, time_added: None };
        let start =
            TaintStart { at: Mono::from_secs(40), source: TaintStartSource::TimeAdded, clamped: false };
        let at = Mono::from_secs(100);
        EvictionReason {
            name: PodName::new("shop", "web-0"),
            taint,
            start,
            counts_from: start.at,
            held: Span::ZERO,
            toleration,
            due: at,
            known_due: at,
            decided: at,
            confirmed: at,
            policy: None,
        }
    }

    #[test]
    fn te_34_upstreams_words_first_then_the_reason() {
        let node = NodeName::new("n1");
        assert_eq!(
            evicted(&node, &grounds(None), NOW),
            "Marking for deletion Pod shop/web-0: node n1 has taint k=v:NoExecute since 2027-01-15T07:59:00Z \
             (at the latest; by its timeAdded), and the pod does not tolerate it"
        );
        let is_late =
            EvictionReason { counts_from: Mono::from_secs(41), ..grounds(Some((2, Span::from_secs(60)))) };
        assert_eq!(
            evicted(&node, &is_late, NOW),
            "Marking for deletion Pod shop/web-0: node n1 has taint k=v:NoExecute since 2027-01-15T07:59:00Z \
             (at the latest; by its timeAdded), pod there since 2027-01-15T07:59:01Z, tolerated for 1m0s (toleration 2) until \
             2027-01-15T08:00:00Z"
        );
        let governed = |is_forced| EvictionReason {
            policy: Some(GoverningPolicy { name: "gentle".into(), is_forced }),
            ..grounds(None)
        };
        assert!(evicted(&node, &governed(false), NOW).ends_with("tolerate it; under eviction policy gentle"));
        assert!(
            evicted(&node, &governed(true), NOW).ends_with(
                "; in spite of its disruption budgets, after the deadline of eviction policy gentle"
            )
        );
        let held = EvictionReason { held: Span::from_secs(90), ..is_late.clone() };
        assert!(
            evicted(&node, &held, NOW)
                .ends_with("1m0s (toleration 2), held for 1m30s until 2027-01-15T08:00:00Z")
        );
    }

    #[test]
    fn te_34_a_cancelled_countdown_names_its_reason_and_the_taint() {
        let (node, reason) = (NodeName::new("n1"), grounds(None));
        let why = |reason, taint| why_cancelled(&node, reason, taint);
        assert_eq!(
            cancelled(&reason.name, &why(CancellationReason::TaintRemoved, Some(&reason.taint))),
            "Cancelling deletion of Pod shop/web-0: node n1 no longer has taint k=v:NoExecute"
        );
        assert_eq!(
            why(CancellationReason::TaintRemoved, None),
            "node n1 no longer has a NoExecute taint that requires its eviction"
        );
        assert_eq!(
            why(CancellationReason::TolerationsChanged, Some(&reason.taint)),
            "the pod's tolerations have changed, and it tolerates taint k=v:NoExecute of node n1 for good"
        );
        assert_eq!(why(CancellationReason::NodeDeleted, Some(&reason.taint)), "node n1 was deleted");
    }
}
