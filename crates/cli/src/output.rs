//! Prints the result of a command in the format that `-o` names, with `--no-headers`, `--sort-by` and `--color`.
//!
//! - Invariant: output for programs is never shortened, colored or wrapped. A closed pipe (`| head`) is not an error.

mod custom_columns;
mod format;
mod jsonpath;
mod sort;
mod structured;
mod table;
mod terminal;
mod time;

pub(crate) use format::{FORMS, OutputFormat};
pub(crate) use structured::{json, yaml_with};
pub(crate) use table::{Table, TableCell, TableColumn};
pub(crate) use terminal::{Terminal, harmless, harmless_lines, width, wrap};
pub(crate) use time::{age, clock, dated, lasting, when, zone_name};

use crate::color::ColorChoice;
use clap::Args;
use jsonpath::TemplateError;
use serde_json::Value;
use sort::{SortError, SortKey};
use std::io::{self, Write as _};

/// The version of every object that a command prints; docs/output.md says which change raises it. The version of the
/// custom resources and of the config of `lint` is another.
pub(crate) const API_VERSION: &str = "taintward.io/v1alpha2";

/// The heading of these flags in help.
const HEADING: &str = "Output";

/// Flags of commands with a result.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = HEADING)]
pub(crate) struct OutputArgs {
    /// The output format: table, wide, json, yaml, name, custom-columns=SPEC, custom-columns-file=FILE,
    /// jsonpath=TEMPLATE or jsonpath-file=FILE
    #[arg(short, long, value_name = "FORM", default_value = "table", hide_default_value = true, value_parser = OutputFormat::parse)]
    pub(crate) output: OutputFormat,
    #[command(flatten)]
    pub(crate) table: TableArgs,
}

/// The same flags without the format, for commands with formats of their own.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = HEADING)]
pub(crate) struct TableArgs {
    /// Omits the titles of tables
    #[arg(long)]
    no_headers: bool,
    /// Sorts a list by this field of its items, as in .spec.node
    #[arg(long, value_name = "JSONPATH")]
    sort_by: Option<SortKey>,
    /// When tables have colors
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = ColorChoice::Auto)]
    color: ColorChoice,
}

/// The field of the object with the sorted list, whose items are the rows of custom columns.
const ITEMS: &str = "items";

/// The result of a command.
pub(crate) trait Printable {
    /// The object for programs: `apiVersion` ([`API_VERSION`]), `kind`, and the fields of the kind.
    fn object(&self) -> Value;

    /// `pod/web-1`, one for each object; for each of the items, if the result is sorted.
    fn names(&self) -> Vec<String>;

    /// The text for people, with a line break after each line.
    fn human(&self, view: &PrintOptions) -> String;
}

/// Options of the text for people.
#[derive(Clone, Debug)]
pub(crate) struct PrintOptions {
    pub(crate) paper: Terminal,
    pub(crate) wide: bool,
    pub(crate) headers: bool,
    order: Option<Vec<usize>>,
}

/// Why a result could not be printed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PrintError {
    #[error(transparent)]
    Template(#[from] TemplateError),
    #[error(transparent)]
    Sort(#[from] SortError),
    #[error("cannot write the result as YAML: {0}")]
    Yaml(String),
    #[error("cannot write to standard output: {0}")]
    Closed(#[from] io::Error),
}

impl PrintOptions {
    /// Options for a table with titles.
    pub(crate) fn on(paper: Terminal) -> Self {
        Self { paper, wide: false, headers: true, order: None }
    }

    /// The items in the order of `--sort-by`.
    pub(crate) fn in_order<'i, T>(&self, items: &'i [T]) -> Vec<&'i T> {
        match &self.order {
            Some(order) if order.len() == items.len() => order.iter().map(|at| &items[*at]).collect(),
            _ => items.iter().collect(),
        }
    }
}

impl OutputArgs {
    /// Whether the output is a table, with which remarks may be printed.
    pub(crate) fn is_for_people(&self) -> bool {
        matches!(self.output, OutputFormat::Table | OutputFormat::Wide)
    }

    pub(crate) fn view(&self) -> PrintOptions {
        let paper = Terminal::of_standard_output(self.table.color.paints());
        let wide = self.output == OutputFormat::Wide;
        PrintOptions { wide, headers: !self.table.no_headers, ..PrintOptions::on(paper) }
    }

    /// Prints a result to standard output.
    pub(crate) fn print(&self, result: &dyn Printable) -> Result<(), PrintError> {
        print(&self.text(result)?)
    }

    fn text(&self, result: &dyn Printable) -> Result<String, PrintError> {
        let view = PrintOptions { order: self.order(result)?, ..self.view() };
        match &self.output {
            OutputFormat::Table | OutputFormat::Wide => Ok(result.human(&view)),
            OutputFormat::Name => {
                let names = result.names();
                Ok(view.in_order(&names).into_iter().map(|name| harmless(name) + "\n").collect())
            }
            OutputFormat::Json => Ok(json(&sorted(result, &view))),
            OutputFormat::Yaml => structured::yaml(&sorted(result, &view)).map_err(PrintError::Yaml),
            OutputFormat::Template(template) => {
                let text = template.execute(&sorted(result, &view))?;
                // Programs get the exact text; on a terminal, control characters would take effect.
                Ok(if view.paper.is_terminal { harmless_lines(&text) } else { text })
            }
            OutputFormat::Columns(columns) => Ok(columns.table(&sorted(result, &view), ITEMS)?.print(&view)),
        }
    }

    fn order(&self, result: &dyn Printable) -> Result<Option<Vec<usize>>, SortError> {
        let Some(key) = &self.table.sort_by else { return Ok(None) };
        match result.object().get(ITEMS).and_then(Value::as_array) {
            Some(items) if !items.is_empty() => key.order(items).map(Some),
            _ => Ok(None),
        }
    }
}

/// The first names of a list: `a, b and 4 more`.
pub(crate) fn enumerated(names: &[impl AsRef<str>], most: usize) -> String {
    let first = names.iter().take(most).map(AsRef::as_ref).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(most) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// Prints to standard output. A reader that stops early (`| head`) is not an error.
pub(crate) fn print(text: &str) -> Result<(), PrintError> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(why) if why.kind() != io::ErrorKind::BrokenPipe => Err(why.into()),
        _ => Ok(()),
    }
}

/// The object, with its items in the order of the view.
fn sorted(result: &dyn Printable, view: &PrintOptions) -> Value {
    let mut object = result.object();
    if view.order.is_some()
        && let Some(Value::Array(items)) = object.get_mut(ITEMS)
    {
        *items = view.in_order(items).into_iter().cloned().collect();
    }
    object
}

#[cfg(test)]
mod tests;
