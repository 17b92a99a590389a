//! Defines the flags of `taintward doctor`.

use crate::args::kube_args::{ClusterOptions, ServerArgs, WHICH};
use crate::args::object_names;
use crate::output::{OutputArgs, OutputError, OutputOptions};
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Check whether you can install Taintward, and list what to change first. Without this flag, the command checks an
    /// installation
    #[arg(long)]
    pre: bool,
    /// The namespace of Taintward, present or planned
    #[arg(short, long, value_name = "NAME", default_value = "taintward-system", value_parser = object_names::namespace)]
    namespace: String,
    /// Objects in files, as kubectl get -o yaml or json prints them, a folder of them, or - for standard input; may be
    /// repeated. The default is the current cluster
    #[arg(short, long, value_name = "FILE|FOLDER|-", conflicts_with_all = WHICH)]
    filename: Vec<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// The options of `taintward doctor`.
#[derive(Debug)]
pub(crate) struct DoctorOptions {
    pub(crate) pre: bool,
    pub(crate) namespace: String,
    /// If empty, the command reads the cluster.
    pub(crate) files: Vec<PathBuf>,
    pub(crate) cluster: ClusterOptions,
    pub(crate) output: OutputOptions,
}

impl DoctorArgs {
    pub(crate) fn resolve(self) -> Result<DoctorOptions, OutputError> {
        Ok(DoctorOptions {
            pre: self.pre,
            namespace: self.namespace,
            files: self.filename,
            cluster: ClusterOptions::all_of(self.server.resolve()),
            output: self.output.resolve()?,
        })
    }
}
