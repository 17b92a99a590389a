//! The `taintward` program.

mod args;
mod docs;
mod kube_args;
mod lint;
mod manifest;
mod note;
mod paint;
mod program;
mod sandbox;
mod taint;

fn main() -> std::process::ExitCode {
    program::main()
}
