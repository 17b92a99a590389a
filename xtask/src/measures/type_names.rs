//! Counts declared types that share their name with another one.
//!
//! - Structs, enums, traits, unions and type aliases count, wherever they are declared, in tests too; associated types do
//!   not.

use super::measure::Measure;
use super::source::Source;
use crate::files::files_below;
use anyhow::{Context as _, Result};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use syn::Item;
use syn::visit::{self, Visit};

/// The share of types whose name is not unique in the sources and tests of the checkout in `root`.
///
/// # Errors
///
/// A source cannot be read or parsed.
pub(crate) fn shared(root: &Path) -> Result<Measure> {
    let mut names = TypeNames::default();
    for file in files_below(root, &["rs"])? {
        let text = fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
        names.visit_file(&syn::parse_file(&text).with_context(|| format!("parsing {}", file.display()))?);
    }
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for name in names.0 {
        *counts.entry(name).or_default() += 1;
    }
    let all: usize = counts.values().sum();
    let shared: usize = counts.values().filter(|count| **count > 1).sum();
    let findings = counts.iter().filter(|(_, count)| **count > 1);
    let findings = findings.map(|(name, count)| format!("{name}: {count}")).collect();
    Ok(Measure::new("types that share their name, %", percent(shared, all), 2.0, findings))
}

/// The names that a crate declares twice, without its tests.
pub(crate) fn twice(sources: &[Source]) -> Measure {
    let mut declared: BTreeMap<String, Vec<&Source>> = BTreeMap::new();
    for source in sources {
        let mut names = TypeNames::default();
        names.visit_file(source.syntax());
        for name in names.0 {
            declared.entry(name).or_default().push(source);
        }
    }
    Measure::count("type names declared twice in a crate", 0.0, twice_in_a_crate(&declared))
}

fn twice_in_a_crate(declared: &BTreeMap<String, Vec<&Source>>) -> Vec<String> {
    let mut twice = Vec::new();
    for (name, sources) in declared {
        let mut by_crate: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for source in sources {
            by_crate.entry(source.package()).or_default().push(source.path());
        }
        for (package, paths) in by_crate.iter().filter(|(_, paths)| paths.len() > 1) {
            twice.push(format!("{package}: {name}: {}", paths.join(", ")));
        }
    }
    twice.sort();
    twice
}

fn percent(part: usize, whole: usize) -> f64 {
    let count = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    if whole == 0 { 0.0 } else { 100.0 * count(part) / count(whole) }
}

#[derive(Default)]
struct TypeNames(Vec<String>);

impl<'ast> Visit<'ast> for TypeNames {
    fn visit_item(&mut self, item: &'ast Item) {
        let name = match item {
            Item::Struct(item) => Some(&item.ident),
            Item::Enum(item) => Some(&item.ident),
            Item::Trait(item) => Some(&item.ident),
            Item::Type(item) => Some(&item.ident),
            Item::Union(item) => Some(&item.ident),
            _ => None,
        };
        self.0.extend(name.map(ToString::to_string));
        visit::visit_item(self, item);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "made-up sources parse")]
mod tests {
    use super::super::source::Source;
    use super::{shared, twice};

    fn twice_in(files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<Source> =
            files.iter().map(|(path, text)| Source::parse(path, text).unwrap()).collect();
        twice(&sources).findings().to_vec()
    }

    #[test]
    fn a_name_declared_twice_in_a_crate_is_found() {
        let a = ("crates/core/src/a.rs", "struct Pod; enum Node {} trait Engine { type Pod; }");
        let b = ("crates/core/src/b.rs", "mod inner { type Pod = u8; }");
        assert_eq!(twice_in(&[a, b]), ["core: Pod: crates/core/src/a.rs, crates/core/src/b.rs"]);
        let of_two_crates =
            [("crates/core/src/a.rs", "struct Pod;"), ("crates/cli/src/a.rs", "union Pod { a: u8 }")];
        assert_eq!(twice_in(&of_two_crates), [""; 0]);
        let of_a_test = [("crates/core/src/a.rs", "struct Pod; #[cfg(test)] mod tests { struct Pod; }")];
        assert_eq!(twice_in(&of_a_test), [""; 0]);
    }

    #[test]
    fn names_of_tests_are_shared_too() {
        let root = std::env::temp_dir().join(format!("taintward-type-names-{}", std::process::id()));
        std::fs::create_dir_all(root.join("crates/core/tests")).unwrap();
        let write =
            |path: &str, text: &str| std::fs::write(root.join("crates/core").join(path), text).unwrap();
        write("lib.rs", "struct Pod; struct Node; #[cfg(test)] mod tests { struct Lease; }");
        write("tests/a.rs", "struct Pod; trait Engine { type Node; }");
        let measure = shared(&root).unwrap();
        std::fs::remove_dir_all(&root).unwrap();
        assert_eq!((measure.value(), measure.findings()), (40.0, &["Pod: 2".to_owned()][..]));
    }
}
