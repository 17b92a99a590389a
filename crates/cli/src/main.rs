//! The `taintward` program.

mod args;
mod docs;
mod program;
mod sandbox;

fn main() -> std::process::ExitCode {
    program::main()
}
