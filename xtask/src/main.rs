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
mod golden;
mod http;
mod matrix;
mod nightly;
mod picture;
mod release;
mod runner_timeout;
mod schema;
mod sources;
mod test;

use clap::{Parser, Subcommand};
use std::process::ExitCode;
use xtask::{book, measures, observability, translations};

/// Developer commands of Taintward.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run all tests, with a real API server where they need one
    Test(test::TestArgs),
    /// Run the tests that take too long to be run for every change
    Nightly(nightly::NightlyArgs),
    /// Run the tests that need a control plane on each pinned version of Kubernetes; writes docs/versions.md
    Matrix(matrix::MatrixArgs),
    /// Show Taintward at work on a real API server, in under a minute
    Demo(demo::DemoArgs),
    /// A real control plane to play with: etcd and kube-apiserver on loopback, and KWOK for kubelets if asked
    Cluster(cluster::ClusterArgs),
    /// Make the golden rows again from the Go functions themselves
    Golden,
    /// Read the fields of the Kubernetes API again from the Go types
    Schema,
    /// Ask the API server's own printers again for the rows of sample objects
    Columns,
    /// Write the Helm chart and deploy/install.yaml anew, as `taintward install` makes them
    Chart,
    /// Write the alerts, their runbooks and the dashboards anew
    Observability,
    /// Draw the sandbox's tour, `plan` and `explain` anew, the sandbox's board, or the diagrams of the book
    Picture(picture::PictureArgs),
    /// Build the book of docs/ with mdBook, in target/book, and follow its links
    Book,
    /// Record in each translated page which English text it was translated from
    Translations,
    /// Build the program as it ships, with its bill of materials; no path of this machine is in it
    Release(release::ReleaseArgs),
    /// Run a program, but not for ever: how `test` starts every test program
    #[command(hide = true)]
    Within(runner_timeout::TimeoutArgs),
    /// Print how the code is shaped, and how it should be
    Measures(measures::MeasuresArgs),
    /// Compare with kube-controller-manager and with the floor; writes docs/benchmarks.md
    Bench(bench::BenchArgs),
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Within(arguments) => {
            return runner_timeout::run(&arguments, None).await.unwrap_or_else(|error| failed(&error));
        }
        Command::Test(arguments) => test::run(&arguments),
        Command::Nightly(arguments) => nightly::run(&arguments).await,
        Command::Matrix(arguments) => matrix::run(&arguments).await,
        Command::Demo(arguments) => demo::run(&arguments).await,
        Command::Cluster(arguments) => cluster::run(arguments).await,
        Command::Chart => chart::run(),
        Command::Golden => golden::run(),
        Command::Schema => schema::run(),
        Command::Observability => observability::run(sources::root()),
        Command::Picture(arguments) => picture::run(&arguments),
        Command::Book => book::run(sources::root()),
        Command::Translations => translations::run(sources::root()),
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
}
