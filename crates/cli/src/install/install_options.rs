//! Defines what `taintward install` can do.

use super::values::InstallValues;
use crate::args::kube_args::ServerOptions;
use std::path::PathBuf;
use std::time::Duration;

/// The options of `taintward install`.
#[derive(Debug)]
pub(crate) struct InstallOptions {
    pub(crate) values: InstallValues,
    pub(crate) what: InstallAction,
    /// Prints objects as JSON, in a `List`.
    pub(crate) json: bool,
    pub(crate) server: ServerOptions,
    /// How long the command waits for definitions, and for deleted pools.
    pub(crate) timeout: Duration,
    /// Continues although pods are held or have a ceiling.
    pub(crate) keep_seconds: bool,
    /// Asks on a terminal before it deletes.
    pub(crate) asks: bool,
}

/// The action of the command.
#[derive(Debug)]
pub(crate) enum InstallAction {
    Print,
    Apply(DryRunKind, ConflictPolicy),
    /// Prints what would be deleted.
    PrintRemoval(PoolRemoval),
    Remove(DryRunKind, PoolRemoval),
    /// Writes the chart into a folder.
    Chart(PathBuf),
}

/// Whether requests are dry runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DryRunKind {
    No,
    /// The command only reads.
    Client,
    /// The API server checks every write and stores none.
    Server,
}

/// What the command does with fields that another client manages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConflictPolicy {
    Reject,
    Take,
}

/// What the removal does with pools and policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PoolRemoval {
    /// Removes nothing while pools exist.
    Reject,
    /// Keeps them, and the taints of their nodes.
    Keep,
    /// Deletes them first, then their definitions.
    Delete,
}
