//! Formats what people read about a verdict: tolerations as in `kubectl describe`, reasons, lists.

use crate::output::{self, PrintOptions, dated, harmless, when, wrap, zone_name};
use crate::stderr;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use taintward_core::cluster_snapshot::{
    ClusterSnapshot, CountdownRecord, RecreationPolicy, SnapshotPod, Workload,
};
use taintward_core::forecast::{NodeForecast, PodForecast};
use taintward_core::taint::{Taint, TaintEffect};
use taintward_core::time::{Mono, Now, Wall};
use taintward_core::toleration::{Toleration, TolerationOperator, TolerationPeriod};
use taintward_core::toleration_matching::{self, TaintMatch};
use taintward_core::verdict::{EvictionExemption, Outcome, StayReason, TaintInstance, TaintReason, Verdict};

/// Wraps a sentence.
pub(crate) fn paragraph(text: &mut String, sentence: &str, view: &PrintOptions) {
    for line in wrap(&harmless(sentence), view.paper.measure()) {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{line}");
    }
}

/// Formats one of several sentences.
pub(crate) fn bullet(text: &mut String, sentence: &str, width: usize) {
    for (at, line) in wrap(&harmless(sentence), width.saturating_sub(2)).into_iter().enumerate() {
        let _ = writeln!(text, "{}{line}", if at == 0 { "- " } else { "  " });
    }
}

/// Prints a sentence to standard error, wrapped as on standard output.
pub(crate) fn print_wrapped(sentence: &str, view: &PrintOptions) {
    let mut text = String::new();
    paragraph(&mut text, sentence, view);
    text.lines().for_each(|line| stderr::line("", line));
}

/// The cluster or files of an answer, and its time, with the zone of all its times.
pub(crate) fn about(from: &str, now: Now) -> String {
    format!("{from}, {}:", dated(now.wall, &TimeZone::system()))
}

/// The title of a column of times: `EVICTED (CET)`.
pub(crate) fn with_zone(title: &str, now: Now) -> String {
    format!("{title} ({})", zone_name(now.wall, &TimeZone::system()))
}

/// A future time: `now`, `14:03:11, in 4m12s`.
pub(crate) fn moment(now: Now, at: Mono) -> String {
    if at <= now.mono { "now".to_owned() } else { at_moment(now, at) }
}

/// A past or future time: `14:03:11, in 4m12s`, `13:54:47, 4m12s ago`.
pub(crate) fn at_moment(now: Now, at: Mono) -> String {
    when(now.wall, Wall::from_micros(at.as_micros()), &TimeZone::system())
}

/// What lasts since a time: `13:54:47, for 4m12s`.
pub(crate) fn lasting(now: Now, since: Mono) -> String {
    output::lasting(now.wall, Wall::from_micros(since.as_micros()), &TimeZone::system())
}

/// For programs: RFC 3339 to the second; `null` for a time that cannot be represented.
pub(crate) fn stamp(at: Mono) -> Value {
    let text = Timestamp::from_microsecond(at.as_micros()).map(|at| format!("{at:.0}"));
    text.map_or(Value::Null, Value::from)
}

/// `dedicated=db:NoExecute for 300s`, `:NoExecute op=Exists`, `op=Exists`.
pub(crate) fn toleration(one: &Toleration) -> String {
    let mut text = one.key.to_string();
    if !one.value.is_empty() {
        text += &format!("={}", one.value);
    }
    if let Some(effect) = &one.effect {
        text += &format!(":{}", effect.as_str());
    }
    match &one.operator {
        TolerationOperator::Unset | TolerationOperator::Equal => {}
        TolerationOperator::Exists if one.value.is_empty() => text += " op=Exists",
        other => text += &format!(" op={}", other.as_str()),
    }
    if let Some(seconds) = one.seconds {
        text += &format!(" for {seconds}s");
    }
    text.trim_start().to_owned()
}

/// Why a taint evicts a pod: how the pod's tolerations match it.
pub(crate) fn leaves_because(
    instance: &TaintInstance,
    taint_match: TaintMatch,
    tolerations: &[Toleration],
) -> String {
    let taint = &instance.taint;
    match taint_match {
        TaintMatch::Untolerated => format!("does not tolerate {taint}"),
        TaintMatch::Tolerated(at) | TaintMatch::Unsupported(at) => {
            format!("tolerates {taint} for {}", period(tolerations[at].period()))
        }
    }
}

/// Why a pod of a node is evicted; empty for a pod that stays.
pub(crate) fn leaves(snapshot: &ClusterSnapshot, node: &NodeForecast, fate: &PodForecast) -> String {
    let Some(at) = fate.decisive else {
        return if fate.is_evicted() { "is evicted by the drain".to_owned() } else { String::new() };
    };
    let instance = &node.after[at as usize];
    let tolerations = &snapshot.shape(&snapshot.pods()[fate.pod as usize]).spec.tolerations;
    let taint_match = toleration_matching::match_taint(tolerations, &instance.taint, snapshot.numeric());
    leaves_because(instance, taint_match, tolerations)
}

/// Why pods of a node stay, with the number for each reason; most first.
pub(crate) fn stays(snapshot: &ClusterSnapshot, node: &NodeForecast) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for fate in &node.pods {
        let Outcome::Stays(stay) = fate.after else { continue };
        let pod = &snapshot.pods()[fate.pod as usize];
        let why = match stay {
            StayReason::NoTaint | StayReason::Tolerated if node.drained => {
                "belongs to a DaemonSet: a drain skips it".to_owned()
            }
            _ => stays_because(stay, &snapshot.judge(pod, &node.after), (snapshot, pod), &node.after),
        };
        *counts.entry(why).or_default() += 1;
    }
    let mut stays: Vec<(String, usize)> = counts.into_iter().collect();
    stays.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    stays
}

/// `300s`, as written; more than a year in years.
pub(crate) fn period(period: TolerationPeriod) -> String {
    match period {
        TolerationPeriod::Forever => "an unlimited time".to_owned(),
        TolerationPeriod::For(span) => {
            let seconds = span.as_micros() / 1_000_000;
            if seconds > 366 * 86_400 {
                format!("{} years", seconds / 31_557_600)
            } else {
                format!("{seconds}s")
            }
        }
    }
}

/// Why a pod stays; the text is equal for pods with the same reason.
pub(crate) fn stays_because(
    stay: StayReason,
    verdict: &Verdict,
    (snapshot, pod): (&ClusterSnapshot, &SnapshotPod),
    taints: &[TaintInstance],
) -> String {
    let tolerations = &snapshot.shape(pod).spec.tolerations;
    match stay {
        StayReason::NoTaint => "the node has no NoExecute taint".to_owned(),
        StayReason::OnHold => held(&pod.record, snapshot.now()),
        StayReason::Exempt(exemption) => exempt(exemption).to_owned(),
        StayReason::UnsupportedToleration => {
            let unclear = verdict.reasons.iter().find_map(|reason| match reason.taint_match {
                TaintMatch::Unsupported(at) => tolerations.get(at),
                TaintMatch::Tolerated(_) | TaintMatch::Untolerated => None,
            });
            let written = unclear.map(toleration).unwrap_or_default();
            format!("its toleration {written:?} is not supported, so it is not evicted")
        }
        StayReason::Tolerated => {
            let by = |(reason, instance): (&TaintReason, &TaintInstance)| match reason.taint_match {
                TaintMatch::Tolerated(at) => {
                    let how = tolerations.get(at).map(matching).unwrap_or_default();
                    Some(format!("{} ({how})", named(&instance.taint)))
                }
                TaintMatch::Untolerated | TaintMatch::Unsupported(_) => None,
            };
            let all: Vec<String> = verdict.reasons.iter().zip(taints).filter_map(by).collect();
            format!("tolerates {}", all.join(", "))
        }
    }
}

/// Why the countdown of a held pod does not run, for a list; equal for pods with the same hold.
pub(crate) fn held(record: &CountdownRecord, now: Now) -> String {
    let CountdownRecord::Held(held) = record else { return "countdowns are on hold".to_owned() };
    match held.order() {
        Some(order) => {
            format!("is held until {}", at_moment(now, Mono::from_micros(order.ends_at().as_micros())))
        }
        None => "is held; its countdown continues in a few seconds".to_owned(),
    }
}

/// How a toleration matches a taint that is named before: `Exists`, `Exists, any key`, `Gt 5`.
fn matching(one: &Toleration) -> String {
    let operator = one.operator.as_str();
    match &one.operator {
        TolerationOperator::Unset | TolerationOperator::Equal => "Equal".to_owned(),
        TolerationOperator::Exists if one.key.is_empty() => "Exists, any key".to_owned(),
        TolerationOperator::Exists => operator.to_owned(),
        _ => format!("{operator} {}", one.value),
    }
}

fn named(taint: &Taint) -> String {
    // Callers pass NoExecute taints only; for another effect the key suffices.
    match taint.effect {
        TaintEffect::NoExecute => taint.to_string(),
        _ => taint.key.to_string(),
    }
}

/// `1 node`, `2 nodes`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// Why taint eviction skips a pod (D6).
pub(crate) const fn exempt(exemption: EvictionExemption) -> &'static str {
    match exemption {
        EvictionExemption::Finished => "has already succeeded or failed",
        EvictionExemption::Terminating => "is already being deleted",
        EvictionExemption::Mirror => "is a static pod: only its kubelet can stop it",
        EvictionExemption::Undecodable => "cannot be decoded, so it is not evicted",
    }
}

/// A pod's owner, for programs; a pod without an owner stands for itself.
pub(crate) fn workload(workload: &Workload) -> Value {
    json!({ "kind": workload.kind.as_str(), "namespace": workload.namespace, "name": workload.name })
}

/// A toleration, for programs: its position in `spec.tolerations`, the toleration itself if it is known, and how long
/// it lets the pod stay, `null` for indefinitely.
pub(crate) fn toleration_object(at: usize, text: Option<String>, period: Option<TolerationPeriod>) -> Value {
    let seconds = match period {
        Some(TolerationPeriod::For(span)) => Some(span.as_micros() / 1_000_000),
        Some(TolerationPeriod::Forever) | None => None,
    };
    json!({ "index": at, "text": text, "tolerationSeconds": seconds })
}

/// A pod's UID; `null` if a file has none.
pub(crate) fn uid(uid: &taintward_core::identity::Uid) -> Value {
    let text = uid.to_string();
    if text.starts_with(crate::cluster_state::NO_UID) { Value::Null } else { text.into() }
}

/// Whether pods are recreated after eviction. A Job applies its failure policy and backoff limit (NB-3).
pub(crate) const fn returns(returns: RecreationPolicy) -> &'static str {
    match returns {
        RecreationPolicy::Anywhere => "recreated",
        RecreationPolicy::SameName => "recreated under the same name after deletion",
        RecreationPolicy::SameNode => "recreated when the node's taints allow it",
        RecreationPolicy::AsJob => "recreated if the Job's policies allow it",
        RecreationPolicy::Never => "not recreated",
        RecreationPolicy::Unknown => "depends on its controller",
    }
}
