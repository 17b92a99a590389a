//! Writes the documentation that the program generates: reference, command pages, man pages.

mod cells;
mod pages;
mod reference;

use crate::args::{self, DocsOptions};
use std::io;
use std::path::{Path, PathBuf};

/// A folder could not be filled.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to {}: {why}; name a folder that may be written", place.display())]
pub(crate) struct DocsWriteError {
    place: PathBuf,
    why: io::Error,
}

/// Writes what is asked for; what there is to print: the reference, or what was written.
pub(crate) fn write(plan: &DocsOptions) -> Result<String, DocsWriteError> {
    let into = |folder: &Path, fill: &dyn Fn(&Path) -> io::Result<()>| {
        let filled = std::fs::create_dir_all(folder).and_then(|()| fill(folder));
        filled.map_err(|why| DocsWriteError { place: folder.to_owned(), why })
    };
    let mut written = String::new();
    if let Some(folder) = &plan.cli {
        into(folder, &|folder| {
            pages::pages().into_iter().try_for_each(|(name, text)| std::fs::write(folder.join(name), text))
        })?;
        written += &format!("a page for each command: {}\n", folder.display());
    }
    if let Some(folder) = &plan.man {
        into(folder, &|folder| clap_mangen::generate_to(args::description(), folder))?;
        written += &format!("a man page for each command: {}\n", folder.display());
    }
    Ok(if written.is_empty() { reference::reference() } else { written })
}
