//! Collects the explanations of all targets, and the targets that were not found, and prints them.

use super::context::ExplainContext;
use super::missing_pod::MissingPodExplanation;
use super::node::NodeExplanation;
use super::not_found::{not_in_cluster, not_in_files};
use super::pod::PodExplanation;
use super::target::{Target, TargetKind};
use super::workload::WorkloadExplanation;
use crate::messages::{self, paragraph, stamp};
use crate::output::{PrintOptions, Printable};
use serde_json::{Value, json};
use taintward_core::time::Now;

/// What is said of one object.
enum Explanation<'s> {
    Pod(PodExplanation<'s>),
    Gone(MissingPodExplanation<'s>),
    Node(NodeExplanation<'s>),
    Workload(WorkloadExplanation<'s>),
}

/// All of them.
pub(super) struct Explanations<'s> {
    context: &'s ExplainContext,
    explanations: Vec<Explanation<'s>>,
    /// What was not found, a sentence each.
    missing: Vec<String>,
}

impl<'s> Explanations<'s> {
    pub(super) fn of(context: &'s ExplainContext, targets: &'s [Target]) -> Self {
        let mut all = Self { context, explanations: Vec::new(), missing: Vec::new() };
        for target in targets {
            let found = match target.kind {
                TargetKind::Pod => pod(context, &target.name),
                TargetKind::Node => node(context, &target.name),
                TargetKind::Workload(maker) => {
                    WorkloadExplanation::of(context, maker, target).map(Explanation::Workload)
                }
            };
            match found {
                Ok(explanation) => all.explanations.push(explanation),
                Err(why) => all.missing.push(why),
            }
        }
        all
    }

    /// What was not found, a sentence each.
    pub(super) fn missing(&self) -> &[String] {
        &self.missing
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.explanations.is_empty()
    }
}

fn pod<'s>(context: &'s ExplainContext, name: &'s str) -> Result<Explanation<'s>, String> {
    let named: Vec<_> = context.related().details.pods.iter().filter(|pod| pod.name == name).collect();
    match named[..] {
        [details] => Ok(Explanation::Pod(PodExplanation::of(context, details))),
        [] if context.related().gone.contains(name) => {
            let explanation = MissingPodExplanation::of(context, name);
            match (explanation.has_events(), context.controllers().is_some()) {
                (true, _) => Ok(Explanation::Gone(explanation)),
                (false, true) => Err(not_in_cluster(context, name)),
                (false, false) => Err(not_in_files(context, TargetKind::Pod, name)),
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

impl Explanation<'_> {
    fn name(&self) -> String {
        match self {
            Self::Pod(explanation) => format!("pod/{}", explanation.name()),
            Self::Gone(explanation) => format!("pod/{}", explanation.name()),
            Self::Node(explanation) => format!("node/{}", explanation.name()),
            Self::Workload(explanation) => explanation.name(),
        }
    }

    fn object(&self, now: Now) -> Value {
        match self {
            Self::Pod(explanation) => explanation.object(),
            Self::Gone(explanation) => explanation.object(),
            Self::Node(explanation) => explanation.object(),
            Self::Workload(explanation) => explanation.object(now),
        }
    }

    fn text(&self, now: Now, view: &PrintOptions, text: &mut String) {
        match self {
            Self::Pod(explanation) => explanation.text(view, text),
            Self::Gone(explanation) => explanation.text(view, text),
            Self::Node(explanation) => explanation.text(view, text),
            Self::Workload(explanation) => explanation.text(now, view, text),
        }
    }
}

/// As docs/explanation.schema.json describes it: fields are only added, and always present unless the schema says
/// otherwise.
impl Printable for Explanations<'_> {
    fn object(&self) -> Value {
        let now = self.context.snapshot().now();
        let items: Vec<Value> = self.explanations.iter().map(|explanation| explanation.object(now)).collect();
        let missing = self.missing.iter().cloned();
        let gaps: Vec<String> =
            self.context.related().state.gaps.iter().map(ToString::to_string).chain(missing).collect();
        let frame = |object: &mut Value| {
            let state = &self.context.related().state;
            object["apiVersion"] = json!("taintward.io/v1alpha1");
            object["complete"] = json!(gaps.is_empty());
            object["from"] = json!(state.from);
            object["asOf"] = stamp(now.mono);
            object["gaps"] = json!(gaps);
        };
        match <[Value; 1]>::try_from(items) {
            Ok([mut item]) if self.missing.is_empty() => {
                frame(&mut item);
                item
            }
            Ok([item]) => listed(vec![item], frame),
            Err(items) => listed(items, frame),
        }
    }

    fn names(&self) -> Vec<String> {
        self.explanations.iter().map(Explanation::name).collect()
    }

    fn human(&self, view: &PrintOptions) -> String {
        let mut text = String::new();
        let state = &self.context.related().state;
        if view.headers {
            paragraph(&mut text, &messages::about(&state.from, state.snapshot.now()), view);
        }
        for (at, explanation) in self.explanations.iter().enumerate() {
            if at > 0 || view.headers {
                text.push('\n');
            }
            explanation.text(state.snapshot.now(), view, &mut text);
        }
        let gaps = self.context.related().state.gaps.len() + self.missing.len();
        if gaps > 0 {
            let things = if gaps == 1 { "one thing".to_owned() } else { format!("{gaps} things") };
            text.push('\n');
            paragraph(
                &mut text,
                &format!("This answer is partial: {things} could not be read, see above."),
                view,
            );
        }
        text
    }
}

fn listed(items: Vec<Value>, frame: impl Fn(&mut Value)) -> Value {
    let mut list = json!({ "kind": "ExplanationList", "items": items });
    frame(&mut list);
    list
}
