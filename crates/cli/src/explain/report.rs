//! Collects the explanations of all targets, and the targets that were not found.

use super::missing_pod::MissingPodExplanation;
use super::node::NodeExplanation;
use super::pod::PodExplanation;
use super::target::{Target, TargetKind};
use super::workload::WorkloadExplanation;
use super::{ExplainContext, human, object};
use crate::output::{PrintOptions, Printable};
use serde_json::Value;
use std::collections::BTreeSet;
use taintward_core::cluster_snapshot::ClusterSnapshot;

/// What is said of one object.
pub(super) enum Explanation<'s> {
    Pod(PodExplanation<'s>),
    Gone(MissingPodExplanation<'s>),
    Node(NodeExplanation<'s>),
    Workload(WorkloadExplanation<'s>),
}

/// All of them.
pub(super) struct Explanations<'s> {
    pub(super) scene: &'s ExplainContext,
    pub(super) stories: Vec<Explanation<'s>>,
    /// What was not found, a sentence each.
    pub(super) missing: Vec<String>,
}

impl<'s> Explanations<'s> {
    pub(super) fn of(scene: &'s ExplainContext, targets: &'s [Target]) -> Self {
        let mut all = Self { scene, stories: Vec::new(), missing: Vec::new() };
        for target in targets {
            let found = match target.kind {
                TargetKind::Pod => pod(scene, &target.name),
                TargetKind::Node => node(scene, &target.name),
                TargetKind::Workload(maker) => {
                    WorkloadExplanation::of(scene, maker, target).map(Explanation::Workload)
                }
            };
            match found {
                Ok(story) => all.stories.push(story),
                Err(why) => all.missing.push(why),
            }
        }
        all
    }
}

fn pod<'s>(scene: &'s ExplainContext, name: &'s str) -> Result<Explanation<'s>, String> {
    let named: Vec<_> = scene.vicinity.closeups.pods.iter().filter(|pod| pod.name == name).collect();
    match named[..] {
        [closeup] => Ok(Explanation::Pod(PodExplanation::of(scene, closeup))),
        [] if scene.vicinity.gone.contains(name) => {
            let story = MissingPodExplanation::of(scene, name);
            match (story.events.is_empty(), scene.enforcers.is_some()) {
                (false, _) => Ok(Explanation::Gone(story)),
                (true, true) => Err(not_in_cluster(scene, &story)),
                (true, false) => Err(not_in_files(scene, TargetKind::Pod, name)),
            }
        }
        [] => Err(format!("pod {name} could not be read: nothing is said of it")),
        _ => {
            let spaces: Vec<&str> = named.iter().map(|pod| pod.namespace.as_str()).collect();
            Err(format!(
                "there are pods {name} in several namespaces: {}; name one with -n",
                spaces.join(", ")
            ))
        }
    }
}

fn node<'s>(scene: &'s ExplainContext, name: &str) -> Result<Explanation<'s>, String> {
    match scene.vicinity.survey.snapshot.node_at(name) {
        Some(at) => Ok(Explanation::Node(NodeExplanation::of(scene, at))),
        None if scene.enforcers.is_none() => Err(not_in_files(scene, TargetKind::Node, name)),
        None if scene.vicinity.absent.contains(name) => {
            Err(format!("there is no node {name}; kubectl get nodes lists those there are"))
        }
        None => Err(format!("node {name} could not be read: nothing is said of it")),
    }
}

/// Names that are told of those that are there.
const NAMED_MOST: usize = 5;

/// It is gone for longer than events are kept, or was never there.
fn not_in_cluster(scene: &ExplainContext, story: &MissingPodExplanation<'_>) -> String {
    let ExplainContext { vicinity, namespace, .. } = scene;
    let (name, space) = (story.name, namespace.as_deref().unwrap_or_default());
    let what = if vicinity.knows_events { "nor an event of one" } else { "and its events may not be read" };
    let mut text =
        format!("there is no pod {name} in namespace {space}, {what}: nothing says whether it was there");
    if let Some(others) = vicinity.elsewhere.get(name).filter(|others| !others.is_empty()) {
        let spaces: Vec<&str> = others.iter().map(String::as_str).take(NAMED_MOST).collect();
        text += &format!("; there is one in {}: name it with -n", spaces.join(", "));
    }
    let near = alike(&names(&vicinity.survey.snapshot, scene, TargetKind::Pod), name);
    if !near.is_empty() {
        text += &format!("; near to it: {}", near.join(", "));
    }
    text
}

pub(super) fn not_in_files(scene: &ExplainContext, kind: TargetKind, name: &str) -> String {
    let survey = &scene.vicinity.survey;
    let near = alike(&names(&survey.snapshot, scene, kind), name);
    let of = scene
        .namespace
        .as_ref()
        .filter(|_| kind != TargetKind::Node)
        .map(|space| format!(" of namespace {space}"));
    let way_out = if near.is_empty() { String::new() } else { format!("; near to it: {}", near.join(", ")) };
    let lacks = if matches!(kind, TargetKind::Workload(_)) { "has no pods" } else { "is not" };
    format!("{} {name}{} {lacks} in {}{way_out}", kind.as_str(), of.unwrap_or_default(), survey.from)
}

fn names(snapshot: &ClusterSnapshot, scene: &ExplainContext, kind: TargetKind) -> Vec<String> {
    match kind {
        TargetKind::Workload(maker) => {
            let pods = snapshot.pods().iter().map(|pod| &snapshot.workloads()[pod.workload as usize]);
            let here = |space: &str| scene.namespace.as_ref().is_none_or(|wanted| wanted == space);
            let same = pods.filter(|one| one.kind.as_str() == maker.of_api().0 && here(&one.namespace));
            let names: BTreeSet<&str> = same.map(|one| &*one.name).collect();
            names.into_iter().map(str::to_owned).collect()
        }
        TargetKind::Node => snapshot.nodes().iter().map(|node| node.fact.name.to_string()).collect(),
        TargetKind::Pod => {
            let pods = snapshot.pods().iter();
            let here = |space: &str| scene.namespace.as_ref().is_none_or(|wanted| wanted == space);
            let named = pods.filter(|pod| here(pod.name.namespace())).map(|pod| pod.name.name().to_owned());
            named.collect()
        }
    }
}

/// The names that share most of their beginning with this one, or their end.
fn alike(names: &[String], name: &str) -> Vec<String> {
    let shared = |other: &str| {
        let begins = other.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
        let ends = other.bytes().rev().zip(name.bytes().rev()).take_while(|(a, b)| a == b).count();
        begins.max(ends)
    };
    let mut near: Vec<&String> = names.iter().filter(|other| shared(other) * 2 >= name.len()).collect();
    near.sort_by_key(|other| (std::cmp::Reverse(shared(other)), other.len(), (*other).clone()));
    near.dedup();
    near.into_iter().take(NAMED_MOST).cloned().collect()
}

impl Printable for Explanations<'_> {
    fn object(&self) -> Value {
        object::explanations(self)
    }

    fn names(&self) -> Vec<String> {
        let name = |story: &Explanation<'_>| match story {
            Explanation::Pod(story) => format!("pod/{}", story.closeup.name),
            Explanation::Gone(story) => format!("pod/{}", story.name),
            Explanation::Node(story) => format!("node/{}", story.name()),
            Explanation::Workload(story) => format!("{}/{}", story.target.kind.as_str(), story.target.name),
        };
        self.stories.iter().map(name).collect()
    }

    fn human(&self, view: &PrintOptions) -> String {
        human::explanations(self, view)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_begin_or_end_alike() {
        let names: Vec<String> =
            ["web-1", "web-2", "api-1", "cache-0", "worker-12"].map(str::to_owned).into();
        assert_eq!(alike(&names, "web-3"), ["web-1", "web-2"]);
        assert_eq!(alike(&names, "worker-1"), ["worker-12"]);
        assert_eq!(alike(&names, "zzz"), Vec::<String>::new());
    }
}
