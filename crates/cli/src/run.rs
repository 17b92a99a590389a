//! Runs `taintward run`: the controllers against a cluster.
//!
//! - See `run/run_args.rs` for the flags, `taintward_controller::run` for the work.

mod cluster_args;
mod election_args;
mod node_health_args;
mod record_args;
mod record_dump;
mod run_args;
mod run_args_error;
mod serving_args;
mod toleration_seconds_args;

pub(crate) use run_args::RunOptions;

use crate::confirm;
use crate::runtime::Runtime;
use crate::stderr;
use std::borrow::Cow;
use std::env;
use std::error::Error;
use std::io;
use std::process::ExitCode;
use taintward_controller::logging;
use taintward_controller::run::{RunError, run as run_controllers};
use taintward_controller::settings::EnabledControllers;
use taintward_controller::shutdown::Shutdown;
use taintward_kube::config::connect;

/// A notice about a flag's effect that the operator should know, logged after the log is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FlagNotice {
    pub(crate) flag: Cow<'static, str>,
    pub(crate) text: String,
}

/// Why the command failed.
#[derive(Debug, thiserror::Error)]
enum RunCommandError {
    #[error("cannot start the async runtime: {0}")]
    Start(#[from] io::Error),
    #[error(
        "cannot ask for confirmation on the terminal: {0}; nothing was started; give --mode=enforce or --mode=observe"
    )]
    Prompt(io::Error),
    #[error("aborted: nothing was started")]
    Declined,
    #[error(
        "cannot write the record to {folder}: {error}; correct --record-dir, or omit it to run without a record"
    )]
    Record { folder: String, error: io::Error },
    #[error(transparent)]
    Run(#[from] RunError),
}

pub(crate) fn run(options: RunOptions) -> ExitCode {
    let runtime = match before_start(&options) {
        Ok(runtime) => runtime,
        Err(why) => {
            stderr::error(why);
            return ExitCode::FAILURE;
        }
    };
    if let Err(error) = logging::start(options.logging) {
        stderr::error(format!("cannot start logging: {error}"));
        return ExitCode::FAILURE;
    }
    for notice in &options.notices {
        tracing::warn!(flag = &*notice.flag, reason = notice.text, "a flag needs attention");
    }
    match drive(&runtime, options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            tracing::error!(err = &failure as &dyn Error, "taintward cannot continue");
            ExitCode::FAILURE
        }
    }
}

fn before_start(options: &RunOptions) -> Result<Runtime, RunCommandError> {
    let runtime = Runtime::new()?;
    match runtime.block_on(is_confirmed(options)).map_err(RunCommandError::Prompt)? {
        true => Ok(runtime),
        false => Err(RunCommandError::Declined),
    }
}

/// Whether the process may start. A user who starts it on a terminal is asked first, because the kubeconfig may name
/// another cluster than intended; not inside a cluster, and not with an explicit `--mode`.
async fn is_confirmed(options: &RunOptions) -> io::Result<bool> {
    let in_cluster = env::var_os("KUBERNETES_SERVICE_HOST").is_some();
    if !options.needs_confirmation || in_cluster || !confirm::is_possible() {
        return Ok(true);
    }
    // An error of the configuration appears when the controllers start.
    let Ok(cluster) = connect(&options.settings.cluster.connection()).await else { return Ok(true) };
    confirm::prompt(&question(&cluster.where_from, &options.settings.controllers))
}

fn question(cluster: &str, controllers: &EnabledControllers) -> String {
    let what = match controllers.taint_eviction || controllers.toleration_guard.is_some() {
        true => "evicts pods of",
        false => "changes nodes or pods of",
    };
    format!(
        "This process {what} the cluster of {cluster}. With --mode=observe, it only watches; with --mode=enforce, it \
         does not ask."
    )
}

fn drive(runtime: &Runtime, options: RunOptions) -> Result<(), RunCommandError> {
    let RunOptions { mut settings, record, .. } = options;
    let failed = |error| RunCommandError::Record { folder: record.place(), error };
    let recorder = record.recorder().map_err(failed)?;
    settings.recorder = Some(recorder.clone());
    let of_panic = recorder.clone();
    logging::end_on_panic(move || record_dump::on_panic(&of_panic, &env::temp_dir()));
    let ended = runtime.block_on(async {
        record_dump::on_signal(recorder.clone())?;
        let shutdown = Shutdown::on_signals()?;
        Ok(run_controllers(settings, shutdown).await?)
    });
    recorder.finish();
    ended
}

/// Parses requests per second. A negative number means no limit, as in client-go.
fn rate(text: &str) -> Result<f64, &'static str> {
    let rate = text.parse().ok().filter(|rate: &f64| rate.is_finite());
    rate.ok_or("expected a rate per second, such as 50 or 0.5, or 0 for no limit")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_question_names_the_cluster_and_what_the_controllers_do() {
        let evicts = question("context \"prod\"", &EnabledControllers::default());
        assert!(
            evicts.starts_with("This process evicts pods of the cluster of context \"prod\"."),
            "{evicts}"
        );
        let none = EnabledControllers { taint_eviction: false, ..EnabledControllers::default() };
        assert!(question("x", &none).starts_with("This process changes nodes or pods of the cluster of x."));
    }
}
