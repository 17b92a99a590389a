//! Runs the parsed command and returns its exit code.

use crate::backfill;
use crate::board_command;
use crate::cli::{self, ParsedCommand};
use crate::complete;
use crate::docs::{self, DocsOptions};
use crate::doctor::{self, DoctorOptions, LintCounts};
use crate::explain;
use crate::guard;
use crate::hold;
use crate::install;
use crate::lint::{self, LintSource};
use crate::output;
use crate::pending;
use crate::plan;
use crate::run;
use crate::sandbox;
use crate::say;
use crate::taint;
use crate::version;
use crate::webhook;
use std::io::{self, Write as _};
use std::process::ExitCode;
use taintward_controller::logging;

pub(crate) fn main() -> ExitCode {
    logging::report_panics(|sentence| say::error(sentence));
    if let Some(words) = complete::words() {
        return complete::run(words);
    }
    match cli::parse() {
        Ok(ParsedCommand::Run(options)) => run::run(*options),
        Ok(ParsedCommand::Webhook(options)) => webhook::serve(*options),
        Ok(ParsedCommand::Sandbox(command)) => sandbox::run(command),
        Ok(ParsedCommand::Install(options)) => install::run(&options),
        Ok(ParsedCommand::Lint(options)) => lint::run(&options),
        Ok(ParsedCommand::Doctor(options)) => doctor::run(&options, &lint_summary),
        Ok(ParsedCommand::Plan(options)) => plan::run(*options),
        Ok(ParsedCommand::Explain(options)) => explain::run(&options),
        Ok(ParsedCommand::Pending(options)) => pending::run(&options),
        Ok(ParsedCommand::Board(options)) => board_command::run(&options),
        Ok(ParsedCommand::Taint(options)) => {
            taint::run(&options, &|nodes| plan::preview(&options.cluster, nodes))
        }
        Ok(ParsedCommand::Backfill(options)) => backfill::run(&options),
        Ok(ParsedCommand::Guard(options)) => guard::run(&options),
        Ok(ParsedCommand::Hold(options)) => hold::run(&options),
        Ok(ParsedCommand::Print(text)) => print(&text),
        Ok(ParsedCommand::Version(options)) => version::run(*options),
        Ok(ParsedCommand::Docs(options)) => docs(&options),
        Err(complaint) => {
            let printed = complaint.print().and_then(|()| io::stdout().flush());
            match (complaint.exit_code(), printed) {
                (0, Err(why)) if why.kind() != io::ErrorKind::BrokenPipe => {
                    say::error(format!("cannot write to standard output: {why}"));
                    ExitCode::FAILURE
                }
                (0, _) => ExitCode::SUCCESS,
                // As with kubectl, also if the error cannot be printed; 2 means that something was found.
                _ => ExitCode::FAILURE,
            }
        }
    }
}

/// The findings of `lint` for the objects that `doctor` reads.
fn lint_summary(options: &DoctorOptions) -> LintCounts {
    let from = match options.files.is_empty() {
        true => LintSource::Cluster(Box::new(options.cluster.clone())),
        false => LintSource::Files(options.files.clone()),
    };
    match lint::count(&from) {
        Ok((errors, warnings)) => LintCounts { errors, warnings, failure: None },
        Err(why) => LintCounts { failure: Some(why), ..LintCounts::default() },
    }
}

fn docs(options: &DocsOptions) -> ExitCode {
    say::exit_code(docs::write(options, &cli::program()).map(|text| print(&text)))
}

fn print(text: &str) -> ExitCode {
    say::exit_code(output::print(text))
}
