//! Collects the explanations of all targets, and the targets that were not found.

use super::context::ExplainContext;
use super::missing_pod::MissingPodExplanation;
use super::node::NodeExplanation;
use super::not_found::{not_in_cluster, not_in_files};
use super::pod::PodExplanation;
use super::target::{Target, TargetKind};
use super::workload::WorkloadExplanation;

/// What is said of one object.
pub(super) enum Explanation<'s> {
    Pod(PodExplanation<'s>),
    Gone(MissingPodExplanation<'s>),
    Node(NodeExplanation<'s>),
    Workload(WorkloadExplanation<'s>),
}

/// All of them.
pub(super) struct Explanations<'s> {
    pub(super) context: &'s ExplainContext,
    pub(super) stories: Vec<Explanation<'s>>,
    /// What was not found, a sentence each.
    pub(super) missing: Vec<String>,
}

impl<'s> Explanations<'s> {
    pub(super) fn of(context: &'s ExplainContext, targets: &'s [Target]) -> Self {
        let mut all = Self { context, stories: Vec::new(), missing: Vec::new() };
        for target in targets {
            let found = match target.kind {
                TargetKind::Pod => pod(context, &target.name),
                TargetKind::Node => node(context, &target.name),
                TargetKind::Workload(maker) => {
                    WorkloadExplanation::of(context, maker, target).map(Explanation::Workload)
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

fn pod<'s>(context: &'s ExplainContext, name: &'s str) -> Result<Explanation<'s>, String> {
    let named: Vec<_> = context.related().closeups.pods.iter().filter(|pod| pod.name == name).collect();
    match named[..] {
        [closeup] => Ok(Explanation::Pod(PodExplanation::of(context, closeup))),
        [] if context.related().gone.contains(name) => {
            let story = MissingPodExplanation::of(context, name);
            match (story.events.is_empty(), context.controllers().is_some()) {
                (false, _) => Ok(Explanation::Gone(story)),
                (true, true) => Err(not_in_cluster(context, &story)),
                (true, false) => Err(not_in_files(context, TargetKind::Pod, name)),
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

fn node<'s>(context: &'s ExplainContext, name: &str) -> Result<Explanation<'s>, String> {
    match context.snapshot().node_at(name) {
        Some(at) => Ok(Explanation::Node(NodeExplanation::of(context, at))),
        None if context.controllers().is_none() => Err(not_in_files(context, TargetKind::Node, name)),
        None if context.related().absent.contains(name) => {
            Err(format!("there is no node {name}; kubectl get nodes lists those there are"))
        }
        None => Err(format!("node {name} could not be read: nothing is said of it")),
    }
}
