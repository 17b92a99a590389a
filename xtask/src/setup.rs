//! Runs `cargo xtask setup`: prints what this machine lacks for development, and what works without it.
//!
//! - It installs nothing and does not use the network.

use crate::sources;
use anyhow::{Result, anyhow, ensure};
use std::env;
use std::path::PathBuf;
use std::process::Command;
use taintward_envtest::{Binaries, binaries, browser, cache_folder};
use xtask::cargo_tool::{AUDITABLE, CYCLONEDX, MDBOOK, MERMAID};

/// Something that some developer commands need.
struct Requirement {
    name: &'static str,
    /// Returns the found version, or how to install it.
    find: fn() -> Result<String>,
    /// The commands and tests that need it.
    needed_for: &'static str,
    /// What works without it.
    without: &'static str,
}

pub(crate) fn run() -> Result<()> {
    println!("Rust and a C compiler are installed: this command needs both.\n");
    let mut missing = 0;
    for Requirement { name, find, needed_for, without } in &REQUIREMENTS {
        match find() {
            Ok(what) => println!("ok       {name}: {what}"),
            Err(why) => {
                missing += 1;
                println!(
                    "missing  {name}: {why:#}\n         needed for: {needed_for}\n         without it: {without}"
                );
            }
        }
    }
    println!("\n{missing} of {} requirements are missing.", REQUIREMENTS.len());
    Ok(())
}

/// The system and the basic tools, the programs that are built from pinned Go modules, those of the system's packages, and those
/// that cargo builds at their first use.
const REQUIREMENTS: [Requirement; 20] = [
    Requirement {
        name: "Linux",
        find: linux,
        needed_for: "everything that CI tests",
        without: "CI tests no other system; .devcontainer describes a container with all requirements",
    },
    Requirement {
        name: "rustfmt and clippy",
        find: || {
            version("cargo", &["fmt", "--version"], "`rustup component add rustfmt` installs it")?;
            version("cargo", &["clippy", "--version"], "`rustup component add clippy` installs it")
        },
        needed_for: ".ci/run",
        without: "everything else works",
    },
    Requirement {
        name: "crates",
        find: crates,
        needed_for: "building without a network",
        without: "cargo downloads missing crates when it builds",
    },
    Requirement {
        name: "git",
        find: || version("git", &["--version"], "install git"),
        needed_for: "`cargo xtask release --twice`, the check of commit subjects",
        without: "the check of commit subjects is skipped",
    },
    Requirement {
        name: "Go",
        find: || version("go", &["env", "GOVERSION"], "install Go 1.21 or newer: https://go.dev/dl"),
        needed_for: "building the next six, once; `cargo xtask golden`, `schema`, `columns`",
        without: "tests that need a program that is not built are skipped; KUBEBUILDER_ASSETS may name a folder with a \
                  control plane, and `taintward sandbox` needs none",
    },
    Requirement {
        name: "control plane",
        find: || built(Binaries::find()),
        needed_for: "tests with a real API server, `cargo xtask cluster`, `matrix`, `bench`",
        without: "`cargo xtask test` builds it if Go is installed, and otherwise skips these tests",
    },
    Requirement {
        name: "KWOK",
        find: || built(binaries::KWOK.find()),
        needed_for: "tests in which pods run on a real API server",
        without: "these tests are skipped",
    },
    Requirement {
        name: "Helm",
        find: || built(binaries::HELM.find()),
        needed_for: "tests that render the chart",
        without: "these tests are skipped; `cargo xtask chart` works",
    },
    Requirement {
        name: "promtool",
        find: || built(binaries::PROMTOOL.find()),
        needed_for: "tests of alerts and dashboards",
        without: "these tests are skipped",
    },
    Requirement {
        name: "Prometheus",
        find: || built(binaries::PROMETHEUS.find()),
        needed_for: "`cargo xtask observability test`, `cargo xtask picture dashboards`",
        without: "both commands build it if Go is installed; promtool tests the alerts",
    },
    Requirement {
        name: "actionlint",
        find: || built(binaries::ACTIONLINT.find()),
        needed_for: "the test of the workflows in .github",
        without: "this test is skipped",
    },
    Requirement {
        name: "Chromium",
        find: || browser::find().map(|program| program.display().to_string()),
        needed_for: "tests of the board, `cargo xtask picture board` and `dashboards`",
        without: "these tests are skipped; the other pictures work",
    },
    Requirement {
        name: "Python and Node.js",
        find: || {
            version("python3", &["--version"], "install Python 3 with venv")?;
            version("npm", &["--version"], "install Node.js 20 or newer with npm")
        },
        needed_for: "tests of the sandbox with the official clients of these languages",
        without: "these tests are skipped",
    },
    Requirement {
        name: "zsh and fish",
        find: || {
            version("zsh", &["--version"], "install zsh")?;
            version("fish", &["--version"], "install fish")
        },
        needed_for: "tests of completion in these shells",
        without: "these tests are skipped; bash is tested",
    },
    Requirement {
        name: "groff",
        find: || version("groff", &["--version"], "install groff"),
        needed_for: "the test that reads the man pages",
        without: "this test is skipped",
    },
    Requirement {
        name: "C++ compiler",
        find: || version("c++", &["--version"], "install g++ or clang"),
        needed_for: "`cargo xtask fuzz`, and so .ci/run",
        without: "fuzz targets read files: `cargo run --manifest-path fuzz/Cargo.toml --bin TARGET -- FILE`",
    },
    Requirement {
        name: "nightly Rust",
        find: nightly,
        needed_for: "fuzzing with sanitizers by cargo-fuzz (`cargo +nightly fuzz run TARGET --features libfuzzer`)",
        without: "everything else works, including `cargo xtask fuzz` and `nightly`",
    },
    Requirement {
        name: "mdBook and mdbook-mermaid",
        find: || kept([MDBOOK.program()?, MERMAID.program()?], "cargo xtask book"),
        needed_for: "`cargo xtask book`, .ci/run",
        without: "the first use builds them, with a network; the pages of docs can be read as they are",
    },
    Requirement {
        name: "cargo-deny and cargo-machete",
        find: || {
            let folder = cache_folder()?.join("ci/bin");
            kept(["cargo-deny", "cargo-machete"].map(|name| folder.join(name)), ".ci/run")
        },
        needed_for: ".ci/run",
        without: "the first use builds them, with a network; everything else works",
    },
    Requirement {
        name: "cargo-auditable and cargo-cyclonedx",
        find: || kept([AUDITABLE.program()?, CYCLONEDX.program()?], "cargo xtask release"),
        needed_for: "`cargo xtask release`",
        without: "the first use builds them, with a network; `cargo build --release` builds the program",
    },
];

/// Whether the cache has programs, which the first use of `command` builds.
fn kept(programs: [PathBuf; 2], command: &str) -> Result<String> {
    let are_built = programs.iter().all(|program| program.is_file());
    ensure!(are_built, "not built yet; the first `{command}` does so");
    Ok("built".to_owned())
}

fn built<T>(program: Result<T>) -> Result<String> {
    program.map(|_| "is built".to_owned())
}

fn linux() -> Result<String> {
    ensure!(env::consts::OS == "linux", "this is {}", env::consts::OS);
    Ok(env::consts::ARCH.to_owned())
}

fn crates() -> Result<String> {
    let mut fetch = sources::cargo();
    fetch.args(["fetch", "--locked", "--offline", "--quiet", "--target", &sources::host()?]);
    sources::output(&mut fetch)
        .map(|_| "all are downloaded".to_owned())
        .map_err(|_| anyhow!("some are missing; `cargo fetch --locked` downloads them"))
}

fn nightly() -> Result<String> {
    let toolchains = output("rustup", &["toolchain", "list"], "rustup installs it")?;
    let is_installed = toolchains.lines().any(|line| line.starts_with("nightly"));
    ensure!(is_installed, "`rustup toolchain install nightly` installs it");
    Ok("installed".to_owned())
}

/// The first line of what a program prints.
fn version(program: &str, arguments: &[&str], remedy: &str) -> Result<String> {
    Ok(output(program, arguments, remedy)?.lines().next().unwrap_or_default().to_owned())
}

fn output(program: &str, arguments: &[&str], remedy: &str) -> Result<String> {
    sources::output(Command::new(program).args(arguments).current_dir(sources::root()))
        .map_err(|_| anyhow!("`{program} {}` does not run; {remedy}", arguments.join(" ")))
}
