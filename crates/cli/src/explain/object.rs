//! Builds the JSON of explanations (`Explanation`, `ExplanationList`) that docs/explanation.schema.json describes.
//!
//! - Invariant: fields are only added, and always present unless the schema says otherwise.

use super::blockers;
use super::context::ExplainContext;
use super::missing_pod::MissingPodExplanation;
use super::node::NodeExplanation;
use super::pod::{PodExplanation, TaintExplanation, miss};
use super::possible_nodes;
use super::report::{Explanation, Explanations};
use super::workload::WorkloadExplanation;
use crate::cluster_state::details::EventDetails;
use crate::messages::{self, stamp};
use crate::taint_note::TaintNote;
use serde_json::{Value, json};
use taintward_core::taint::{Taint, TaintEffect, WellKnownTaint};
use taintward_core::taint_start::{BindingSource, TaintStartSource};
use taintward_core::time::{Mono, Now, Wall};
use taintward_core::toleration::Toleration;
use taintward_core::toleration_matching::TaintMatch;
use taintward_core::verdict::Outcome;

pub(super) fn explanations(all: &Explanations<'_>) -> Value {
    let items: Vec<Value> = all.stories.iter().map(|story| one(all.context, story)).collect();
    let missing = all.missing.iter().cloned();
    let gaps: Vec<String> =
        all.context.related().survey.gaps.iter().map(ToString::to_string).chain(missing).collect();
    let frame = |object: &mut Value| {
        let survey = &all.context.related().survey;
        object["apiVersion"] = json!("taintward.io/v1alpha1");
        object["complete"] = json!(gaps.is_empty());
        object["from"] = json!(survey.from);
        object["asOf"] = stamp(survey.snapshot.now().mono);
        object["gaps"] = json!(gaps);
    };
    match <[Value; 1]>::try_from(items) {
        Ok([mut item]) if all.missing.is_empty() => {
            frame(&mut item);
            item
        }
        Ok([item]) => listed(vec![item], frame),
        Err(items) => listed(items, frame),
    }
}

fn listed(items: Vec<Value>, frame: impl Fn(&mut Value)) -> Value {
    let mut list = json!({ "kind": "ExplanationList", "items": items });
    frame(&mut list);
    list
}

fn one(context: &ExplainContext, story: &Explanation<'_>) -> Value {
    match story {
        Explanation::Pod(story) => pod(story),
        Explanation::Gone(story) => gone_pod(context, story),
        Explanation::Node(story) => node(story),
        Explanation::Workload(story) => workload(story, context.snapshot().now()),
    }
}

fn wall(at: Option<Wall>) -> Value {
    at.map_or(Value::Null, |at| stamp(Mono::from_micros(at.as_micros())))
}

fn pod(story: &PodExplanation<'_>) -> Value {
    let closeup = story.closeup;
    let outcome = match story.outcome() {
        Some(Outcome::Stays(_)) => "Stays",
        Some(Outcome::StaysUntil(_)) => "StaysUntil",
        Some(Outcome::Leaves { .. }) => "Goes",
        None if closeup.node.is_empty() => "Unbound",
        None => "Unknown",
    };
    let leaves = match story.outcome() {
        Some(Outcome::StaysUntil(at) | Outcome::Leaves { due: at }) => Some(at),
        _ => None,
    };
    let parts = story.parts();
    let events = story.context.events(Some(&closeup.namespace), &closeup.name);
    let mut object = json!({
        "kind": "Explanation",
        "about": {
            "kind": "Pod", "namespace": closeup.namespace, "name": closeup.name, "uid": closeup.uid,
        },
        "outcome": outcome,
        "summary": story.summary(),
        "node": (!closeup.node.is_empty()).then_some(&closeup.node),
        "workload": story.workload().map(messages::workload),
        "leavesAt": leaves.map(stamp),
        "inSeconds": leaves.map(|at| (at.as_micros() - story.now().mono.as_micros()) / 1_000_000),
        "taint": parts.iter().find(|part| part.decides).map(|part| part.instance.taint.to_string()),
        "arrival": story.pod.filter(|pod| pod.node.is_some()).map(|pod| {
            json!({ "at": stamp(pod.arrival.at), "source": arrival(pod.arrival.source) })
        }),
        "taints": parts.iter().map(taint).collect::<Vec<_>>(),
        "otherTaints": story
            .others()
            .into_iter()
            .map(|(taint, tolerated)| json!({ "taint": taint.to_string(), "tolerated": tolerated }))
            .collect::<Vec<_>>(),
        "inTheWay": blockers::of(story),
        "events": told(&events),
    });
    if let Some(places) = possible_nodes::of(story) {
        let tainted =
            places.tainted.iter().map(|(taints, nodes)| json!({ "taints": taints, "nodes": nodes }));
        let unfit = places.unfit.iter().map(|(why, nodes)| json!({ "why": why, "nodes": nodes }));
        object["places"] = json!({
            "possible": places.possible,
            "keptOffByTaints": tainted.collect::<Vec<_>>(),
            "unfit": unfit.collect::<Vec<_>>(),
            "rulesNotLookedAt": places.beyond,
        });
    }
    object
}

/// A taint's own words.
fn named(taint: &Taint) -> Value {
    json!({
        "taint": taint.to_string(), "key": taint.key, "value": taint.value, "effect": taint.effect.as_str(),
    })
}

fn toleration(tolerations: &[Toleration], at: usize) -> Value {
    let one = &tolerations[at];
    messages::toleration_object(at, Some(messages::toleration(one)), Some(one.patience()))
}

fn taint(part: &TaintExplanation<'_>) -> Value {
    let (instance, reason) = (part.instance, part.reason);
    let mut object = named(&instance.taint);
    object["since"] = stamp(instance.start.at);
    object["source"] = json!(source(instance.start.source));
    object["corrected"] = json!(instance.start.clamped);
    object["countsFrom"] = stamp(reason.counts_from);
    object["leavesAt"] = reason.due.map_or(Value::Null, stamp);
    object["decides"] = json!(part.decides);
    object["toleration"] = match reason.taint_match {
        TaintMatch::Tolerated(at) | TaintMatch::Unsupported(at) => toleration(part.tolerations, at),
        TaintMatch::Untolerated => Value::Null,
    };
    object["understood"] = json!(!matches!(reason.taint_match, TaintMatch::Unsupported(_)));
    object["nearest"] = part.near.as_ref().map_or(Value::Null, |near| {
        let mut nearest = toleration(part.tolerations, near.position);
        nearest["why"] = json!(miss(near, part.tolerations, &instance.taint));
        nearest
    });
    object["morePatient"] = part.trap.map_or(Value::Null, |at| toleration(part.tolerations, at));
    object["meaning"] = meaning(part.meaning.as_ref());
    object["note"] = note(part.note.as_ref());
    object
}

const fn source(source: TaintStartSource) -> &'static str {
    match source {
        TaintStartSource::SeenLive => "SeenLive",
        TaintStartSource::TimeAdded => "TimeAdded",
        TaintStartSource::ManagedFields => "ManagedFields",
        TaintStartSource::FirstSight => "FirstSight",
    }
}

const fn arrival(source: BindingSource) -> &'static str {
    match source {
        BindingSource::SeenLive => "SeenLive",
        BindingSource::PodScheduled => "PodScheduled",
        BindingSource::StartTime => "StartTime",
        BindingSource::Created => "Created",
        BindingSource::FirstSight => "FirstSight",
    }
}

fn meaning(meaning: Option<&WellKnownTaint>) -> Value {
    meaning.map_or(
        Value::Null,
        |WellKnownTaint { what, who, then }| json!({ "what": what, "who": who, "then": then }),
    )
}

fn note(note: Option<&TaintNote>) -> Value {
    note.map_or(Value::Null, |TaintNote { reason, until }| json!({ "reason": reason, "until": wall(*until) }))
}

fn told(events: &[&EventDetails]) -> Vec<Value> {
    let one = |event: &&EventDetails| {
        json!({
            "lastAt": wall(event.last), "type": event.kind, "reason": event.reason, "by": event.by,
            "count": event.count, "message": event.message,
        })
    };
    events.iter().map(one).collect()
}

fn gone_pod(context: &ExplainContext, story: &MissingPodExplanation<'_>) -> Value {
    let others = story.others.iter().map(
        |pod| json!({ "namespace": pod.namespace, "name": pod.name, "node": pod.node, "phase": pod.phase }),
    );
    json!({
        "kind": "Explanation",
        "about": { "kind": "Pod", "namespace": context.namespace(), "name": story.name, "uid": null },
        "outcome": "Gone",
        "summary": story.summary(),
        "events": told(&story.events),
        "others": others.collect::<Vec<_>>(),
    })
}

fn node(story: &NodeExplanation<'_>) -> Value {
    let (node, totals, now) = (story.node(), &story.forecast.totals, story.now().mono);
    let taints = story.taints();
    let taint = |each: &super::node::ExplainedTaint<'_>| {
        let mut object = named(each.taint);
        // Nobody counts from the first sight of a taint that sends nobody away.
        let is_told = each.taint.effect == TaintEffect::NoExecute || each.taint.time_added.is_some();
        object["since"] = if is_told { stamp(each.start.at) } else { Value::Null };
        object["source"] = if is_told { json!(source(each.start.source)) } else { Value::Null };
        object["meaning"] = meaning(each.meaning.as_ref());
        object["note"] = note(each.note.as_ref());
        object
    };
    let leaving = story.leaving();
    let pod = |(fate, at): &(&taintward_core::forecast::PodForecast, Mono)| {
        let pod = &story.snapshot().pods()[fate.pod as usize];
        let taint = fate.decisive.map(|at| story.fates().after[at as usize].taint.to_string());
        json!({
            "namespace": pod.name.namespace(),
            "pod": pod.name.name(),
            "node": story.name(),
            "leavesAt": stamp(*at),
            "inSeconds": (at.as_micros() - now.as_micros()) / 1_000_000,
            "taint": taint,
            "why": messages::leaves(story.snapshot(), story.fates(), fate),
        })
    };
    let writers = story.closeup.map(|closeup| &closeup.writers[..]).unwrap_or_default();
    let stays = messages::stays(story.snapshot(), story.fates());
    json!({
        "kind": "Explanation",
        "about": { "kind": "Node", "namespace": null, "name": story.name(), "uid": node.fact.uid.to_string() },
        "outcome": "Node",
        "unschedulable": node.unschedulable,
        "ready": node.ready,
        "taints": taints.iter().map(taint).collect::<Vec<_>>(),
        "taintsWrittenBy": writers.iter().map(|(who, at)| json!({ "manager": who, "at": wall(*at) })).collect::<Vec<_>>(),
        "pods": {
            "all": story.fates().pods.len(),
            "leavingNow": totals.going,
            "leavingLater": totals.later,
            "staying": totals.staying + totals.exempt + totals.not_understood,
        },
        "leaving": leaving.iter().map(pod).collect::<Vec<_>>(),
        "stays": stays.iter().map(|(why, pods)| json!({ "why": why, "pods": pods })).collect::<Vec<_>>(),
        "conditions": story
            .ailments()
            .iter()
            .map(|one| json!({
                "type": one.kind, "status": one.status, "reason": one.reason, "message": one.message,
                "since": wall(one.since),
            }))
            .collect::<Vec<_>>(),
    })
}

fn workload(story: &WorkloadExplanation<'_>, now: Now) -> Value {
    let counts = story.counts(now);
    let mut object = json!({
        "kind": "Explanation",
        "about": {
            "kind": story.maker.of_api().0, "namespace": story.namespace, "name": story.target.name, "uid": null,
        },
        "outcome": "Workload",
        "pods": {
            "all": story.pods.len(),
            "leavingNow": counts.going,
            "leavingLater": counts.later,
            "staying": counts.staying,
            "unknown": counts.unjudged,
        },
        "leaving": [],
        "staying": [],
        "unknown": [],
    });
    for pod in &story.pods {
        let closeup = pod.closeup;
        let mut told = json!({
            "namespace": closeup.namespace,
            "pod": closeup.name,
            "node": (!closeup.node.is_empty()).then_some(&closeup.node),
            "why": pod.why(),
        });
        let list = match (pod.leaves(), pod.outcome()) {
            (Some(at), _) => {
                told["leavesAt"] = stamp(at);
                told["inSeconds"] = json!((at.as_micros() - now.mono.as_micros()) / 1_000_000);
                let taint = pod.parts().into_iter().find(|part| part.decides);
                told["taint"] = json!(taint.map(|part| part.instance.taint.to_string()));
                "leaving"
            }
            (None, Some(_)) => "staying",
            (None, None) => "unknown",
        };
        object[list].as_array_mut().expect("it is a list, see above").push(told);
    }
    object
}
