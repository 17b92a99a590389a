//! The `taintward` program.

mod args;
mod docs;
mod kube_args;
mod lint;
mod manifest;
mod paint;
mod program;
mod sandbox;

fn main() -> std::process::ExitCode {
    program::main()
}
