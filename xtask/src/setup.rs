//! Runs `cargo xtask setup`: prints what this machine lacks for development, and what works without it.
//!
//! - It installs nothing and does not use the network.

use crate::{release, sources};
use anyhow::{Result, bail};
use std::env;
use std::path::PathBuf;
use std::process::Command;
use taintward_envtest::{Binaries, binaries, browser};
use xtask::files::cache_folder;

/// Something that some developer commands need.
struct Requirement {
    name: &'static str,
    /// The found version, or how to install it.
    found: Result<String>,
    /// The commands and tests that need it.
    needed_for: &'static str,
    /// What works without it.
    without: &'static str,
}

pub(crate) fn run() -> Result<()> {
    println!("Rust and a C compiler are installed: this command needs both.\n");
    let requirements = requirements();
    for Requirement { name, found, needed_for, without } in &requirements {
        match found {
            Ok(what) => println!("ok       {name}: {what}"),
            Err(why) => println!(
                "missing  {name}: {why:#}\n         needed for: {needed_for}\n         without it: {without}"
            ),
        }
    }
    let missing = requirements.iter().filter(|one| one.found.is_err()).count();
    println!("\n{missing} of {} requirements are missing.", requirements.len());
    Ok(())
}

fn requirements() -> Vec<Requirement> {
    let mut all = machine();
    all.extend(built_programs());
    all.extend(installed_programs());
    all.extend(cargo_programs());
    all
}

/// The system and the basic tools.
fn machine() -> Vec<Requirement> {
    vec![
        Requirement {
            name: "Linux",
            found: linux(),
            needed_for: "everything that CI tests",
            without: "CI tests no other system; .devcontainer describes a container with all requirements",
        },
        Requirement {
            name: "rustfmt and clippy",
            found: version("cargo", &["fmt", "--version"], "`rustup component add rustfmt` installs it")
                .and_then(|_| {
                    version("cargo", &["clippy", "--version"], "`rustup component add clippy` installs it")
                }),
            needed_for: ".ci/run",
            without: "everything else works",
        },
        Requirement {
            name: "crates",
            found: crates(),
            needed_for: "building without a network",
            without: "cargo downloads missing crates when it builds",
        },
        Requirement {
            name: "git",
            found: version("git", &["--version"], "install git"),
            needed_for: "`cargo xtask release --twice`, the check of commit subjects",
            without: "the check of commit subjects is skipped",
        },
        Requirement {
            name: "Go",
            found: version("go", &["env", "GOVERSION"], "install Go 1.21 or newer: https://go.dev/dl"),
            needed_for: "building the next six, once; `cargo xtask golden`, `schema`, `columns`",
            without: "tests that need a program that is not built are skipped; KUBEBUILDER_ASSETS may name a folder with a \
                      control plane, and `taintward sandbox` needs none",
        },
    ]
}

/// The programs that are built from pinned Go modules.
fn built_programs() -> Vec<Requirement> {
    vec![
        Requirement {
            name: "control plane",
            found: built(Binaries::find()),
            needed_for: "tests with a real API server, `cargo xtask cluster`, `matrix`, `bench`",
            without: "`cargo xtask test` builds it if Go is installed, and otherwise skips these tests",
        },
        Requirement {
            name: "KWOK",
            found: built(binaries::KWOK.find()),
            needed_for: "tests in which pods run on a real API server",
            without: "these tests are skipped",
        },
        Requirement {
            name: "Helm",
            found: built(binaries::HELM.find()),
            needed_for: "tests that render the chart",
            without: "these tests are skipped; `cargo xtask chart` works",
        },
        Requirement {
            name: "promtool",
            found: built(binaries::PROMTOOL.find()),
            needed_for: "tests of alerts and dashboards",
            without: "these tests are skipped",
        },
        Requirement {
            name: "Prometheus",
            found: built(binaries::PROMETHEUS.find()),
            needed_for: "`cargo xtask observability test`, `cargo xtask picture dashboards`",
            without: "both commands build it if Go is installed; promtool tests the alerts",
        },
        Requirement {
            name: "actionlint",
            found: built(binaries::ACTIONLINT.find()),
            needed_for: "the test of the workflows in .github",
            without: "this test is skipped",
        },
    ]
}

/// The programs of the system's packages.
fn installed_programs() -> Vec<Requirement> {
    vec![
        Requirement {
            name: "Chromium",
            found: browser::find().map(|program| program.display().to_string()),
            needed_for: "tests of the board, `cargo xtask picture board` and `dashboards`",
            without: "these tests are skipped; the other pictures work",
        },
        Requirement {
            name: "Python and Node.js",
            found: version("python3", &["--version"], "install Python 3 with venv")
                .and_then(|_| version("npm", &["--version"], "install Node.js 20 or newer with npm")),
            needed_for: "tests of the sandbox with the official clients of these languages",
            without: "these tests are skipped",
        },
        Requirement {
            name: "zsh and fish",
            found: version("zsh", &["--version"], "install zsh")
                .and_then(|_| version("fish", &["--version"], "install fish")),
            needed_for: "tests of completion in these shells",
            without: "these tests are skipped; bash is tested",
        },
        Requirement {
            name: "groff",
            found: version("groff", &["--version"], "install groff"),
            needed_for: "the test that reads the man pages",
            without: "this test is skipped",
        },
        Requirement {
            name: "C++ compiler",
            found: version("c++", &["--version"], "install g++ or clang"),
            needed_for: "`cargo xtask fuzz`, and so .ci/run",
            without: "fuzz targets read files: `cargo run --manifest-path fuzz/Cargo.toml --bin TARGET -- FILE`",
        },
        Requirement {
            name: "nightly Rust",
            found: nightly(),
            needed_for: "fuzzing with sanitizers by cargo-fuzz (`cargo +nightly fuzz run TARGET --features libfuzzer`)",
            without: "everything else works, including `cargo xtask fuzz` and `nightly`",
        },
    ]
}

/// The programs that cargo builds at their first use.
fn cargo_programs() -> Vec<Requirement> {
    let ci = |names: &[&str]| -> Result<Vec<PathBuf>> {
        let bin = cache_folder()?.join("ci/bin");
        Ok(names.iter().map(|name| bin.join(name)).collect())
    };
    vec![
        Requirement {
            name: "mdBook and mdbook-mermaid",
            found: kept(ci(&["mdbook", "mdbook-mermaid"]), "cargo xtask book"),
            needed_for: "`cargo xtask book`, .ci/run",
            without: "the first use builds them, with a network; the pages of docs can be read as they are",
        },
        Requirement {
            name: "cargo-deny and cargo-machete",
            found: kept(ci(&["cargo-deny", "cargo-machete"]), ".ci/run"),
            needed_for: ".ci/run",
            without: "the first use builds them, with a network; everything else works",
        },
        Requirement {
            name: "cargo-auditable and cargo-cyclonedx",
            found: kept(release::programs(), "cargo xtask release"),
            needed_for: "`cargo xtask release`",
            without: "the first use builds them, with a network; `cargo build --release` builds the program",
        },
    ]
}

/// Whether the cache has programs, which the first use of `command` builds.
fn kept(programs: Result<Vec<PathBuf>>, command: &str) -> Result<String> {
    match programs?.iter().all(|program| program.is_file()) {
        true => Ok("built".to_owned()),
        false => bail!("not built yet; the first `{command}` does so"),
    }
}

fn built<T>(program: Result<T>) -> Result<String> {
    program.map(|_| "is built".to_owned())
}

fn linux() -> Result<String> {
    match env::consts::OS {
        "linux" => Ok(env::consts::ARCH.to_owned()),
        other => bail!("this is {other}"),
    }
}

fn crates() -> Result<String> {
    let fetched = sources::cargo()
        .args(["fetch", "--locked", "--offline", "--quiet", "--target", &sources::host()?])
        .output()?;
    match fetched.status.success() {
        true => Ok("all are downloaded".to_owned()),
        false => bail!("some are missing; `cargo fetch --locked` downloads them"),
    }
}

fn nightly() -> Result<String> {
    let toolchains = output("rustup", &["toolchain", "list"], "rustup installs it")?;
    match toolchains.lines().any(|line| line.starts_with("nightly")) {
        true => Ok("installed".to_owned()),
        false => bail!("`rustup toolchain install nightly` installs it"),
    }
}

/// The first line of what a program prints.
fn version(program: &str, arguments: &[&str], remedy: &str) -> Result<String> {
    Ok(output(program, arguments, remedy)?.lines().next().unwrap_or_default().to_owned())
}

fn output(program: &str, arguments: &[&str], remedy: &str) -> Result<String> {
    match Command::new(program).args(arguments).current_dir(sources::root()).output() {
        Ok(output) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        _ => bail!("`{program} {}` does not run; {remedy}", arguments.join(" ")),
    }
}
