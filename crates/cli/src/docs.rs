//! Writes the documentation that the program generates: reference, command pages, man pages.

mod pages;
mod reference;

use clap::{Arg, Args};
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

/// The flags of `taintward docs`.
#[derive(Debug, Args)]
pub(crate) struct DocsArgs {
    /// Writes a Markdown page for each command into this folder; the repository has them in docs/cli
    #[arg(long, value_name = "FOLDER")]
    cli: Option<PathBuf>,
    /// Writes a man page for each command into this folder
    #[arg(long, value_name = "FOLDER")]
    man: Option<PathBuf>,
}

/// The command line, and what its description does not contain.
pub(crate) struct ProgramDescription {
    pub(crate) command: clap::Command,
    /// Questions, and the command that answers each.
    pub(crate) questions: &'static [(&'static str, &'static str)],
    /// The exit codes of a command.
    pub(crate) exit_codes: fn(&str) -> &'static [(u8, &'static str)],
}

/// Why a folder could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to {}: {why}; name a folder that you can write to", place.display())]
pub(crate) struct DocsWriteError {
    place: PathBuf,
    why: io::Error,
}

/// Writes the pages that the options name. Returns the text to print: the reference, or a list of the written folders.
pub(crate) fn write(options: &DocsArgs, program: &ProgramDescription) -> Result<String, DocsWriteError> {
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

/// `--flag` with its aliases; for a positional argument its placeholder.
fn names(arg: &Arg) -> String {
    let short = arg.get_short().map(|short| format!("`-{short}`"));
    let long = arg.get_long().map(|long| format!("`--{long}`"));
    let aliases =
        arg.get_visible_aliases().unwrap_or_default().into_iter().map(|alias| format!("`--{alias}`"));
    let names: Vec<String> = short.into_iter().chain(long).chain(aliases).collect();
    match (names.is_empty(), arg.get_value_names()) {
        (true, Some(places)) => places.iter().map(|place| format!("`{place}`")).collect::<Vec<_>>().join(" "),
        _ => names.join(", "),
    }
}

fn default(arg: &Arg) -> String {
    let values = arg.get_default_values().iter().map(|value| format!("`{}`", value.to_string_lossy()));
    // A boolean flag is off by default.
    if arg.get_action().takes_values() { values.collect::<Vec<_>>().join(", ") } else { String::new() }
}

fn help(arg: &Arg) -> String {
    cell(&arg.get_help().map(ToString::to_string).unwrap_or_default())
}

/// The help, with the possible values.
fn meaning(arg: &Arg) -> String {
    let meaning = help(arg);
    let values: Vec<String> = arg
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set() && arg.get_action().takes_values())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if values.is_empty() { meaning } else { format!("{meaning}: {}", values.join(", ")) }
}

fn line(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{arguments}");
}

/// Escapes text for a table cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ").trim_end_matches('.').to_owned()
}
