//! Defines the flags of `taintward plan`.

use super::node_edits::{NodeEdit, NodeFailure, NodeSet};
use crate::args::cluster_state::{ClusterStateArgs, EXPECTED};
use crate::completion_kind::CompletionKind;
use clap::{ArgAction, Args};
use jiff::Timestamp;
use std::path::PathBuf;
use std::time::Duration;
use taintward_core::node_lifecycle::{InvalidFlag, NodeLifecycleConfig, NodeLifecycleFlags};
use taintward_core::taint_edit::{self, TaintEdit};
use taintward_core::time::Span;

// A taint concerns the pods of all namespaces, so all pods count unless flags select some.
#[derive(Debug, Args)]
#[command(
    mut_arg("namespace", |arg| arg.help("Only pods of this namespace. The default is all namespaces")),
    mut_arg("all_namespaces", |arg| arg.hide(true)),
    mut_arg("selector", |arg| arg.help("Only pods with these labels, as in app=web,tier!=cache")),
    mut_arg("field_selector", |arg| arg.help("Only pods whose fields match, as in status.phase=Running"))
)]
pub(crate) struct PlanArgs {
    /// If these nodes got this taint, as in --taint n1 dedicated=db:NoExecute. NODES is a name, names with commas
    /// between, labels such as pool=db, or '*' for all; all flags that change something may be repeated
    #[arg(long, num_args = 2, value_names = ["NODES", "TAINT"], action = ArgAction::Append)]
    taint: Vec<String>,
    /// Positional arguments are an error; the message shows the flags for what `taintward taint` accepts
    #[arg(value_name = "WORDS", hide = true)]
    words: Vec<String>,
    /// If these nodes lost this taint: KEY or KEY:EFFECT
    #[arg(long, num_args = 2, value_names = ["NODES", "TAINT"], action = ArgAction::Append)]
    untaint: Vec<String>,
    /// If these nodes were cordoned: no pod is evicted, but no new pod can be scheduled there
    #[arg(long, value_name = "NODES", value_parser = NodeSet::parse, add = CompletionKind::NodeName.completer())]
    cordon: Vec<NodeSet>,
    /// If these nodes were not cordoned
    #[arg(long, value_name = "NODES", value_parser = NodeSet::parse, add = CompletionKind::NodeName.completer())]
    uncordon: Vec<NodeSet>,
    /// If kubectl drain drained these nodes: it cordons them, and evicts their pods as disruption budgets permit
    #[arg(long, value_name = "NODES", value_parser = NodeSet::parse, add = CompletionKind::NodeName.completer())]
    drain: Vec<NodeSet>,
    /// If these nodes stopped reporting now: node lifecycle taints them after the grace period, one by one in each
    /// zone
    #[arg(long, value_name = "NODES", value_parser = NodeSet::parse, add = CompletionKind::NodeName.completer())]
    node_dead: Vec<NodeSet>,
    /// If all nodes of this zone stopped reporting now
    #[arg(long, value_name = "ZONE")]
    zone_dead: Vec<String>,
    /// The cluster's state in files, as kubectl get -o yaml or json prints it, a folder of them, or - for standard
    /// input; may be repeated. If the state comes from elsewhere, a file that contains only nodes is a change of these
    /// nodes. The default is the current cluster
    #[arg(short, long, value_name = "FILE|FOLDER|-")]
    pub(crate) filename: Vec<PathBuf>,
    /// A file of changed nodes; the plan uses only their spec.taints and spec.unschedulable
    #[arg(long, value_name = "FILE")]
    pub(crate) change: Vec<PathBuf>,
    /// Shows the state at this time: +10m, or a time such as 2026-11-21T14:00:00Z
    #[arg(long, value_name = "MOMENT", value_parser = moment, allow_hyphen_values = true)]
    pub(crate) at: Option<PlanMoment>,
    /// How long a node may be silent before node lifecycle taints it
    #[arg(long, value_name = "DURATION", default_value = "50s", value_parser = crate::args::duration::positive)]
    node_monitor_grace_period: Duration,
    /// The events that make the exit code 2: evicted (a pod is evicted), budget (a disruption budget is violated, or
    /// rejects an eviction), unschedulable (no node accepts an evicted pod, or a
    /// workload of these nodes any more), not-recreated (no controller recreates an
    /// evicted pod, or its Job fails), never; separate several with commas
    #[arg(
        long,
        value_name = "WHAT",
        value_enum,
        value_delimiter = ',',
        default_value = "evicted",
        hide_possible_values = true
    )]
    pub(crate) fail_on: Vec<PlanFailOn>,
    /// Maximum number of rows of each table; 0 shows all. The default is 100 on a terminal, and all rows elsewhere
    #[arg(long, value_name = "ROWS")]
    pub(crate) limit: Option<usize>,
    #[command(flatten)]
    pub(crate) state: ClusterStateArgs,
}

/// The time up to which leaving pods count as gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlanMoment {
    /// This much later than the moment of the plan.
    In(Span),
    /// This time.
    Moment(Timestamp),
}

/// The events that make the exit code 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum PlanFailOn {
    /// A pod is evicted
    Evicted,
    /// A disruption budget is violated, or refuses an eviction
    Budget,
    /// An evicted pod fits on no node
    Unschedulable,
    /// No controller recreates an evicted pod
    NotRecreated,
    /// Nothing
    Never,
}

/// Why the flags are invalid.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlanArgsError {
    #[error("unexpected argument {word:?}; write --taint {nodes} {taint}, and -f before each file")]
    Words { word: String, nodes: String, taint: String },
    #[error("{flag} {nodes} {taint}: {why}")]
    Taint { flag: &'static str, nodes: String, taint: String, why: String },
    #[error("--limit applies to tables only; omit it with this output format, which is always complete")]
    Limit,
    #[error(transparent)]
    Flag(#[from] InvalidFlag),
}

/// Parses `+10m`, or a time with its zone.
fn moment(text: &str) -> Result<PlanMoment, String> {
    if let Some(later) = text.strip_prefix('+') {
        let later = crate::args::duration::positive(later)?;
        let micros = i64::try_from(later.as_micros()).map_err(|_| "the duration is too long".to_owned())?;
        return Ok(PlanMoment::In(Span::from_micros(micros)));
    }
    let time = text.parse().map(PlanMoment::Moment);
    time.map_err(|_| format!("{EXPECTED}, or +10m for ten minutes from the moment of the plan"))
}

/// Converts pairs of nodes and a taint to edits.
fn edits(flag: &'static str, pairs: &[String], removes: bool) -> Result<Vec<NodeEdit>, PlanArgsError> {
    let edit = |pair: &[String]| {
        let [nodes, taint] = pair else { unreachable!("the parser takes them in pairs") };
        let wrong = |why| PlanArgsError::Taint { flag, nodes: nodes.clone(), taint: taint.clone(), why };
        let set = NodeSet::parse(nodes).map_err(wrong)?;
        let change = read(taint, removes).map_err(wrong)?;
        Ok(NodeEdit::Taints { nodes: set, change })
    };
    pairs.chunks(2).map(edit).collect()
}

fn read(taint: &str, removes: bool) -> Result<TaintEdit, String> {
    let spec = if removes && !taint.ends_with('-') { format!("{taint}-") } else { taint.to_owned() };
    let change = taint_edit::parse(&[&spec]).map_err(|why| {
        let before = spec.get(..why.at).map_or(0, |before| before.chars().count());
        format!("{}\n  {spec}\n  {:before$}^\n  kubectl: {why}", why.hint(), "")
    })?;
    match (removes, change.add.is_empty()) {
        (false, true) => Err("this removes a taint; use --untaint".to_owned()),
        _ => Ok(change),
    }
}

impl PlanArgs {
    /// Checks the flags against each other.
    pub(crate) fn check(&self) -> Result<(), PlanArgsError> {
        if let Some(word) = self.words.first() {
            let is_taint = |word: &&String| word.contains([':', '=']);
            let of = |word: Option<&String>, else_: &str| word.map_or_else(|| else_.to_owned(), Clone::clone);
            let is_type = |word: &&String| ["node", "nodes", "no"].contains(&word.as_str());
            let nodes = self.words.iter().find(|word| !is_taint(word) && !is_type(word));
            let taint = of(self.words.iter().find(is_taint), "dedicated=db:NoExecute");
            return Err(PlanArgsError::Words { word: word.clone(), nodes: of(nodes, "n1"), taint });
        }
        self.edits()?;
        self.node_lifecycle()?;
        if self.limit.is_some() && !self.state.output.is_for_people() {
            return Err(PlanArgsError::Limit);
        }
        Ok(())
    }

    /// The edits that the flags describe.
    pub(crate) fn edits(&self) -> Result<Vec<NodeEdit>, PlanArgsError> {
        let mut all = edits("--taint", &self.taint, false)?;
        all.extend(edits("--untaint", &self.untaint, true)?);
        let cordon = |cordoned| move |nodes: &NodeSet| NodeEdit::Cordon { nodes: nodes.clone(), cordoned };
        all.extend(self.cordon.iter().map(cordon(true)));
        all.extend(self.uncordon.iter().map(cordon(false)));
        all.extend(self.drain.iter().cloned().map(NodeEdit::Drain));
        all.extend(self.node_dead.iter().cloned().map(NodeFailure::Nodes).map(NodeEdit::Silence));
        all.extend(self.zone_dead.iter().cloned().map(NodeFailure::Zone).map(NodeEdit::Silence));
        Ok(all)
    }

    /// The settings of node lifecycle.
    pub(crate) fn node_lifecycle(&self) -> Result<NodeLifecycleConfig, InvalidFlag> {
        let grace = i64::try_from(self.node_monitor_grace_period.as_micros()).unwrap_or(i64::MAX);
        NodeLifecycleConfig::new(&NodeLifecycleFlags {
            monitor_grace_micros: grace,
            ..NodeLifecycleFlags::default()
        })
    }
}
