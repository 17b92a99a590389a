//! Parses the value of `-o`.

use super::custom_columns::CustomColumns;
use super::jsonpath::JsonPathTemplate;
use std::path::PathBuf;

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
    ColumnsFile(PathBuf),
    Template(JsonPathTemplate),
    TemplateFile(PathBuf),
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
            ("custom-columns-file", _) => Ok(Self::ColumnsFile(given("a file")?.into())),
            ("jsonpath", _) => JsonPathTemplate::parse(given("a template")?)
                .map(Self::Template)
                .map_err(|why| why.to_string()),
            ("jsonpath-file", _) => Ok(Self::TemplateFile(given("a file")?.into())),
            ("table" | "wide" | "json" | "yaml" | "name", Some(_)) => {
                Err(format!("{name} takes no argument"))
            }
            _ => Err(format!("expected one of {FORMS}")),
        }
    }
}

fn example(name: &str) -> &'static str {
    match name {
        "custom-columns" => "NAME:.metadata.name,NODE:.spec.node",
        "jsonpath" => "'{.kind}'",
        _ => "FILE",
    }
}
