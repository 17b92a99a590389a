//! Writes the Helm chart from the templates of the objects and the files in `chart/`.
//!
//! - Invariant: every choice of `taintward install` is a value of the chart, with the same default.

use super::objects::{DEFINITIONS, planned};
use super::render::{RenderMode, yaml};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

const CHART: &str = include_str!("chart/Chart.yaml");
const VALUES: &str = include_str!("chart/values.yaml");
const SCHEMA: &str = include_str!("chart/values.schema.json");
const NAMES: &str = include_str!("chart/_helpers.tpl");
const NOTES: &str = include_str!("chart/NOTES.txt");
const README: &str = include_str!("chart/README.md");

/// Folders in which nothing else is.
const OWN: [&str; 2] = ["crds", "templates"];

/// The folder could not be filled.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the chart to {}: {why}; name a folder that may be written", place.display())]
pub(super) struct ChartError {
    place: PathBuf,
    why: io::Error,
}

/// Writes the chart; what there is to say about it.
pub(super) fn write(folder: &Path) -> Result<String, ChartError> {
    let written = || -> io::Result<()> {
        let files = files();
        for name in OWN {
            std::fs::create_dir_all(folder.join(name))?;
            for entry in std::fs::read_dir(folder.join(name))? {
                let entry = entry?.file_name();
                let ours = entry.to_str().is_some_and(|file| files.contains_key(&format!("{name}/{file}")));
                if !ours {
                    std::fs::remove_file(folder.join(name).join(entry))?;
                }
            }
        }
        files.iter().try_for_each(|(name, text)| std::fs::write(folder.join(name), text))
    };
    written().map_err(|why| ChartError { place: folder.to_owned(), why })?;
    Ok(format!("the chart: {}\n", folder.display()))
}

/// Each file by its path in the chart.
fn files() -> BTreeMap<String, String> {
    let versioned = |text: &str| text.replace("[VERSION]", env!("CARGO_PKG_VERSION"));
    let by_hand = [
        ("Chart.yaml", versioned(CHART)),
        ("values.yaml", VALUES.to_owned()),
        ("values.schema.json", SCHEMA.to_owned()),
        ("README.md", README.to_owned() + &table()),
        ("templates/_helpers.tpl", NAMES.to_owned()),
        ("templates/NOTES.txt", NOTES.to_owned()),
    ];
    let mut files: BTreeMap<String, String> =
        by_hand.into_iter().map(|(name, text)| (name.to_owned(), text)).collect();
    for (name, text) in DEFINITIONS {
        files.insert(format!("crds/{name}"), text.to_owned());
    }
    // The namespace is Helm's own business.
    for planned in planned().iter().filter(|planned| !planned.file.is_empty()) {
        let condition = planned.when.expression();
        let note = if planned.note.is_empty() { String::new() } else { format!("# {}\n", planned.note) };
        let document = yaml(&planned.sheet, RenderMode::Template);
        let text = format!("{{{{- if {condition} }}}}\n---\n{note}{document}{{{{- end }}}}\n");
        *files.entry(format!("templates/{}", planned.file)).or_default() += &text;
    }
    files
}

/// The values, a row for each that has a meaning (`# --`).
fn table() -> String {
    let mut rows = String::new();
    let (mut path, mut meaning): (Vec<(usize, &str)>, _) = (Vec::new(), None);
    for line in VALUES.lines() {
        let indent = line.len() - line.trim_start().len();
        if let Some(text) = line.trim().strip_prefix("# -- ") {
            meaning = Some(text);
        } else if let Some((key, value)) =
            line.trim().split_once(':').filter(|(key, _)| !key.starts_with('#'))
        {
            path.retain(|(outer, _)| *outer < indent);
            path.push((indent, key));
            if let Some(meaning) = meaning.take() {
                let name = path.iter().map(|(_, key)| *key).collect::<Vec<_>>().join(".");
                rows += &format!("| `{name}` | `{}` | {meaning} |\n", value.trim());
            }
        }
    }
    rows
}
