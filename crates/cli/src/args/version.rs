//! Defines the flags of `taintward version`.

use crate::args::kube_args::{ServerArgs, WHICH};
use crate::output::{OutputArgs, OutputError};
use crate::version::VersionOptions;
use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct VersionArgs {
    /// Only the version of this program; no API server is asked
    #[arg(long, conflicts_with_all = WHICH)]
    client: bool,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    server: ServerArgs,
}

impl VersionArgs {
    pub(super) fn settle(self) -> Result<VersionOptions, OutputError> {
        let server = (!self.client).then(|| self.server.settle());
        Ok(VersionOptions { server, output: self.output.settle()? })
    }
}
