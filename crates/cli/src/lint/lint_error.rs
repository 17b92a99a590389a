//! Says why there is no report at all.

use super::baseline::BaselineError;
use super::config::ConfigError;
use std::io;
use taintward_kube::config::{ConnectError, ProbeError};

/// Why there is no report at all.
#[derive(Debug, thiserror::Error)]
pub(super) enum LintError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Baseline(#[from] BaselineError),
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error("{place}: {why}")]
    Unreachable { place: String, why: ProbeError },
    #[error("the operating system refuses what the program needs to start: {0}")]
    Start(#[from] io::Error),
}
