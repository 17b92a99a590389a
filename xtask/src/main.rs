//! Runs the developer commands: `cargo xtask test`, `demo`, `cluster`, `measures` and others.
//!
//! Each command has a module of its own name. Nothing here ships.

#![forbid(unsafe_code)]

mod bench;
mod chart;
mod cluster;
mod columns;
mod contender;
mod demo;
mod fuzz;
mod golden;
mod http;
mod matrix;
mod nightly;
mod observability_test;
mod picture;
mod release;
mod runner_timeout;
mod schema;
mod setup;
mod sources;
mod test;

use clap::{Parser, Subcommand};
use std::process::ExitCode;
use xtask::{book, measures};

/// Developer commands of Taintward.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Say what this machine lacks for development, and what works without it
    ///
    /// Needs Rust and a C compiler, as all of these commands do; it installs nothing.
    Setup,
    /// Run all tests, with a real API server where they need one
    ///
    /// Needs Go to build a control plane, once; without Go, the tests that need one are skipped and named.
    Test(test::TestArgs),
    /// Run the tests that take too long to be run for every change
    ///
    /// Needs Go, and for the part `fuzz` a C++ compiler; `--part simulation` works without both. It needs no nightly Rust.
    Nightly(nightly::NightlyArgs),
    /// Run each fuzz target for a while, from the seeds in fuzz/corpus
    ///
    /// Needs a C++ compiler for libFuzzer; without one, `cargo run --manifest-path fuzz/Cargo.toml --bin TARGET -- FILE` runs a
    /// target on files. It needs no nightly Rust.
    Fuzz(fuzz::FuzzArgs),
    /// Run the tests that need a control plane on each pinned version of Kubernetes; writes docs/versions.md
    ///
    /// Needs Go; without it, versions that are built already are tested.
    Matrix(matrix::MatrixArgs),
    /// Show Taintward at work on a real API server, in under a minute
    ///
    /// Needs Go to build a control plane, once; without it, `taintward sandbox --tour` shows the same in memory.
    Demo(demo::DemoArgs),
    /// A real control plane to play with: etcd and kube-apiserver on loopback, and KWOK for kubelets if asked
    ///
    /// Needs Go to build it, once, or KUBEBUILDER_ASSETS; without both, `taintward sandbox` is a cluster to play with.
    Cluster(cluster::ClusterArgs),
    /// Make the golden rows again from the Go functions themselves
    ///
    /// Needs Go; without it, tests use the rows that are checked in.
    Golden,
    /// Read the fields of the Kubernetes API again from the Go types
    ///
    /// Needs Go; without it, the fields that are checked in stay.
    Schema,
    /// Ask the API server's own printers again for the rows of sample objects
    ///
    /// Needs Go; without it, tests use the rows that are checked in.
    Columns,
    /// Write the Helm chart and deploy/install.yaml anew, as `taintward install` makes them
    ///
    /// Needs Rust only; Helm renders the result in tests.
    Chart,
    /// Write the alerts, their runbooks and the dashboards anew; or try them with a real Prometheus
    ///
    /// Needs Rust only to write them, and Go for the real Prometheus, once; promtool checks the result in tests.
    Observability(observability_test::ObservabilityArgs),
    /// Draw the sandbox's tour, `plan` and `explain` anew, the board, the dashboards, or the diagrams of the book
    ///
    /// Needs Chromium for the board and the dashboards; everything else is drawn without it.
    Picture(picture::PictureArgs),
    /// Build the book of docs/ with mdBook, in target/book, and follow its links
    ///
    /// Needs the network, once, for mdBook; offline, the pages can be read as they are.
    Book,
    /// Build the program as it ships, with its bill of materials; no path of this machine is in it
    ///
    /// Needs the network, once, for cargo-auditable and cargo-cyclonedx; offline, `cargo build --release` builds the program
    /// without the list of its dependencies.
    Release(release::ReleaseArgs),
    /// Run a program, but not for ever: how `test` starts every test program
    #[command(hide = true)]
    Within(runner_timeout::TimeoutArgs),
    /// Print how the code is shaped, and how it should be
    ///
    /// Needs Rust only.
    Measures(measures::MeasuresArgs),
    /// Compare with kube-controller-manager and with the floor; writes docs/benchmarks.md
    ///
    /// Needs Go to build a control plane, once, and a machine that does nothing else; without Go, nothing is compared.
    Bench(bench::BenchArgs),
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Within(arguments) => {
            return runner_timeout::run(&arguments, None).await.unwrap_or_else(|error| failed(&error));
        }
        Command::Setup => setup::run(),
        Command::Test(arguments) => test::run(&arguments),
        Command::Nightly(arguments) => nightly::run(&arguments).await,
        Command::Fuzz(arguments) => fuzz::run(&arguments),
        Command::Matrix(arguments) => matrix::run(&arguments).await,
        Command::Demo(arguments) => demo::run(&arguments).await,
        Command::Cluster(arguments) => cluster::run(arguments).await,
        Command::Chart => chart::run(),
        Command::Golden => golden::run(),
        Command::Schema => schema::run(),
        Command::Observability(arguments) => observability_test::run(&arguments).await,
        Command::Picture(arguments) => picture::run(&arguments).await,
        Command::Book => book::run(sources::root()),
        Command::Release(arguments) => release::run(&arguments),
        Command::Columns => columns::run(),
        Command::Measures(arguments) => measures::run(&arguments, sources::root()),
        Command::Bench(arguments) => bench::run(&arguments).await,
    };
    done.map_or_else(|error| failed(&error), |()| ExitCode::SUCCESS)
}

fn failed(error: &anyhow::Error) -> ExitCode {
    eprintln!("error: {error:#}");
    ExitCode::FAILURE
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;
    use xtask::markdown::pages;

    /// What follows the name of the program: up to the next backtick if one is before it, else to the end of the line.
    fn typed(text: &str) -> Vec<Vec<String>> {
        let words = |(at, name): (usize, &str)| {
            let ends: &[char] =
                if text[..at].ends_with('`') { &['`'] } else { &['\n', '`', '#', ')', ',', ';'] };
            let rest = text[at + name.len()..].split(ends).next().unwrap_or_default();
            rest.split_whitespace().map(str::to_owned).collect()
        };
        text.match_indices("cargo xtask ").map(words).collect()
    }

    #[test]
    fn every_command_line_in_the_documents_can_be_read() {
        let mut read = 0;
        for page in pages(sources::root(), std::path::Path::new("")).unwrap() {
            for words in typed(&std::fs::read_to_string(sources::root().join(&page)).unwrap()) {
                read += 1;
                let words = std::iter::once("cargo xtask".to_owned()).chain(words);
                if let Err(error) = Arguments::try_parse_from(words) {
                    panic!("{}: {error}", page.display());
                }
            }
        }
        assert!(read > 20, "only {read} command lines were found");
        assert!(Arguments::try_parse_from(["cargo xtask", "no-such-command"]).is_err());
    }

    #[test]
    fn each_command_says_what_it_needs() {
        let program = Arguments::command();
        let commands = program.get_subcommands().filter(|command| !command.is_hide_set());
        let silent: Vec<&str> = commands
            .filter(|command| {
                !command.get_long_about().is_some_and(|about| about.to_string().contains("\nNeeds "))
            })
            .map(|command| command.get_name())
            .collect();
        assert_eq!(silent, Vec::<&str>::new());
    }
}
