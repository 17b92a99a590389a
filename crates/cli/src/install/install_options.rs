//! Defines what `taintward install` can do.

use super::values::InstallValues;
use crate::args::kube_args::ServerOptions;
use std::path::PathBuf;
use std::time::Duration;

/// What `taintward install` is to do.
#[derive(Debug)]
pub(crate) struct InstallOptions {
    pub(crate) values: InstallValues,
    pub(crate) what: InstallAction,
    /// As JSON, in a `List`, where objects are printed.
    pub(crate) json: bool,
    pub(crate) server: ServerOptions,
    /// How long definitions, and nodes of pools that are deleted, are waited for.
    pub(crate) patience: Duration,
}

/// What is done.
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

/// Whether it is only tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DryRunKind {
    No,
    /// Nothing is sent but reads.
    Client,
    /// The server checks everything and keeps nothing.
    Server,
}

/// What becomes of fields that others hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConflictPolicy {
    Refuse,
    Take,
}

/// What becomes of pools and policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PoolRemoval {
    /// Nothing is taken away while there are pools.
    Refuse,
    /// They stay, and their nodes as they are.
    Keep,
    /// They are deleted first, then their definitions.
    Delete,
}
