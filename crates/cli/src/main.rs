//! The `taintward` program.

mod args;
mod docs;
mod program;

fn main() -> std::process::ExitCode {
    program::main()
}
