//! Defines the logging flags of the commands that serve: `run` and `webhook`.

use super::choice::choice;
use clap::Args;
use taintward_controller::logging::{LogFormat, LogSettings, VERBOSITY_MAX};

#[derive(Debug, Args)]
#[command(next_help_heading = "Logging")]
pub(crate) struct LoggingArgs {
    /// text: one line per record, as klog writes it; json: one object per record
    #[arg(long, value_name = "FORMAT", default_value = "text", visible_alias = "logging-format")]
    #[arg(value_parser = choice([("text", LogFormat::Text), ("json", LogFormat::Json)]))]
    log_format: LogFormat,
    /// The verbosity of the log, 0 to 10: 2 adds decisions, 4 all facts, 6 and 8 messages of libraries
    #[arg(short = 'v', long = "v", value_name = "LEVEL", default_value = "0")]
    #[arg(value_parser = clap::value_parser!(u8).range(0..=i64::from(VERBOSITY_MAX)))]
    verbosity: u8,
}

impl LoggingArgs {
    pub(crate) fn resolve(self) -> LogSettings {
        LogSettings { format: self.log_format, verbosity: self.verbosity }
    }
}
