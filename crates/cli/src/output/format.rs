//! Parses the value of `-o`.

use super::custom_columns::CustomColumns;
use super::jsonpath::JsonPathTemplate;
use crate::manifest::files::remedy;

/// All formats, as kubectl spells them.
pub(crate) const FORMS: &str = "table, wide, json, yaml, name, custom-columns=SPEC, custom-columns-file=FILE, \
                                jsonpath=TEMPLATE, jsonpath-file=FILE";

/// An output format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OutputFormat {
    Table,
    Wide,
    Json,
    Yaml,
    Name,
    Columns(CustomColumns),
    Template(JsonPathTemplate),
}

impl OutputFormat {
    /// Parses the value of `-o`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (name, rest) = match text.split_once('=') {
            Some((name, rest)) => (name, Some(rest)),
            None => (text, None),
        };
        let given = |what: &str| match rest {
            Some(rest) if !rest.is_empty() => Ok(rest),
            _ => Err(format!("{name} needs {what}, as in {name}={}", example(name))),
        };
        match (name, rest) {
            ("table" | "", None) => Ok(Self::Table),
            ("wide", None) => Ok(Self::Wide),
            ("json", None) => Ok(Self::Json),
            ("yaml", None) => Ok(Self::Yaml),
            ("name", None) => Ok(Self::Name),
            ("custom-columns", _) => given("columns")?.parse().map(Self::Columns),
            ("custom-columns-file", _) => {
                of_file(given("a file")?, CustomColumns::parse_file).map(Self::Columns)
            }
            ("jsonpath", _) => template(given("a template")?).map(Self::Template),
            ("jsonpath-file", _) => of_file(given("a file")?, template).map(Self::Template),
            ("table" | "wide" | "json" | "yaml" | "name", Some(_)) => {
                Err(format!("{name} takes no argument"))
            }
            _ => Err(format!("expected one of {FORMS}")),
        }
    }
}

fn template(text: &str) -> Result<JsonPathTemplate, String> {
    JsonPathTemplate::parse(text).map_err(|why| why.to_string())
}

/// Reads and parses a file.
fn of_file<T>(file: &str, parse: impl Fn(&str) -> Result<T, String>) -> Result<T, String> {
    let text = std::fs::read_to_string(file)
        .map_err(|why| format!("cannot read the file of -o, {file}: {why}; {}", remedy(&why)))?;
    parse(&text).map_err(|why| format!("cannot use the file of -o, {file}: {why}; correct its template"))
}

fn example(name: &str) -> &'static str {
    match name {
        "custom-columns" => "NAME:.metadata.name,NODE:.spec.node",
        "jsonpath" => "'{.kind}'",
        _ => "FILE",
    }
}
