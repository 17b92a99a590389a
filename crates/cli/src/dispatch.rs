//! Runs the parsed command and returns its exit code.

use crate::args::{self, DocsOptions, ParsedCommand, RunOptions};
use crate::complete;
use crate::docs;
use crate::explain;
use crate::install;
use crate::lint;
use crate::output;
use crate::pending;
use crate::plan;
use crate::runtime::Runtime;
use crate::sandbox;
use crate::say;
use crate::taint;
use crate::version;
use crate::webhook;
use std::error::Error;
use std::io::{self, Write as _};
use std::process::ExitCode;
use taintward_controller::logging;
use taintward_controller::run::{RunError, run};
use taintward_controller::shutdown::Shutdown;

/// Why the program ends with an error.
#[derive(Debug, thiserror::Error)]
enum ProgramError {
    #[error("the operating system refuses what the program needs to start: {0}")]
    Start(#[from] io::Error),
    #[error(transparent)]
    Run(#[from] RunError),
}

pub(crate) fn main() -> ExitCode {
    if let Some(words) = complete::asked() {
        return complete::run(words);
    }
    match args::parse() {
        Ok(ParsedCommand::Run(plan)) => controller(*plan),
        Ok(ParsedCommand::Webhook(plan)) => webhook::serve(*plan),
        Ok(ParsedCommand::Sandbox(command)) => sandbox::run(command),
        Ok(ParsedCommand::Install(plan)) => install::run(&plan),
        Ok(ParsedCommand::Lint(plan)) => lint::run(&plan),
        Ok(ParsedCommand::Plan(ask)) => plan::run(*ask),
        Ok(ParsedCommand::Explain(ask)) => explain::run(&ask),
        Ok(ParsedCommand::Pending(ask)) => pending::run(&ask),
        Ok(ParsedCommand::Taint(plan)) => taint::run(&plan, &|nodes| plan::preview(&plan.cluster, nodes)),
        Ok(ParsedCommand::Print(text)) => print(&text),
        Ok(ParsedCommand::Version(plan)) => version::run(*plan),
        Ok(ParsedCommand::Docs(plan)) => docs(&plan),
        Err(complaint) => {
            let printed = complaint.print().and_then(|()| io::stdout().flush());
            match (complaint.exit_code(), printed) {
                (0, Err(why)) if why.kind() != io::ErrorKind::BrokenPipe => {
                    say::error(format!("cannot write to standard output: {why}"));
                    ExitCode::FAILURE
                }
                (0, _) => ExitCode::SUCCESS,
                // Nobody is left to tell if the terminal is gone.
                _ => ExitCode::from(args::misuse_code()),
            }
        }
    }
}

fn controller(plan: RunOptions) -> ExitCode {
    if let Err(error) = logging::start(plan.logging) {
        say::error(format!("cannot log: {error}"));
        return ExitCode::FAILURE;
    }
    logging::end_on_panic();
    for notice in &plan.notices {
        tracing::warn!(flag = notice.flag, "{}", notice.text);
    }
    match drive(plan) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            tracing::error!(err = &failure as &dyn Error, "taintward cannot go on");
            ExitCode::FAILURE
        }
    }
}

fn drive(plan: RunOptions) -> Result<(), ProgramError> {
    Runtime::new()?.block_on(async {
        let shutdown = Shutdown::on_signals()?;
        Ok(run(plan.settings, shutdown).await?)
    })
}

fn docs(plan: &DocsOptions) -> ExitCode {
    match docs::write(plan) {
        Ok(text) => print(&text),
        Err(why) => {
            say::error(why);
            ExitCode::FAILURE
        }
    }
}

fn print(text: &str) -> ExitCode {
    match output::print(text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            say::error(why);
            ExitCode::FAILURE
        }
    }
}
