//! Defines the flags of `taintward backfill`.

use crate::args::default_seconds;
use crate::args::kube_args::{ClusterOptions, KubeArgs};
use crate::output::{OutputArgs, OutputError, OutputOptions};
use clap::Args;
use taintward_core::admission::policy::DefaultDurations;

#[derive(Debug, Args)]
pub(crate) struct BackfillCommandArgs {
    /// The tolerationSeconds that count as a default, as for `taintward run --backfill-from`
    #[arg(long, value_name = "SECONDS", default_value = "300", value_delimiter = ',', value_parser = default_seconds::parse)]
    backfill_from: Vec<DefaultDurations>,
    #[command(flatten)]
    kube: KubeArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// The default seconds, the selected pods, and the output options.
#[derive(Debug)]
pub(crate) struct BackfillOptions {
    pub(super) replaced: Vec<DefaultDurations>,
    pub(super) cluster: ClusterOptions,
    pub(super) output: OutputOptions,
}

impl BackfillCommandArgs {
    pub(crate) fn resolve(self) -> Result<BackfillOptions, OutputError> {
        Ok(BackfillOptions {
            replaced: self.backfill_from,
            cluster: self.kube.resolve(),
            output: self.output.resolve()?,
        })
    }
}
