//! The small changes of the code that cargo-mutants proposes.

use anyhow::{Context as _, Result};
use serde::Deserialize;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// A line and a column; both begin with 1.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CodePosition {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl From<proc_macro2::LineColumn> for CodePosition {
    fn from(found: proc_macro2::LineColumn) -> Self {
        Self { line: found.line, column: found.column + 1 }
    }
}

/// The code that a change replaces.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Replaced {
    start: CodePosition,
}

#[derive(Clone, Debug, Deserialize)]
struct MutatedFunction {
    return_type: String,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MutantKind {
    FnValue,
    BinaryOperator,
    UnaryOperator,
    MatchArmGuard,
    MatchArm,
    StructField,
}

/// One small change.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Mutant {
    /// `file:line:column: description`
    name: String,
    /// From the root of the workspace.
    file: String,
    genre: MutantKind,
    replacement: String,
    span: Replaced,
    function: Option<MutatedFunction>,
    diff: String,
}

impl Mutant {
    /// Decodes the list that `cargo mutants --list --json --diff` prints.
    pub(crate) fn list(json: &str) -> Result<Vec<Self>> {
        serde_json::from_str(json).context("decoding the list of cargo-mutants")
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    pub(crate) fn kind(&self) -> MutantKind {
        self.genre
    }

    pub(crate) fn replacement(&self) -> &str {
        &self.replacement
    }

    pub(crate) fn start(&self) -> CodePosition {
        self.span.start
    }

    /// Whether the function returns a type that only its body names: a second `return` of another type does not compile.
    pub(crate) fn returns_opaque_type(&self) -> bool {
        self.function.as_ref().is_some_and(|function| function.return_type.contains("impl "))
    }

    /// What is done to the code, without the place in the file.
    pub(crate) fn description(&self) -> &str {
        self.name.splitn(4, ':').nth(3).unwrap_or(&self.name).trim()
    }

    /// The first line that is changed, without its indentation.
    pub(crate) fn line(&self) -> &str {
        let removed = self.diff.lines().skip(2).find_map(|line| line.strip_prefix('-'));
        removed.unwrap_or_default().trim()
    }

    /// A number that stays the same while the code around the change does.
    pub(crate) fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.file.hash(&mut hasher);
        self.description().hash(&mut hasher);
        // A line with the place in the file is no part of the code.
        self.diff.lines().filter(|line| !line.starts_with("@@")).for_each(|line| line.hash(&mut hasher));
        // Two changes of one line differ in their columns.
        self.span.start.column.hash(&mut hasher);
        hasher.finish()
    }
}
