//! Says why there is no list of pending pods.

use crate::cluster_state::ClusterStateError;
use crate::output::PrintError;
use std::io;

/// Why there is no list.
#[derive(Debug, thiserror::Error)]
pub(super) enum PendingError {
    #[error(transparent)]
    ClusterState(#[from] ClusterStateError),
    #[error(transparent)]
    Print(#[from] PrintError),
    #[error("the operating system refuses what the program needs to go on: {0}")]
    System(#[from] io::Error),
    #[error("{place}: may not {verb} {what}, which -w needs: grant the verb {verb} on {resource}")]
    Forbidden { place: String, verb: &'static str, resource: &'static str, what: String },
    #[error("{0}")]
    Rejected(String),
}
