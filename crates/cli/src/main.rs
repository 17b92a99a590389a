//! # Taintward: the program
//! Room:     the list of its rooms; each command has one of its own name.
//! Comes in: arguments, the environment.
//! Goes out: an exit code.
//! Not here: what they do (`dispatch.rs`).

mod active_controllers;
mod args;
mod cluster_state;
mod color;
mod complete;
mod completion_kind;
#[cfg(test)]
mod described;
mod dispatch;
mod docs;
mod duration;
mod exit_codes;
mod explain;
mod install;
mod kube_args;
mod lint;
mod manifest;
mod messages;
mod output;
mod pending;
mod plan;
mod progress;
mod runtime;
mod sandbox;
mod say;
mod taint;
mod taint_note;
mod version;
mod webhook;

fn main() -> std::process::ExitCode {
    dispatch::main()
}
