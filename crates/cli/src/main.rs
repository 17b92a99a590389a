//! The `taintward` program.

mod args;
mod complete;
mod docs;
mod enforcer;
mod explain;
mod kube_args;
mod lint;
mod manifest;
mod note;
mod output;
mod paint;
mod pending;
mod plan;
mod program;
mod sandbox;
mod survey;
mod taint;
mod version;
mod words;

fn main() -> std::process::ExitCode {
    program::main()
}
