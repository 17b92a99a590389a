//! Formats the explanation of a pod for people, with the verdict first.

use super::taint_explanation::TaintExplanation;
use super::{PodExplanation, PodLocation, blockers, ending, possible_nodes};
use crate::cluster_state::details::PodDetails;
use crate::explain::taint_description::ShownMeanings;
use crate::explain::text_parts::{self, list};
use crate::messages::{at_moment, paragraph};
use crate::output::PrintOptions;
use crate::past_eviction::PastEviction;
use taintward_core::cluster_snapshot::WorkloadKind;
use taintward_core::taint::{Taint, TaintEffect, WellKnownTaint};
use taintward_core::taint_start::BindingSource;
use taintward_core::time::Now;

pub(super) fn text(
    explanation: &PodExplanation<'_>,
    view: &PrintOptions,
    shown: &mut ShownMeanings,
    text: &mut String,
) {
    let PodDetails { namespace, name, node, .. } = explanation.details;
    let on = if node.is_empty() { " without a node".to_owned() } else { format!(" on node {node}") };
    let maker = explanation.workload().filter(|workload| workload.kind != WorkloadKind::Bare);
    let of = maker.map(|workload| format!(", of {workload}")).unwrap_or_default();
    paragraph(text, &format!("Pod {namespace}/{name}{on}{of}"), view);
    paragraph(text, &explanation.summary(), view);
    let sentences = explanation.record().into_iter().chain(explanation.restarted());
    for sentence in sentences.chain(explanation.late()) {
        paragraph(text, &sentence, view);
    }
    if let (Some(pod), PodLocation::On(_)) = (explanation.pod, explanation.place) {
        let (at, source) = (at_moment(explanation.now(), pod.arrival.at), arrival(pod.arrival.source));
        paragraph(text, &format!("It was bound to its node at {at} ({source})."), view);
    }
    let parts = explanation.parts();
    let parts: Vec<String> = parts.iter().map(|part| taint(part, explanation.now(), shown)).collect();
    list(text, "NoExecute taints of its node:", &parts, view);
    list(text, "Other taints of its node, which evict no pod:", &others(explanation, shown), view);
    possible_nodes::text(explanation, view, text);
    list(text, "How it ended:", &ending::of(explanation), view);
    list(text, blockers::heading(explanation), &blockers::of(explanation), view);
    let (own, earlier) = explanation.events();
    list(text, "Events:", &text_parts::events(&own, explanation.now()), view);
    let earlier =
        PastEviction::last(explanation.snapshot(), &earlier).map(|trace| trace.summary(explanation.now()));
    let heading = "The last eviction of an earlier pod of this name:";
    list(text, heading, &earlier.into_iter().collect::<Vec<_>>(), view);
}

/// The sentences about one taint.
fn taint(part: &TaintExplanation<'_>, now: Now, shown: &mut ShownMeanings) -> String {
    let mut sentence = format!("{}: {}", part.description.heading(now), part.match_text());
    sentence += &part.follows(now).map(|follows| format!("; {follows}.")).unwrap_or_else(|| ".".to_owned());
    if part.reason.counts_from > part.instance.start.at {
        let is_released = part.reason.start.at > part.instance.start.at;
        let event = if is_released { "released" } else { "bound" };
        sentence += &format!(
            " The toleration period starts when the pod was {event}, {}.",
            at_moment(now, part.reason.counts_from)
        );
    }
    if let Some(trap) = part.trapped() {
        sentence += &format!(" Note: {trap}.");
    }
    sentence + &part.description.background(now, shown)
}

fn others(explanation: &PodExplanation<'_>, shown: &mut ShownMeanings) -> Vec<String> {
    let sentence = |(taint, bears): (&Taint, bool)| {
        let does = match &taint.effect {
            TaintEffect::NoSchedule => "keeps new pods off",
            TaintEffect::PreferNoSchedule => "keeps new pods off while another node fits",
            TaintEffect::NoExecute | TaintEffect::Unknown(_) => "has an unknown effect and is ignored",
        };
        let bears = if bears {
            "the pod tolerates it"
        } else {
            "the pod does not tolerate it, but already runs here"
        };
        let known = WellKnownTaint::of(taint).filter(|known| shown.add(known.what));
        let means = known.map(|known| format!(". It means: {}", known.what)).unwrap_or_default();
        format!("{taint}: {does}; {bears}{means}")
    };
    explanation.others().into_iter().map(sentence).collect()
}

/// The source of a binding time, as text.
const fn arrival(source: BindingSource) -> &'static str {
    match source {
        BindingSource::SeenLive => "observed live",
        BindingSource::PodScheduled => "by its condition PodScheduled",
        BindingSource::StartTime => "by its status.startTime",
        BindingSource::Created => "by its creation",
        BindingSource::FirstSight => "the time is unknown; counted from now",
    }
}
