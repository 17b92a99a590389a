//! Builds programs from crates.io that are tools and not dependencies, each once, into the user's cache folder.

use anyhow::{Context as _, Result, ensure};
use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use taintward_envtest::cache_folder;

/// A pinned program.
pub struct CargoTool {
    name: &'static str,
    version: &'static str,
    features: &'static [&'static str],
}

/// Builds the book.
pub const MDBOOK: CargoTool =
    CargoTool { name: "mdbook", version: "0.5.4", features: &["--no-default-features", "--features=search"] };

/// Draws the diagrams of the book.
pub const MERMAID: CargoTool = CargoTool { name: "mdbook-mermaid", version: "0.17.1", features: &[] };

/// Adds the list of dependencies to a program.
pub const AUDITABLE: CargoTool = CargoTool { name: "cargo-auditable", version: "0.7.7", features: &[] };

/// Writes bills of materials.
pub const CYCLONEDX: CargoTool = CargoTool { name: "cargo-cyclonedx", version: "0.5.9", features: &[] };

/// Changes the code, to test the tests.
pub const MUTANTS: CargoTool = CargoTool { name: "cargo-mutants", version: "27.1.0", features: &[] };

impl CargoTool {
    fn folder(&self) -> Result<PathBuf> {
        Ok(cache_folder()?.join(format!("{}-{}", self.name, self.version)))
    }

    /// The program, whether or not it is built.
    pub fn program(&self) -> Result<PathBuf> {
        Ok(self.folder()?.join("bin").join(self.name))
    }

    /// Builds the program unless it is built; this needs a network.
    pub fn find_or_build(&self) -> Result<PathBuf> {
        let (name, folder, program) = (self.name, self.folder()?, self.program()?);
        if !program.exists() {
            fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
            let mut install = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
            install.args(["install", name, "--version", self.version, "--locked", "--debug"]);
            // Cargo starts there, so that it reads no configuration of this repository.
            install.args(self.features).arg("--root").arg(&folder).current_dir(&folder);
            let status = install.status().context("starting cargo install")?;
            ensure!(status.success(), "cargo install {name} failed; the first use needs a network");
        }
        Ok(program)
    }
}
