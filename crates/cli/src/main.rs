//! The `taintward` program.

mod args;
mod complete;
mod docs;
mod kube_args;
mod lint;
mod manifest;
mod output;
mod paint;
mod program;
mod sandbox;
mod version;

fn main() -> std::process::ExitCode {
    program::main()
}
