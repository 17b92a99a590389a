//! Runs the developer commands: `cargo xtask test`, `cluster`, `measures` and others.
//!
//! Each command has a module; `golden` also has `schema` and `columns`. Nothing here ships.

#![forbid(unsafe_code)]

mod bench;
mod board_session;
mod campaign;
mod chart;
mod check;
mod cluster;
mod contender;
mod cpu_load;
mod fuzz;
mod golden;
mod guards;
mod http;
mod matrix;
mod mutants;
mod nightly;
mod observability_test;
mod picture;
mod regress;
mod release;
mod review_client;
mod runner_timeout;
mod server_process;
mod setup;
mod sources;
mod test;
mod webhook_process;

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
    /// Report what this machine lacks for development, and what works without it
    ///
    /// Needs Rust and a C compiler only, like all of these commands; it installs nothing.
    Setup,
    /// Run what most often keeps a change from being merged: formatting, lints, unit tests, texts, pages, rules
    ///
    /// Needs Rust and a C compiler only; tests that need a real API server are left to `test`.
    Check,
    /// Run all tests, with a real API server where they need one
    ///
    /// Needs Go to build a control plane, once; without Go, the tests that need one are skipped and named.
    Test(test::TestArgs),
    /// Run the tests that take too long for every change
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
    /// Needs Go; without it, the command tests the versions that are already built.
    Matrix(matrix::MatrixArgs),
    /// Change the code in many small ways, one at a time, and list the changes that no test notices
    ///
    /// Needs the network, once, for cargo-mutants; without it, `guards` removes the parts of the code that matter most. Half an
    /// hour for the core on two processors; a run that was interrupted goes on.
    Mutants(mutants::MutantsArgs),
    /// Run many episodes of faults on a real control plane, and judge each deletion by what etcd and the audit log say
    ///
    /// Needs Go to build a control plane and KWOK, once; without Go, `nightly --part simulation` does the same in a simulation.
    Campaign(campaign::CampaignArgs),
    /// Remove one guard of the engines at a time, and say which search finds that it is missing
    ///
    /// Needs Rust and a C compiler only; it takes three minutes for each guard.
    Guards(guards::GuardsArgs),
    /// Run a real control plane to experiment with: etcd and kube-apiserver on loopback, and with --kwok KWOK for kubelets
    ///
    /// Needs Go to build it, once, or KUBEBUILDER_ASSETS; without both, use `taintward sandbox`.
    Cluster(cluster::ClusterArgs),
    /// Regenerate the golden rows from the Go functions themselves
    ///
    /// Needs Go; without it, tests use the checked-in rows.
    Golden,
    /// Regenerate the fields of the Kubernetes API from the Go types
    ///
    /// Needs Go; without it, the checked-in fields stay.
    Schema,
    /// Regenerate the rows of sample objects with the API server's own printers
    ///
    /// Needs Go; without it, tests use the checked-in rows.
    Columns,
    /// Copy alerts and dashboards into the Helm chart, and regenerate deploy/install.yaml with `taintward install`
    ///
    /// Needs Rust only; Helm renders the result in tests.
    Chart,
    /// Test the alerts and the dashboards of deploy/monitoring with a real Prometheus
    ///
    /// Needs Go, once, to build Prometheus; without it, promtool checks the expressions in tests.
    Observability(observability_test::ObservabilityArgs),
    /// Draw the sandbox's tour, `plan` and `explain`, the board, or the dashboards
    ///
    /// Needs Chromium for the board and the dashboards only, and Go, once, for the Prometheus of the dashboards; the other pictures
    /// work without both.
    Picture(picture::PictureArgs),
    /// Build the book of docs/ with mdBook, in target/book, and check its links
    ///
    /// Needs the network, once, for mdBook and mdbook-mermaid; without it, read the pages as they are.
    Book,
    /// Make the record of a bug a regression test, without the names in it
    ///
    /// Needs Rust only.
    Regress(regress::RegressArgs),
    /// Build the program as it ships, with its bill of materials, and without paths of this machine
    ///
    /// Needs the network, once, for cargo-auditable and cargo-cyclonedx; without it, `cargo build --release` builds the program
    /// without the list of its dependencies.
    Release(release::ReleaseArgs),
    /// Run a program with a time limit: how `test` starts every test program
    #[command(hide = true)]
    Within(runner_timeout::TimeoutArgs),
    /// Print measures of the code, and their goals
    ///
    /// Needs Rust only.
    Measures(measures::MeasuresArgs),
    /// Compare Taintward with kube-controller-manager and with the floor; writes docs/benchmarks.md
    ///
    /// Needs Go to build a control plane, once, and an idle machine; without Go, only `bench board` works.
    Bench(bench::BenchArgs),
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Within(arguments) => {
            return runner_timeout::run(&arguments, None).await.unwrap_or_else(|error| failed(&error));
        }
        Command::Setup => setup::run(),
        Command::Check => check::run(),
        Command::Test(arguments) => test::run(&arguments),
        Command::Nightly(arguments) => nightly::run(&arguments).await,
        Command::Fuzz(arguments) => fuzz::run(&arguments),
        Command::Mutants(arguments) => mutants::run(&arguments),
        Command::Campaign(arguments) => campaign::run(&arguments),
        Command::Guards(arguments) => guards::run(&arguments),
        Command::Matrix(arguments) => matrix::run(&arguments).await,
        Command::Cluster(arguments) => cluster::run(arguments).await,
        Command::Chart => chart::run(),
        Command::Golden => golden::run(),
        Command::Schema => golden::schema(),
        Command::Observability(arguments) => observability_test::run(&arguments).await,
        Command::Picture(arguments) => picture::run(&arguments).await,
        Command::Book => book::run(sources::root()),
        Command::Regress(arguments) => regress::run(&arguments),
        Command::Release(arguments) => release::run(&arguments),
        Command::Columns => golden::columns(),
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

    /// The words after the name of the program: up to the next backtick if one is before it, else to the end of the line.
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
    fn each_command_says_what_it_needs_and_what_works_without_it() {
        let program = Arguments::command();
        let commands = program.get_subcommands().filter(|command| !command.is_hide_set());
        let contains = |about: &str| {
            let needs = about.split_once("\nNeeds ").map(|(_, needs)| needs);
            needs.is_some_and(|needs| ["without", "only"].iter().any(|word| needs.contains(word)))
        };
        let is_silent = |command: &&clap::Command| {
            !command.get_long_about().is_some_and(|about| contains(&about.to_string()))
        };
        let silent: Vec<&str> = commands.filter(is_silent).map(|command| command.get_name()).collect();
        assert_eq!(silent, Vec::<&str>::new());
    }
}
