//! Reads `.taintward-lint.yaml`: which findings are silenced, where and why.
//!
//! - Invariant: every entry has a reason, and unknown fields are errors.

use super::finding::ReportedFinding;
use super::glob;
use crate::manifest::{self, TextPosition, YamlNode, YamlValue, files};
use std::fmt;
use std::io;
use std::path::Path;
use std::str::FromStr;
use taintward_core::lint::Rule;

/// The default config file, in the current folder.
pub(crate) const FILE: &str = ".taintward-lint.yaml";

/// Larger files are mistakes.
const BYTES_MAX: u64 = 1 << 20;

/// The contents of the config.
#[derive(Debug, Default)]
pub(crate) struct LintConfig {
    pub(crate) silences: Vec<SilencedRule>,
}

/// Findings that are not reported, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SilencedRule {
    pub(crate) rule: Rule,
    pub(crate) reason: String,
    /// The files that it applies to; all if `None`.
    pub(crate) path: Option<String>,
    /// The objects that it applies to, as `Kind/name` or `Kind/namespace/name`; all if `None`.
    pub(crate) object: Option<String>,
}

/// `TL201 for apps/** is silenced and was not found; ...`
impl fmt::Display for SilencedRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.rule.id())?;
        for place in [&self.path, &self.object].into_iter().flatten() {
            write!(f, " for {place}")?;
        }
        f.write_str(
            " no longer occurs, but the config silences it; remove the entry if you no longer need it",
        )
    }
}

/// Why the config is invalid, and how to fix it.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error("cannot read the config {file}: {why}; {remedy}, or name another with --config")]
    Unreadable { file: String, why: String, remedy: &'static str },
    #[error("cannot use the config {file}:{}:{}: {why}", at.line, at.column)]
    Wrong { file: String, at: TextPosition, why: String },
}

impl SilencedRule {
    pub(crate) fn fits(&self, reported: &ReportedFinding) -> bool {
        let file = reported
            .location
            .as_ref()
            .map(|location| location.file.strip_prefix("./").unwrap_or(&location.file));
        let name = &reported.object;
        let short = format!("{}/{}", name.kind, name.name);
        let long = format!("{}/{}/{}", name.kind, name.namespace, name.name);
        self.rule == reported.rule
            && self.path.as_ref().is_none_or(|path| file.is_some_and(|file| glob::matches(path, file)))
            && self
                .object
                .as_ref()
                .is_none_or(|object| glob::matches(object, &short) || glob::matches(object, &long))
    }
}

impl FromStr for LintConfig {
    type Err = (TextPosition, String);

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut documents = Vec::new();
        let faults = manifest::each(text, |tree| documents.push(tree.clone()));
        if let Some(fault) = faults.into_iter().next() {
            return Err((fault.at, fault.why));
        }
        match &documents[..] {
            [] => Ok(Self::default()),
            [only] => Self::of(only),
            [_, second, ..] => {
                Err((second.span.from, "the file has a second document; remove it".to_owned()))
            }
        }
    }
}

impl LintConfig {
    pub(crate) fn load(named: Option<&Path>) -> Result<Self, ConfigError> {
        let path = named.unwrap_or(Path::new(FILE));
        let file = path.display().to_string();
        if named.is_none() && !path.exists() {
            return Ok(Self::default());
        }
        let unreadable = |why: String, remedy| ConfigError::Unreadable { file: file.clone(), why, remedy };
        let failed = |why: io::Error| unreadable(why.to_string(), files::remedy(&why));
        let length = std::fs::metadata(path).map_err(failed)?.len();
        if length > BYTES_MAX {
            return Err(unreadable(format!("it is larger than {} MB", BYTES_MAX >> 20), "shorten it"));
        }
        let text = std::fs::read_to_string(path).map_err(failed)?;
        text.parse().map_err(|(at, why)| ConfigError::Wrong { file, at, why })
    }

    fn of(tree: &YamlNode) -> Result<Self, (TextPosition, String)> {
        known_fields(tree, &["apiVersion", "kind", "silence"])?;
        for (name, expected) in [("apiVersion", "taintward.io/v1alpha1"), ("kind", "LintConfig")] {
            let field = tree.get(name);
            if field.map(YamlNode::as_text) != Some(expected) {
                let at = field.map_or(tree.span, |field| field.span).from;
                return Err((at, format!("expected {name}: {expected}")));
            }
        }
        let silences = match tree.get("silence") {
            None => Vec::new(),
            Some(list) if matches!(list.value, YamlValue::List(_)) => {
                list.items().iter().map(silence).collect::<Result<_, _>>()?
            }
            Some(other) => return Err((other.span.from, "expected a list of rules with reasons".to_owned())),
        };
        Ok(Self { silences })
    }
}

fn silence(tree: &YamlNode) -> Result<SilencedRule, (TextPosition, String)> {
    known_fields(tree, &["rule", "reason", "path", "object"])?;
    let text = |name: &str| match tree.get(name) {
        None => Ok(None),
        Some(field) if field.is_text() && !field.as_text().trim().is_empty() => {
            Ok(Some(field.as_text().to_owned()))
        }
        Some(field) => Err((field.span.from, format!("expected some text as {name}"))),
    };
    let at = tree.span.from;
    let (Some(rule), place) = (text("rule")?, tree.get("rule").map_or(at, |rule| rule.span.from)) else {
        return Err((
            at,
            "the entry names no rule; add the field rule, with an ID such as TL201 or a name".to_owned(),
        ));
    };
    let Some(known) = Rule::ALL.iter().find(|known| known.id() == rule || known.name() == rule) else {
        return Err((place, format!("rule {rule:?} does not exist; docs/lint.md lists all rules")));
    };
    let Some(reason) = text("reason")? else {
        return Err((
            at,
            format!("the entry for {rule} has no reason; add the field reason with a sentence"),
        ));
    };
    Ok(SilencedRule { rule: *known, reason, path: text("path")?, object: text("object")? })
}

fn known_fields(tree: &YamlNode, known: &[&str]) -> Result<(), (TextPosition, String)> {
    if !matches!(tree.value, YamlValue::Map(_)) {
        return Err((tree.span.from, format!("expected the fields {}", known.join(", "))));
    }
    let odd = tree.names().find(|entry| !known.contains(&&*entry.key));
    match odd {
        None => Ok(()),
        Some(entry) => Err((
            entry.key_span.from,
            format!("field {:?} does not exist; expected {}", &*entry.key, known.join(", ")),
        )),
    }
}
