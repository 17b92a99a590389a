//! Runs the program `taintward`.
//!
//! Each command has a module of its own name with its work and its output; `cli` parses the command line, `args` holds
//! the flags that several commands share, `dispatch` runs the parsed command and returns the exit code.

mod active_controllers;
mod args;
mod board;
mod board_command;
mod cli;
mod cluster_change;
mod cluster_state;
mod color;
mod complete;
mod completion;
mod completion_kind;
mod confirm;
mod controller_deployment;
mod controller_presence;
mod counted_files;
#[cfg(test)]
mod described;
mod dispatch;
mod docs;
mod doctor;
mod eviction_delays;
mod exit_codes;
mod explain;
mod held_pod;
mod history;
mod hold_status;
mod install;
mod lint;
mod live_verdicts;
mod manifest;
mod messages;
mod output;
mod past_eviction;
mod pending;
mod plan;
mod progress;
mod record_command;
mod record_files;
mod repeated_fields;
mod replay;
mod run;
mod running_record;
mod runtime;
mod sandbox;
mod status;
mod stderr;
mod taint;
mod taint_note;
mod terminal_screen;
mod toleration_seconds;
mod version;
mod webhook;

fn main() -> std::process::ExitCode {
    dispatch::main()
}
