//! # Survey: a cluster, or files of one, as a snapshot
//! Room:     what `plan`, `explain` and `pending` look at: nodes, pods, disruption budgets.
//! Comes in: [`Source`]: a cluster, or what `-f` names.
//! Goes out: a [`Survey`]: the snapshot, where it came from, and what could not be read.
//! Keeps:    pods and nodes are read by the controller's own decoders, so that both see the same; a gap is said, with
//!           what the answer lacks because of it.
//! Not here: what is asked of the snapshot (the core).

pub(crate) mod closeup;
mod cluster;
mod files;
pub(crate) mod near;
mod objects;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use cluster::{Reach, of_nodes};
pub(crate) use files::sort;

use crate::kube_args::Cluster;
use crate::manifest::Mark;
use jiff::Timestamp;
use std::fmt;
use std::path::PathBuf;
use taintward_client::clock::Clock;
use taintward_client::connect::{ConnectError, ProbeError};
use taintward_core::matching::NumericOperators;
use taintward_core::snapshot::Snapshot;
use taintward_core::time::Wall;

/// Where a cluster's state comes from.
#[derive(Debug)]
pub(crate) enum Source {
    Files(Vec<PathBuf>),
    Cluster(Box<Cluster>),
}

/// The state of a cluster, as far as it could be read.
#[derive(Debug)]
pub(crate) struct Survey {
    pub(crate) snapshot: Snapshot,
    /// In words: a context and server, or the files.
    pub(crate) from: String,
    /// What could not be read, and what is lacking because of it: the answer is partial.
    pub(crate) gaps: Vec<Gap>,
}

/// Something that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    /// The file; empty for a cluster.
    pub(crate) file: String,
    /// Line 0: the whole file.
    pub(crate) at: Mark,
    pub(crate) why: String,
}

/// `web.yaml:3:7: ...`, `web.yaml ...` or what a server said.
impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.file.as_str(), self.at) {
            ("", _) => f.write_str(&self.why),
            (file, Mark { line: 0, .. }) => write!(f, "{file} {}", self.why),
            (file, Mark { line, column }) => write!(f, "{file}:{line}:{column}: {}", self.why),
        }
    }
}

/// Why there is no survey at all.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SurveyError {
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error("{place}: {why}")]
    Unreachable { place: String, why: ProbeError },
    #[error("{}there is no node in {from}; {way_out}", before(gaps))]
    NoNodes { from: String, gaps: Vec<Gap>, way_out: &'static str },
    #[error("the operating system refuses what the program needs to start: {0}")]
    Start(#[from] std::io::Error),
}

/// What a file without nodes lacks.
const GIVE_NODES: &str =
    "give the nodes too, as from: kubectl get nodes,pods,pdb -A -o json --show-managed-fields";

/// What could not be read, before what follows from that.
fn before(gaps: &[Gap]) -> String {
    gaps.iter().map(|gap| format!("{gap}\nerror: ")).collect()
}

/// Which moment it is, for judging.
pub(crate) fn moment(as_of: Option<Timestamp>) -> Wall {
    as_of.map_or_else(|| Clock::system().now().wall, |as_of| Wall::from_micros(as_of.as_microsecond()))
}

/// Reads what is needed to say who leaves.
pub(crate) fn survey(
    from: &Source,
    as_of: Option<Timestamp>,
    numeric: NumericOperators,
) -> Result<Survey, SurveyError> {
    let survey = match from {
        Source::Files(paths) => files::survey(paths, as_of, numeric),
        Source::Cluster(cluster) => cluster::survey(cluster, as_of, numeric)?,
    };
    match (survey.snapshot.nodes().is_empty(), from) {
        (false, _) => {}
        (true, Source::Files(_)) => return Err(no_nodes(survey)),
        (true, Source::Cluster(_)) => {
            let way_out = "without nodes nothing can be said";
            return Err(SurveyError::NoNodes { from: survey.from, gaps: survey.gaps, way_out });
        }
    }
    Ok(survey)
}

/// Files without nodes: nothing can be said of pods.
pub(crate) fn no_nodes(Survey { from, gaps, .. }: Survey) -> SurveyError {
    SurveyError::NoNodes { from, gaps, way_out: GIVE_NODES }
}

/// Pods on nodes that could not be had are a gap of their own.
fn lost(count: usize) -> Option<Gap> {
    let why = match count {
        0 => return None,
        1 => "1 pod is on a node that is not there; nothing is said of it".to_owned(),
        many => format!("{many} pods are on nodes that are not there; nothing is said of them"),
    };
    Some(Gap { file: String::new(), at: Mark::default(), why })
}
