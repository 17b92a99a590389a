//! Builds the program as it ships, with its list of dependencies (cargo-auditable) and a bill of materials (CycloneDX).
//!
//! - Invariant: no path of the build machine is in the program; with `--twice`, a build in another folder gives the
//!   same program.

use crate::sources::{self, root};
use anyhow::{Context as _, Result, ensure};
use clap::Args;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};
use xtask::cargo_tool::{AUDITABLE, CYCLONEDX};
use xtask::files::files_below;

#[derive(Args)]
pub(crate) struct ReleaseArgs {
    /// The folder for the program and its bill of materials
    #[arg(long, value_name = "FOLDER", default_value = "target/shipped/out")]
    out: PathBuf,
    /// The profile of Cargo.toml; `profiling` keeps the symbols that docs/profiling.md needs
    #[arg(long, default_value = "release")]
    profile: String,
    /// Build again, offline and in another folder, and fail unless every byte is the same
    #[arg(long)]
    twice: bool,
}

/// The section that `cargo audit bin` reads.
const DEPENDENCIES: &[u8] = b".dep-v0";

pub(crate) fn run(arguments: &ReleaseArgs) -> Result<()> {
    let tools = tools()?;
    let home = env::home_dir().context("no home folder, so cargo's folder is unknown; set HOME")?;
    let registry = env::var_os("CARGO_HOME").map_or_else(|| home.join(".cargo"), PathBuf::from);
    let registry = registry.as_path();
    let built = build(root(), registry, &arguments.profile, &tools, &["--locked"])?;
    let program = fs::read(&built).with_context(|| format!("reading {}", built.display()))?;
    let private = [registry, root(), &home];
    let found = paths_in(&program, &private);
    ensure!(found.is_empty(), "{} contains paths of this machine: {}", built.display(), found.join(", "));
    ensure!(has(&program, DEPENDENCIES), "{} has no list of its dependencies", built.display());

    let out = root().join(&arguments.out);
    fs::create_dir_all(&out)?;
    fs::copy(&built, out.join("taintward"))?;
    let mut bill = sources::cargo();
    bill.args(["cyclonedx", "--format=json", "--spec-version=1.5", "--describe=binaries"]);
    bill.arg(format!("--target={}", sources::host()?)).arg("--manifest-path=crates/cli/Cargo.toml");
    bill.env("PATH", &tools);
    sources::run(&mut bill)?;
    // It leaves a bill next to each manifest.
    let mut written = files_below(root(), &["json"])?;
    written.retain(|file| file.to_string_lossy().ends_with(".cdx.json"));
    let ours = written.iter().position(|file| file.ends_with("crates/cli/taintward_bin.cdx.json"));
    let ours = written.swap_remove(ours.context("cargo-cyclonedx has written no bill of materials")?);
    let bill = fs::read_to_string(&ours)?.replace(&root().display().to_string(), "/taintward");
    written.push(ours);
    written.iter().try_for_each(fs::remove_file)?;
    let found = paths_in(bill.as_bytes(), &private);
    ensure!(found.is_empty(), "the bill of materials contains paths of this machine: {}", found.join(", "));
    fs::write(out.join("taintward.cdx.json"), bill)?;
    println!("the program and its bill of materials: {}", out.display());
    if arguments.twice {
        let other = Copy::of_checkout()?;
        let again = build(&other.0, registry, &arguments.profile, &tools, &["--locked", "--offline"])?;
        let again = fs::read(&again).with_context(|| format!("reading {}", again.display()))?;
        ensure!(again == program, "the program built in {} differs", other.0.display());
        println!("built again offline in another folder: the same {} bytes", program.len());
    }
    Ok(())
}

/// Builds the program as it ships, and returns its path.
fn build(folder: &Path, registry: &Path, profile: &str, tools: &OsStr, how: &[&str]) -> Result<PathBuf> {
    // These flags need a separate folder: in a shared one, cargo would build everything again after each change of
    // flags.
    let target = folder.join("target/shipped");
    let flags = [(registry, "/cargo"), (folder, "/taintward")]
        .map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display()));
    let mut build = sources::cargo();
    build.current_dir(folder).args(["auditable", "build", "--package", "taintward", "--profile", profile]);
    build.args(how).arg("--target-dir").arg(&target).env("PATH", tools);
    build.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}")).env_remove("RUSTFLAGS");
    // The C code of dependencies (ring) would also contain the paths.
    let in_c = format!(
        "-ffile-prefix-map={}=/cargo -ffile-prefix-map={}=/taintward",
        registry.display(),
        folder.display()
    );
    sources::run(build.env("CFLAGS", in_c))?;
    Ok(target.join(profile).join("taintward"))
}

/// A copy of the files of the checkout that git tracks, in a folder that is removed when this is dropped.
struct Copy(PathBuf);

impl Copy {
    fn of_checkout() -> Result<Self> {
        let copy = Self(env::temp_dir().join(format!("taintward-twice-{}/elsewhere", std::process::id())));
        let names = sources::output(Command::new("git").args(["ls-files", "-z"]).current_dir(root()))?;
        for name in names.split_terminator('\0') {
            let (from, to) = (root().join(name), copy.0.join(name));
            fs::create_dir_all(to.parent().context("it has no folder")?)?;
            fs::copy(&from, to).with_context(|| format!("copying {}", from.display()))?;
        }
        Ok(copy)
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = self.0.parent().map(fs::remove_dir_all);
    }
}

/// A PATH with the tools.
fn tools() -> Result<OsString> {
    let mut path = Vec::new();
    for tool in [AUDITABLE, CYCLONEDX] {
        path.extend(tool.find_or_build()?.parent().map(Path::to_owned));
    }
    path.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
    Ok(env::join_paths(path)?)
}

/// Those of the folders whose paths a program contains.
fn paths_in(program: &[u8], folders: &[&Path]) -> Vec<String> {
    let names = folders.iter().map(|folder| format!("{}/", folder.display()));
    names.filter(|name| name != "//" && has(program, name.as_bytes())).collect()
}

fn has(program: &[u8], what: &[u8]) -> bool {
    program.windows(what.len()).any(|window| window == what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_the_build_machine_is_found_anywhere() {
        let (home, root) = (Path::new("/home/jane"), Path::new("/"));
        assert_eq!(paths_in(b"\0src/lib.rs\0/home/jane/.cargo/registry\xff", &[home, root]), ["/home/jane/"]);
        assert!(paths_in(b"\0/cargo/registry/src/lib.rs\0/taintward/crates", &[home, root]).is_empty());
        assert!(paths_in(b"", &[home]).is_empty() && has(b"x.dep-v0y", DEPENDENCIES));
    }
}
