//! Reads the production sources of the workspace: `crates/*/src` and `xtask/src` without test files.
//!
//! - See `source.rs` for tests inside a file.

use super::source::Source;
use crate::files::files_below;
use anyhow::{Context as _, Result};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The production sources of a workspace, sorted by path.
pub(crate) struct Checkout {
    sources: Vec<Source>,
}

impl Checkout {
    /// Reads the workspace in `root`.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let mut texts = Vec::new();
        for file in files_below(root, &["rs"])? {
            let path = file.strip_prefix(root)?.to_string_lossy().into_owned();
            if !is_production(&path) {
                continue;
            }
            let text = fs::read_to_string(&file).with_context(|| format!("reading {path}"))?;
            texts.push((path, text));
        }
        Self::parse(texts.iter().map(|(path, text)| (path.as_str(), text.as_str())))
    }

    /// The sources among `files`, which are given by path and text.
    pub(crate) fn parse<'t>(files: impl Iterator<Item = (&'t str, &'t str)>) -> Result<Self> {
        let production = files.filter(|(path, _)| is_production(path));
        let mut sources =
            production.map(|(path, text)| Source::parse(path, text)).collect::<Result<Vec<_>>>()?;
        let declared = |source: &Source| {
            let package = source.package().to_owned();
            source.test_modules().iter().map(|module| (package.clone(), module.clone())).collect::<Vec<_>>()
        };
        let tests: Vec<(String, Vec<String>)> = sources.iter().flat_map(declared).collect();
        sources.retain(|source| {
            let is_below = |(package, module): &(String, Vec<String>)| {
                source.package() == package && source.module().starts_with(module)
            };
            !tests.iter().any(is_below)
        });
        Ok(Self { sources })
    }

    pub(crate) fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// The production lines of the workspace.
    pub(crate) fn lines(&self) -> u32 {
        let lines = self.sources.iter().map(Source::lines).sum::<usize>();
        u32::try_from(lines).unwrap_or(u32::MAX)
    }

    /// The production lines without those of a crate, and those of the crate.
    pub(crate) fn lines_without(&self, package: &str) -> (u32, u32) {
        let its = self.sources.iter().filter(|source| source.package() == package);
        let its = u32::try_from(its.map(Source::lines).sum::<usize>()).unwrap_or(u32::MAX);
        (self.lines() - its, its)
    }

    /// The production lines of each crate, the largest first.
    pub(crate) fn lines_by_crate(&self) -> Vec<(String, usize)> {
        let mut lines: BTreeMap<&str, usize> = BTreeMap::new();
        for source in &self.sources {
            *lines.entry(source.package()).or_default() += source.lines();
        }
        let mut lines: Vec<_> =
            lines.into_iter().map(|(package, lines)| (package.to_owned(), lines)).collect();
        lines.sort_by_key(|(_, lines)| std::cmp::Reverse(*lines));
        lines
    }
}

fn is_production(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    let in_sources = matches!(parts[..], ["crates", _, "src", ..] | ["xtask", "src", ..]);
    in_sources && !parts.iter().any(|part| matches!(*part, "tests" | "tests.rs"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "made-up sources parse")]
mod tests {
    use super::Checkout;

    #[test]
    fn files_of_tests_are_left_out() {
        let files = [
            ("crates/core/src/lib.rs", "#[cfg(test)]\nmod harness;\nmod a;\n"),
            ("crates/core/src/a.rs", "struct A;\n"),
            ("crates/core/src/a/tests.rs", "struct B;\n"),
            ("crates/core/src/a/tests/table.rs", "struct C;\n"),
            ("crates/core/src/harness.rs", "struct D;\n"),
            ("crates/core/src/harness/clock.rs", "struct E;\n"),
            ("crates/core/examples/list.rs", "struct H;\n"),
            ("xtask/nostd-proof/src/main.rs", "struct I;\n"),
            ("crates/kube/src/harness.rs", "struct F;\nstruct G;\n"),
        ];
        let checkout = Checkout::parse(files.into_iter()).unwrap();
        let paths: Vec<&str> = checkout.sources().iter().map(|source| source.path()).collect();
        assert_eq!(paths, ["crates/core/src/lib.rs", "crates/core/src/a.rs", "crates/kube/src/harness.rs"]);
        assert_eq!(checkout.lines(), 4);
        assert_eq!(checkout.lines_without("kube"), (2, 2));
        assert_eq!(checkout.lines_by_crate(), [("core".to_owned(), 2), ("kube".to_owned(), 2)]);
    }
}
