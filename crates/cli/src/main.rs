//! # Taintward: the program
//! Room:     the list of its rooms; each command has one of its own name.
//! Comes in: arguments, the environment.
//! Goes out: an exit code.
//! Not here: what they do (`program.rs`).

mod args;
mod complete;
#[cfg(test)]
mod described;
mod docs;
mod enforcer;
mod explain;
mod install;
mod kube_args;
mod lint;
mod manifest;
mod note;
mod output;
mod paint;
mod pending;
mod plan;
mod program;
mod progress;
mod runtime;
mod sandbox;
mod say;
mod survey;
mod taint;
mod version;
mod webhook;
mod words;

fn main() -> std::process::ExitCode {
    program::main()
}
