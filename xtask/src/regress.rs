//! Runs `cargo xtask regress`: makes the record of a bug a regression test.

use crate::sources;
use anyhow::{Result, ensure};
use std::path::{Path, PathBuf};

/// Where the records are, each with a text of what the engine decides.
const FOLDER: &str = "crates/record/regressions";

#[derive(clap::Args)]
pub(crate) struct RegressArgs {
    /// The record: a file, or the folder of --record-dir
    record: PathBuf,
    /// The name of the test, such as the number of the report
    #[arg(long)]
    name: String,
}

pub(crate) fn run(arguments: &RegressArgs) -> Result<()> {
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    ensure!(arguments.name.chars().all(is_name), "the name may have a to z, 0 to 9 and hyphens");
    let folder = sources::root().join(FOLDER);
    let (record, text) = (named(&folder, arguments, "record"), named(&folder, arguments, "txt"));
    ensure!(!record.exists(), "{} exists; choose another --name", record.display());
    let mut redact = std::process::Command::new(sources::build_taintward(false)?);
    redact.args(["record", "--redact", "--out"]).arg(&record).arg("--filename").arg(&arguments.record);
    sources::run(&mut redact)?;
    let mut test = sources::cargo();
    test.args("test --package taintward-record --lib regressions".split(' ')).env("REGRESSIONS", "overwrite");
    sources::run(&mut test)?;
    println!(
        "The engine decides in {} what {} says. Read the text: it has to be what the engine should decide, so mend the \
         engine first. Then commit both.",
        record.display(),
        text.display(),
    );
    Ok(())
}

fn named(folder: &Path, arguments: &RegressArgs, extension: &str) -> PathBuf {
    folder.join(&arguments.name).with_extension(extension)
}
