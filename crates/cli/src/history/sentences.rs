//! Formats what a history says: causes of evictions, verdicts, failures of requests. Times are local, as in the table.

use crate::output::{age, clock, when};
use jiff::tz::TimeZone;
use taintward_controller::eviction_messages::source;
use taintward_core::api_error::ApiFailure;
use taintward_core::eviction::{EvictionReason, GoverningPolicy};
use taintward_core::identity::NodeName;
use taintward_core::taint::{Taint, TaintEffect};
use taintward_core::taint_start::TaintStart;
use taintward_core::time::{Mono, Now, Span, Wall};
use taintward_core::toleration::TolerationPeriod;
use taintward_core::toleration_matching::TaintMatch;
use taintward_core::verdict::{Outcome, StayReason, TaintInstance, Verdict};

/// A deadline: `14:03:11, in 4m12s`.
pub(crate) fn deadline(at: Mono, now: Now) -> String {
    when(now.wall, now.wall_of(at), &TimeZone::system())
}

/// A time: `14:03:11`.
pub(crate) fn time(at: Mono, now: Now) -> String {
    wall_time(now.wall_of(at), now)
}

/// The same of a time of the wall clock.
pub(crate) fn wall_time(at: Wall, now: Now) -> String {
    clock(now.wall, at, &TimeZone::system())
}

/// The time since a moment: `35 ms`, `4m12s`.
pub(crate) fn after(since: Mono, now: Now) -> String {
    let span = now.mono.since(since);
    match span.as_micros() / 1_000 {
        millis @ ..1_000 => format!("{millis} ms"),
        _ => age(span),
    }
}

/// `has taints k=v:NoExecute, l:NoExecute`.
pub(crate) fn has_taints<'t>(taints: impl IntoIterator<Item = &'t Taint>) -> String {
    let taints: Vec<String> = taints.into_iter().map(ToString::to_string).collect();
    match &taints[..] {
        [] => "has no NoExecute taint".to_owned(),
        [one] => format!("has taint {one}"),
        all => format!("has taints {}", all.join(", ")),
    }
}

/// The NoExecute taints among those of a node.
pub(crate) fn no_execute(taints: &[Taint]) -> impl Iterator<Item = &Taint> {
    taints.iter().filter(|taint| taint.effect == TaintEffect::NoExecute)
}

/// Why a pod leaves: the taint that is due first, since when, and the toleration that it uses up.
struct EvictionCause<'c> {
    taint: &'c Taint,
    start: TaintStart,
    counts_from: Mono,
    /// Position and period; `None`: it is not tolerated.
    toleration: Option<(usize, Span)>,
    held: Span,
}

impl EvictionCause<'_> {
    fn text(&self, node: &NodeName, now: Now) -> String {
        let Self { taint, start, counts_from, toleration, held } = self;
        let since = time(start.at, now);
        let mut text = format!("node {node} has taint {taint} since {since} ({})", source(start.source));
        if *counts_from > start.at {
            text += &format!(", the pod is there since {}", time(*counts_from, now));
        }
        match toleration {
            None => text += ", and the pod does not tolerate it",
            Some((at, period)) => {
                text += &format!(", and spec.tolerations[{at}] tolerates it for {}", age(*period));
            }
        }
        if *held > Span::ZERO {
            text += &format!("; it was held for {}", age(*held));
        }
        text
    }
}

/// Why a pod was evicted.
pub(crate) fn evicted_because(node: &NodeName, reason: &EvictionReason, now: Now) -> String {
    let EvictionReason { taint, start, counts_from, toleration, held, .. } = reason;
    let cause = EvictionCause {
        taint,
        start: *start,
        counts_from: *counts_from,
        toleration: *toleration,
        held: *held,
    };
    let text = cause.text(node, now);
    match &reason.policy {
        None => text,
        Some(GoverningPolicy { name, is_forced: false }) => format!("{text}; under eviction policy {name}"),
        Some(GoverningPolicy { name, is_forced: true }) => {
            format!(
                "{text}; in spite of its disruption budgets, after the deadline of eviction policy {name}"
            )
        }
    }
}

/// Why a pod leaves, by its verdict; `None` if no taint decides.
pub(crate) fn leaves_because(
    node: &NodeName,
    verdict: &Verdict,
    taints: &[TaintInstance],
    now: Now,
) -> Option<String> {
    let at = verdict.decisive?;
    let (instance, reason) = (taints.get(at)?, verdict.reasons.get(at)?);
    let toleration = match (reason.taint_match, reason.period) {
        (TaintMatch::Tolerated(at), Some(TolerationPeriod::For(period))) => Some((at, period)),
        _ => None,
    };
    let TaintInstance { taint, start } = instance;
    let (counts_from, held) = (reason.counts_from, reason.held);
    Some(EvictionCause { taint, start: *start, counts_from, toleration, held }.text(node, now))
}

/// What happens to a pod, by its verdict: `leaves at 14:03:11, in 4m12s: node n1 has ...`.
pub(crate) fn outcome(node: &NodeName, verdict: &Verdict, taints: &[TaintInstance], now: Now) -> String {
    let because = leaves_because(node, verdict, taints, now).map(|why| format!(": {why}"));
    let because = because.unwrap_or_default();
    match verdict.outcome {
        Outcome::StaysUntil(until) => format!("leaves at {}{because}", deadline(until, now)),
        Outcome::Leaves { due } if now.mono.since(due) >= Span::from_secs(1) => {
            format!("has been due for eviction since {}{because}", time(due, now))
        }
        Outcome::Leaves { .. } => format!("is due for eviction{because}"),
        Outcome::Stays(StayReason::NoTaint) => "stays: its node has no NoExecute taint".to_owned(),
        Outcome::Stays(StayReason::Tolerated) => {
            "stays: it tolerates each NoExecute taint of its node".to_owned()
        }
        Outcome::Stays(StayReason::OnHold) => "stays for now: its countdown is on hold".to_owned(),
        Outcome::Stays(StayReason::UnsupportedToleration) => {
            "stays: a toleration has an unsupported operator or effect".to_owned()
        }
        Outcome::Stays(StayReason::Exempt(exemption)) => {
            format!("stays: it {}", crate::messages::exempt(exemption))
        }
    }
}

/// How the API server responded to a request that failed.
pub(crate) fn failure(failure: ApiFailure) -> String {
    match failure {
        ApiFailure::NotFound => "it does not exist (404)".to_owned(),
        ApiFailure::Conflict => "the object had changed meanwhile (409)".to_owned(),
        ApiFailure::Forbidden => "Taintward lacks a permission (401 or 403)".to_owned(),
        ApiFailure::Throttled(None) => "the API server was overloaded (429)".to_owned(),
        ApiFailure::Throttled(Some(wait)) => {
            format!("the API server was overloaded (429, Retry-After: {}s)", wait.as_micros() / 1_000_000)
        }
        ApiFailure::Budget => "a disruption budget did not allow it (429)".to_owned(),
        ApiFailure::Rejected => "an admission webhook or a validation rejected it (4xx)".to_owned(),
        ApiFailure::Unavailable => "no response, or an error of the API server (5xx)".to_owned(),
    }
}
