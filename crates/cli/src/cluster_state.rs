//! Reads nodes, pods and disruption budgets from a cluster or from files into a snapshot, for `plan`, `explain` and
//! `pending`.
//!
//! - Invariant: the controller's own decoders read pods and nodes; what cannot be read is reported together with what
//!   the result lacks because of it.

mod clock;
mod cluster;
pub(crate) mod details;
mod files;
mod object_lists;
pub(crate) mod related;
mod selected_pods;

pub(crate) use clock::ServerClock;
pub(crate) use cluster::{ClusterReader, greeted, of_nodes, open};
#[cfg(test)]
pub(crate) use files::tests;
pub(crate) use files::{FileObjects, NO_UID, sort, with_uid};
pub(crate) use object_lists::ObjectLists;

use crate::args::kube_args::ClusterOptions;
use crate::manifest::TextPosition;
use crate::output::enumerated;
use crate::runtime::Runtime;
use details::RelatedDetails;
use jiff::Timestamp;
use selected_pods::SelectedPods;
use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use taintward_core::cluster_snapshot::ClusterSnapshot;
use taintward_core::identity::{NodeName, PodName};
use taintward_core::time::Wall;
use taintward_core::toleration_matching::NumericOperators;
use taintward_kube::config::{ConnectError, ProbeError};

/// The source of a cluster's state.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StateSource<'c> {
    /// Files, with the cluster options' selection of pods.
    Files(&'c [PathBuf], &'c ClusterOptions),
    Cluster(&'c ClusterOptions),
}

/// The state of a cluster, as far as it could be read.
#[derive(Debug)]
pub(crate) struct ClusterState {
    pub(crate) snapshot: ClusterSnapshot,
    /// The source as text: a context and server, or the files.
    pub(crate) from: String,
    /// Failed reads with their consequences: the result is partial.
    pub(crate) gaps: Vec<ReadError>,
    /// Remarks about the objects that were read; the result is complete nevertheless.
    pub(crate) notes: Vec<String>,
    /// For each pod of the snapshot, whether it is selected; empty: all are.
    pub(crate) about: Vec<bool>,
    /// What decides how due pods leave, if it was read from files in which something may delay evictions.
    pub(crate) objects: Option<FileObjects>,
}

/// Something that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReadError {
    /// The file; empty for a cluster.
    pub(crate) file: String,
    /// Line 0: the whole file.
    pub(crate) at: TextPosition,
    pub(crate) why: String,
}

impl ReadError {
    /// An error of a cluster.
    pub(crate) fn plain(why: String) -> Self {
        Self { file: String::new(), at: TextPosition::default(), why }
    }

    /// A failed read, and its consequence.
    fn of(why: &dyn fmt::Display, lacking: &str) -> Self {
        Self::plain(format!("{why}; {lacking}"))
    }
}

/// `web.yaml:3:7: ...`, `web.yaml ...` or a server's message.
impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.file.as_str(), self.at) {
            ("", _) => f.write_str(&self.why),
            (file, TextPosition { line: 0, .. }) => write!(f, "{file} {}", self.why),
            (file, TextPosition { line, column }) => write!(f, "{file}:{line}:{column}: {}", self.why),
        }
    }
}

/// Why the state cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClusterStateError {
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error("{place}: {why}")]
    Unreachable { place: String, why: ProbeError },
    #[error("{from} has no nodes; {way_out}")]
    NoNodes { from: String, gaps: Vec<ReadError>, way_out: &'static str },
    #[error("cannot judge pods without the nodes of {from}; fix the errors above")]
    UnreadNodes { from: String, gaps: Vec<ReadError> },
    #[error("namespace {0} does not exist; check -n")]
    NoNamespace(String),
    #[error("cannot start the async runtime: {0}")]
    Start(#[from] std::io::Error),
    #[error("-l or --field-selector: {0}")]
    Selector(String),
}

impl ClusterStateError {
    /// What could not be read, which may be the reason.
    pub(crate) fn gaps(&self) -> &[ReadError] {
        match self {
            Self::NoNodes { gaps, .. } | Self::UnreadNodes { gaps, .. } => gaps,
            _ => &[],
        }
    }
}

/// The remedy for files without nodes.
const GIVE_NODES: &str =
    "add the nodes, as in the output of kubectl get nodes,pods,pdb -A -o json --show-managed-fields";

/// The time to evaluate at.
pub(crate) fn moment(as_of: Option<Timestamp>, clock: &ServerClock) -> Wall {
    as_of.map_or_else(|| clock.now().wall, |as_of| Wall::from_micros(as_of.as_microsecond()))
}

/// Reads the objects for a forecast of evictions.
pub(crate) fn read(
    from: StateSource<'_>,
    as_of: Option<Timestamp>,
    numeric: NumericOperators,
) -> Result<ClusterState, ClusterStateError> {
    let state = match from {
        StateSource::Files(paths, cluster) => {
            files::read(paths, SelectedPods::of(cluster)?, RelatedDetails::default(), as_of, numeric).0
        }
        StateSource::Cluster(cluster) => Runtime::new()?
            .block_on(async { ClusterReader::of(cluster).await?.read(as_of, numeric).await })?,
    };
    match (state.snapshot.nodes().is_empty(), from) {
        (false, _) => {}
        (true, StateSource::Files(..)) => return Err(no_nodes(state)),
        (true, StateSource::Cluster(_)) if !state.gaps.is_empty() => {
            return Err(ClusterStateError::UnreadNodes { from: state.from, gaps: state.gaps });
        }
        (true, StateSource::Cluster(_)) => {
            let way_out = "pods cannot be judged without their nodes";
            return Err(ClusterStateError::NoNodes { from: state.from, gaps: state.gaps, way_out });
        }
    }
    Ok(state)
}

/// The error for files without nodes, from which nothing follows for pods.
pub(crate) fn no_nodes(ClusterState { from, gaps, .. }: ClusterState) -> ClusterStateError {
    ClusterStateError::NoNodes { from, gaps, way_out: GIVE_NODES }
}

/// The largest number of pods named.
pub(crate) const NAMED_MAX: usize = 5;

/// The remark about pods on nodes that do not exist.
fn gone(lost: &[(PodName, NodeName)]) -> Option<String> {
    if lost.is_empty() {
        return None;
    }
    let nodes: BTreeSet<&str> = lost.iter().map(|(_, node)| node.as_str()).collect();
    let nodes: Vec<&str> = nodes.into_iter().collect();
    let pods = if lost.len() == 1 { "1 pod is".to_owned() } else { format!("{} pods are", lost.len()) };
    let noun = match (lost.len(), nodes.len()) {
        (1, _) => "its node",
        (_, 1) => "their node",
        _ => "their nodes",
    };
    let verb = if nodes.len() == 1 { "does" } else { "do" };
    let pods_named: Vec<&str> = lost.iter().map(|(pod, _)| pod.as_str()).collect();
    let (nodes, pods_named) = (enumerated(&nodes, NAMED_MAX), enumerated(&pods_named, NAMED_MAX));
    Some(format!("{pods} not judged, because {noun} {nodes} {verb} not exist: {pods_named}"))
}
