//! Runs the parsed command and returns its exit code.

use crate::board_command;
use crate::cli::{self, ProgramCommand};
use crate::complete;
use crate::docs;
use crate::doctor::{self, DoctorArgs, LintCounts};
use crate::explain;
use crate::history;
use crate::install;
use crate::lint;
use crate::output;
use crate::pending;
use crate::plan;
use crate::record_command;
use crate::replay;
use crate::run;
use crate::sandbox;
use crate::status;
use crate::stderr;
use crate::taint;
use crate::toleration_seconds::backfill;
use crate::toleration_seconds::guard;
use crate::toleration_seconds::hold;
use crate::version;
use crate::webhook;
use std::io::{self, Write as _};
use std::process::ExitCode;
use taintward_controller::logging;

pub(crate) fn main() -> ExitCode {
    logging::report_panics(|sentence| stderr::error(sentence));
    if let Some(words) = complete::words() {
        return complete::run(words);
    }
    match cli::parse() {
        Ok(Some(command)) => run(command),
        Ok(None) => print(&cli::help()),
        Err(complaint) => {
            let printed = complaint.print().and_then(|()| io::stdout().flush());
            match (complaint.exit_code(), printed) {
                (0, Err(why)) if why.kind() != io::ErrorKind::BrokenPipe => {
                    stderr::error(format!("cannot write to standard output: {why}"));
                    ExitCode::FAILURE
                }
                (0, _) => ExitCode::SUCCESS,
                // As with kubectl, also if the error cannot be printed; 2 means that something was found.
                _ => ExitCode::FAILURE,
            }
        }
    }
}

fn run(command: ProgramCommand) -> ExitCode {
    match command {
        ProgramCommand::Plan(options) => plan::run(&options),
        ProgramCommand::Explain(options) => explain::run(&options),
        ProgramCommand::Pending(options) => pending::run(&options),
        ProgramCommand::Status(options) => status::run(&options),
        ProgramCommand::Board(options) => stderr::exit_code(board_command::run(&options)),
        ProgramCommand::Lint(options) => lint::run(&options),
        ProgramCommand::Doctor(options) => doctor::run(&options, &lint_counts),
        ProgramCommand::Taint(options) => {
            taint::run(&options, &|nodes| plan::preview(&options.cluster, nodes, options.budget_respect()))
        }
        ProgramCommand::Sandbox(command) => sandbox::run(command),
        ProgramCommand::Install(options) => stderr::exit_code(install::run(&options)),
        ProgramCommand::Run(options) => run::run(*options),
        ProgramCommand::Webhook(options) => webhook::serve(*options),
        ProgramCommand::Backfill(options) => stderr::exit_code(backfill::run(&options)),
        ProgramCommand::Hold(options) => stderr::exit_code(hold::hold(&options)),
        ProgramCommand::Release(options) => stderr::exit_code(hold::release(&options)),
        ProgramCommand::Guard(options) => stderr::exit_code(guard::run(&options)),
        ProgramCommand::History(options) => history::run(&options),
        ProgramCommand::Record(options) => record_command::run(&options),
        ProgramCommand::Replay(options) => replay::run(&options),
        ProgramCommand::Version(options) => version::run(&options),
        ProgramCommand::Options => print(&cli::connection_flags()),
        ProgramCommand::Completion(options) => print(options.shell.script()),
        ProgramCommand::Docs(options) => {
            stderr::exit_code(docs::write(&options, &cli::program()).map(|text| print(&text)))
        }
    }
}

/// The findings of `lint` for the objects that `doctor` reads.
fn lint_counts(options: &DoctorArgs) -> LintCounts {
    match lint::count(&options.filename, &options.server.clone().into()) {
        Ok((errors, warnings)) => LintCounts { errors, warnings, failure: None },
        Err(why) => LintCounts { failure: Some(why), ..LintCounts::default() },
    }
}

fn print(text: &str) -> ExitCode {
    stderr::exit_code(output::print(text))
}
