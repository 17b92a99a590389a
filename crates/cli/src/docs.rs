//! Writes the documentation that the program generates: reference, command pages, man pages.

mod cells;
mod pages;
mod program_description;
mod reference;

pub(crate) use program_description::ProgramDescription;

use clap::Args;
use std::io;
use std::path::{Path, PathBuf};

/// The flags of `taintward docs`.
#[derive(Debug, Args)]
pub(crate) struct DocsArgs {
    /// Writes a page of Markdown for each command into this folder; as checked in under docs/cli
    #[arg(long, value_name = "FOLDER")]
    cli: Option<PathBuf>,
    /// Writes a man page for each command into this folder
    #[arg(long, value_name = "FOLDER")]
    man: Option<PathBuf>,
}

/// What `taintward docs` is to do.
#[derive(Debug)]
pub(crate) struct DocsOptions {
    /// Where a page for each command goes.
    pub(crate) cli: Option<PathBuf>,
    /// Where man pages go.
    pub(crate) man: Option<PathBuf>,
}

impl DocsArgs {
    pub(crate) fn resolve(self) -> DocsOptions {
        DocsOptions { cli: self.cli, man: self.man }
    }
}

/// A folder could not be filled.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to {}: {why}; name a folder that may be written", place.display())]
pub(crate) struct DocsWriteError {
    place: PathBuf,
    why: io::Error,
}

/// Writes the pages that the options name; returns what there is to print: the reference, or what was written.
pub(crate) fn write(options: &DocsOptions, program: &ProgramDescription) -> Result<String, DocsWriteError> {
    let into = |folder: &Path, fill: &dyn Fn(&Path) -> io::Result<()>| {
        let filled = std::fs::create_dir_all(folder).and_then(|()| fill(folder));
        filled.map_err(|why| DocsWriteError { place: folder.to_owned(), why })
    };
    let mut written = String::new();
    if let Some(folder) = &options.cli {
        into(folder, &|folder| {
            pages::pages(program)
                .into_iter()
                .try_for_each(|(name, text)| std::fs::write(folder.join(name), text))
        })?;
        written += &format!("a page for each command: {}\n", folder.display());
    }
    if let Some(folder) = &options.man {
        into(folder, &|folder| clap_mangen::generate_to(program.command.clone(), folder))?;
        written += &format!("a man page for each command: {}\n", folder.display());
    }
    Ok(if written.is_empty() { reference::reference(&program.command) } else { written })
}
