//! Holds the Helm chart in `deploy/chart`, writes it into a folder and renders its objects.
//!
//! - Invariant: every choice of `taintward install` is a value of the chart, with the same default.

use super::helm_template::{HelmTemplateError, HelmTemplates};
use super::values::InstallValues;
use std::io;
use std::path::{Path, PathBuf};

macro_rules! files {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_str!(concat!("../../../../deploy/chart/", $name)))),+]
    };
}

/// The templates of objects, in the order of creation.
const TEMPLATES: [(&str, &str); 9] = files![
    "templates/bounds.yaml",
    "templates/rbac.yaml",
    "templates/flowschema.yaml",
    "templates/service.yaml",
    "templates/deployment.yaml",
    "templates/poddisruptionbudget.yaml",
    "templates/networkpolicy.yaml",
    "templates/poolguard.yaml",
    "templates/webhook.yaml",
];

/// The custom resources' definitions.
pub(super) const DEFINITIONS: [(&str, &str); 2] = [
    ("crds/dedicatedpools.yaml", include_str!("../../../../deploy/crds/dedicatedpools.yaml")),
    ("crds/taintwardpolicies.yaml", include_str!("../../../../deploy/crds/taintwardpolicies.yaml")),
];

const OTHERS: [(&str, &str); 6] = files![
    "Chart.yaml",
    "README.md",
    "values.schema.json",
    "values.yaml",
    "templates/NOTES.txt",
    "templates/_helpers.tpl",
];

const HELPERS: &str = include_str!("../../../../deploy/chart/templates/_helpers.tpl");

/// Folders in which nothing else is.
const OWN: [&str; 2] = ["crds", "templates"];

/// The folder could not be filled.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the chart to {}: {why}; name a folder that may be written", folder.display())]
pub(super) struct ChartError {
    folder: PathBuf,
    why: io::Error,
}

/// Each file by its path in the chart.
fn files() -> impl Iterator<Item = (&'static str, &'static str)> {
    OTHERS.into_iter().chain(DEFINITIONS).chain(TEMPLATES)
}

/// Writes the chart; returns what there is to say about it.
pub(super) fn write(folder: &Path) -> Result<String, ChartError> {
    let written = || -> io::Result<()> {
        for name in OWN {
            std::fs::create_dir_all(folder.join(name))?;
            for entry in std::fs::read_dir(folder.join(name))? {
                let entry = entry?.file_name();
                let is_ours = |file: &str| files().any(|(ours, _)| ours == format!("{name}/{file}"));
                if !entry.to_str().is_some_and(is_ours) {
                    std::fs::remove_file(folder.join(name).join(entry))?;
                }
            }
        }
        files().try_for_each(|(name, text)| std::fs::write(folder.join(name), text))
    };
    written().map_err(|why| ChartError { folder: folder.to_owned(), why })?;
    Ok(format!("the chart: {}\n", folder.display()))
}

/// The objects of an installation as documents of YAML, in the order of creation, without definitions.
pub(super) fn documents(values: &InstallValues) -> Result<Vec<String>, HelmTemplateError> {
    let mut helm = HelmTemplates::new(HELPERS)?;
    helm.define("taintward.image", &values.image);
    let root = values.for_chart();
    let mut all = Vec::new();
    for (_, template) in TEMPLATES {
        let text = helm.render(template, &root)?;
        all.extend(text.split("---\n").map(|text| text.trim_matches('\n').to_owned() + "\n"));
    }
    all.retain(|document| document != "\n");
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row for each value that has a meaning (`# --`).
    fn table() -> String {
        let values = files().find(|(name, _)| *name == "values.yaml").unwrap().1;
        let mut rows = String::new();
        let (mut path, mut meaning): (Vec<(usize, &str)>, _) = (Vec::new(), None);
        for line in values.lines() {
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

    #[test]
    fn the_readme_has_a_row_for_each_value() {
        let readme = files().find(|(name, _)| *name == "README.md").unwrap().1;
        assert!(readme.ends_with(&table()), "the table is to be:\n{}", table());
    }

    #[test]
    fn the_chart_has_the_programs_version() {
        let chart = files().find(|(name, _)| *name == "Chart.yaml").unwrap().1;
        for key in ["version", "appVersion"] {
            let line = chart.lines().find(|line| line.starts_with(&format!("{key}:"))).unwrap();
            assert!(line.contains(env!("CARGO_PKG_VERSION")), "{line}");
        }
    }
}
