//! Runs `taintward explain`: why pods are evicted from a node or stay, since when, until when, and what delays evictions.
//!
//! - Invariant: every verdict is the core's. Incomplete answers say so in every output format, with exit code 1.
//! - See `cluster_state/related.rs` for reading, `pending.rs` for a list of all pods with a deadline.

mod eviction_policies;
mod node;
mod not_found;
mod object_parts;
mod pod;
mod taint_description;
mod target;
#[cfg(test)]
mod tests;
mod text_parts;

use crate::active_controllers::ActiveControllers;
use crate::args::cluster_state::ClusterStateArgs;
use crate::args::kube_args::WHICH;
use crate::cluster_state::details::{EventDetails, ObjectNames};
use crate::cluster_state::related::{RelatedObjects, in_cluster, in_files};
use crate::cluster_state::{ClusterReader, ClusterStateError, ObjectLists, no_nodes};
use crate::completion_kind::CompletionKind;
use crate::eviction_delays::{ClusterPolicies, DueDelays};
use crate::messages::{self, paragraph, stamp};
use crate::output::{API_VERSION, PrintError, PrintOptions, Printable};
use crate::past_eviction::PastEviction;
use crate::runtime::Runtime;
use crate::stderr;
use crate::taint_note::TaintNote;
use clap::Args;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;
use taint_description::ShownMeanings;
use taintward_core::cluster_snapshot::ClusterSnapshot;
use taintward_core::taint::Taint;
pub(crate) use target::{Target, TargetKind, parse as parse_targets};

/// Exit codes of `taintward explain`.
pub(crate) const EXIT_CODES: [(u8, &str); 2] = [
    (0, "Every named object is explained"),
    (
        1,
        "An object could not be found or read, or the command line is invalid; the other objects are explained",
    ),
];

// Objects are named here: selectors are accepted only to be rejected with a reason.
#[derive(Debug, Args)]
#[command(
    mut_arg("namespace", |arg| arg.help("The namespace of the pods. The default is that of the context; with files, all namespaces")),
    mut_arg("all_namespaces", |arg| arg.hide(true)),
    mut_arg("selector", |arg| arg.hide(true)),
    mut_arg("field_selector", |arg| arg.hide(true))
)]
pub(crate) struct ExplainArgs {
    /// What to explain: pod/NAME, node/NAME, or all pods of a workload: deploy/NAME, sts/NAME, ds/NAME, rs/NAME,
    /// job/NAME; several are allowed, also as pod NAME...
    #[arg(value_name = "TYPE/NAME", add = CompletionKind::Explained.completer())]
    objects: Vec<String>,
    /// The cluster's state in files, as kubectl get -o yaml or json prints it, a folder of them, or - for standard
    /// input; may be repeated. The default is the current cluster
    #[arg(short, long, value_name = "FILE|FOLDER|-", conflicts_with_all = WHICH)]
    filename: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) state: ClusterStateArgs,
}

/// Why the command cannot explain anything.
#[derive(Debug, thiserror::Error)]
enum ExplainError {
    #[error(transparent)]
    ClusterState(#[from] ClusterStateError),
    #[error(transparent)]
    Print(#[from] PrintError),
}

impl ExplainArgs {
    /// Checks the flags against each other, and the names.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.state.cluster.selects() {
            return Err(
                "explain accepts names, not selectors; omit -A, -l and --field-selector, or use taintward \
                pending"
                    .to_owned(),
            );
        }
        parse_targets(&self.objects).map(drop).map_err(|why| why.to_string())
    }

    fn targets(&self) -> Vec<Target> {
        parse_targets(&self.objects).expect("the parser of the command line has checked the names")
    }
}

pub(crate) fn run(options: &ExplainArgs) -> ExitCode {
    let done = explain(options);
    if let Err(ExplainError::ClusterState(why)) = &done {
        stderr::errors(why.gaps());
    }
    stderr::exit_code(done)
}

fn explain(options: &ExplainArgs) -> Result<ExitCode, ExplainError> {
    let targets = options.targets();
    let context = ExplainContext::read(options, &targets)?;
    let state = &context.related.state;
    stderr::errors(&state.gaps);
    state.notes.iter().for_each(stderr::note);
    let explanations = Explanations::of(&context, &targets);
    stderr::errors(&explanations.missing);
    if !explanations.found.is_empty() {
        options.state.output.print(&explanations)?;
    }
    let is_whole = state.gaps.is_empty() && explanations.missing.is_empty();
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The data behind the explanations.
struct ExplainContext {
    related: RelatedObjects,
    /// `None` for files, which have no leases.
    controllers: Option<ActiveControllers>,
    policies: ClusterPolicies,
    /// What delays due pods.
    delays: DueDelays,
    /// The namespace of pods; `None`: any.
    namespace: Option<String>,
}

impl ExplainContext {
    /// Reads the files or the cluster that the options name.
    fn read(options: &ExplainArgs, targets: &[Target]) -> Result<Self, ClusterStateError> {
        let names = |kind| {
            let those = targets.iter().filter(move |target| target.kind == kind);
            those.map(|target| target.name.clone()).collect()
        };
        let (pods, nodes) = (names(TargetKind::Pod), names(TargetKind::Node));
        let workloads = targets.iter().filter_map(|target| match target.kind {
            TargetKind::Workload(owner) => Some((owner, target.name.clone())),
            TargetKind::Pod | TargetKind::Node => None,
        });
        let workloads = workloads.collect();
        let past = targets.iter().any(|target| target.kind != TargetKind::Pod);
        let (as_of, numeric, cluster) =
            (options.state.as_of, options.state.numeric(), &options.state.cluster);
        if !options.filename.is_empty() {
            let named = cluster.named_namespace();
            let namespace = (!named.is_empty()).then(|| named.to_owned());
            let wanted = ObjectNames { pods, nodes, workloads, past, namespace: namespace.clone() };
            let mut related = in_files(&options.filename, wanted, as_of, numeric);
            if related.state.snapshot.nodes().is_empty() {
                return Err(no_nodes(related.state));
            }
            let (policies, delays) = match &related.state.objects {
                Some(objects) => {
                    let lists = ObjectLists::Files(objects);
                    Runtime::new()?.block_on(eviction_policies::read(
                        lists,
                        None,
                        &mut related.state.snapshot,
                    ))
                }
                None => Default::default(),
            };
            return Ok(Self { related, controllers: None, policies, delays, namespace });
        }
        let runtime = Runtime::new()?;
        runtime.block_on(async {
            let reader = ClusterReader::of(cluster).await?;
            let namespace = Some(cluster.namespace(&reader.connected).to_owned());
            let wanted = ObjectNames { pods, nodes, workloads, past, namespace: namespace.clone() };
            let mut related = in_cluster(&reader, wanted, as_of, numeric).await;
            let now = related.state.snapshot.now().wall;
            let controllers = ActiveControllers::of(&reader, now).await;
            let (policies, delays) =
                eviction_policies::read(reader.lists(), Some(&controllers), &mut related.state.snapshot)
                    .await;
            Ok(Self { related, controllers: Some(controllers), policies, delays, namespace })
        })
    }

    const fn snapshot(&self) -> &ClusterSnapshot {
        &self.related.state.snapshot
    }

    /// The namespace of pods; `None`: any.
    fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Events about the pods of this name, the newest last.
    fn events(&self, namespace: Option<&str>, name: &str) -> Vec<&EventDetails> {
        let is_about = |event: &&EventDetails| {
            event.about == name && namespace.is_none_or(|namespace| event.namespace == namespace)
        };
        let mut events: Vec<&EventDetails> = self.related.details.events.iter().filter(is_about).collect();
        events.sort_by_key(|event| event.last);
        events
    }

    /// Past evictions, the newest last.
    fn past_evictions(&self) -> Vec<PastEviction<'_>> {
        PastEviction::all(self.snapshot(), &self.related.details.past_events)
    }

    /// The note about a taint of a node.
    fn note(&self, node: &str, taint: &Taint) -> Option<TaintNote> {
        let annotations = &self.related.details.nodes.get(node)?.annotations;
        TaintNote::about(taint, |key| annotations.get(key).map(String::as_str))
    }
}

/// The explanation of one object.
trait Explanation {
    /// `pod/web-1`, `deployment/web`.
    fn name(&self) -> String;

    /// The text for people, without the meanings of taints that were shown before.
    fn text(&self, view: &PrintOptions, shown: &mut ShownMeanings, text: &mut String);

    /// The object for programs.
    fn object(&self) -> Value;
}

/// An explanation, or a sentence about why there is none.
type ExplanationResult<'s> = Result<Box<dyn Explanation + 's>, String>;

/// The explanations of all targets.
struct Explanations<'s> {
    context: &'s ExplainContext,
    found: Vec<Box<dyn Explanation + 's>>,
    /// A sentence for each target that was not found.
    missing: Vec<String>,
}

impl<'s> Explanations<'s> {
    fn of(context: &'s ExplainContext, targets: &'s [Target]) -> Self {
        let mut all = Self { context, found: Vec::new(), missing: Vec::new() };
        for target in targets {
            let explained = match target.kind {
                TargetKind::Node => node::explain(context, &target.name),
                TargetKind::Pod | TargetKind::Workload(_) => pod::explain(context, target),
            };
            match explained {
                Ok(explanation) => all.found.push(explanation),
                Err(why) => all.missing.push(why),
            }
        }
        all
    }
}

/// The JSON of docs/explanation.schema.json: fields are only added, and always present unless the schema makes them
/// optional.
impl Printable for Explanations<'_> {
    fn object(&self) -> Value {
        let now = self.context.snapshot().now();
        let items: Vec<Value> = self.found.iter().map(|explanation| explanation.object()).collect();
        let missing = self.missing.iter().cloned();
        let gaps: Vec<String> =
            self.context.related.state.gaps.iter().map(ToString::to_string).chain(missing).collect();
        let frame = |object: &mut Value| {
            let state = &self.context.related.state;
            object["apiVersion"] = json!(API_VERSION);
            object["complete"] = json!(gaps.is_empty());
            object["from"] = json!(state.from);
            object["asOf"] = stamp(now.mono);
            object["readErrors"] = json!(gaps);
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
        self.found.iter().map(|explanation| explanation.name()).collect()
    }

    fn human(&self, view: &PrintOptions) -> String {
        let mut text = String::new();
        let state = &self.context.related.state;
        if view.headers {
            paragraph(&mut text, &messages::about(&state.from, state.snapshot.now()), view);
        }
        let mut shown = ShownMeanings::default();
        for (at, explanation) in self.found.iter().enumerate() {
            if at > 0 || view.headers {
                text.push('\n');
            }
            explanation.text(view, &mut shown, &mut text);
        }
        let gaps = self.context.related.state.gaps.len() + self.missing.len();
        if gaps > 0 {
            let reads = if gaps == 1 { "one read".to_owned() } else { format!("{gaps} reads") };
            text.push('\n');
            paragraph(
                &mut text,
                &format!("This answer is partial: {reads} failed, see the errors above."),
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
