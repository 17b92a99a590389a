//! Counts declared types that share their name with another one.
//!
//! - Structs, enums, traits, unions and type aliases count, wherever they are declared; associated types do not.

use super::measure::Measure;
use super::source::Source;
use std::collections::BTreeMap;
use syn::Item;
use syn::visit::{self, Visit};

/// The share of types whose name is not unique, and the names that a crate declares twice.
pub(crate) fn measures(sources: &[Source]) -> [Measure; 2] {
    let mut declared: BTreeMap<String, Vec<&Source>> = BTreeMap::new();
    for source in sources {
        let mut names = TypeNames::default();
        names.visit_file(source.syntax());
        for name in names.0 {
            declared.entry(name).or_default().push(source);
        }
    }
    let all: usize = declared.values().map(Vec::len).sum();
    let shared: usize = declared.values().map(Vec::len).filter(|count| *count > 1).sum();
    let shared_names = declared.iter().filter(|(_, sources)| sources.len() > 1);
    let shared_names = shared_names.map(|(name, sources)| format!("{name}: {}", sources.len()));
    [
        Measure::new("types that share their name, %", percent(shared, all), 8.0, shared_names.collect()),
        Measure::count("type names declared twice in a crate", 0.0, twice_in_a_crate(&declared)),
    ]
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
    use super::measures;

    fn measured(files: &[(&str, &str)]) -> (f64, Vec<String>) {
        let sources: Vec<Source> =
            files.iter().map(|(path, text)| Source::parse(path, text).unwrap()).collect();
        let [shared, twice] = measures(&sources);
        (shared.value(), twice.findings().to_vec())
    }

    #[test]
    fn a_name_declared_twice_in_a_crate_is_found() {
        let a = ("crates/core/src/a.rs", "struct Pod; enum Node {} trait Engine { type Pod; }");
        let b = ("crates/core/src/b.rs", "mod inner { type Pod = u8; }");
        assert_eq!(
            measured(&[a, b]),
            (50.0, vec!["core: Pod: crates/core/src/a.rs, crates/core/src/b.rs".to_owned()])
        );
    }

    #[test]
    fn a_name_of_two_crates_is_shared_and_no_more() {
        let files = [("crates/core/src/a.rs", "struct Pod;"), ("crates/cli/src/a.rs", "union Pod { a: u8 }")];
        assert_eq!(measured(&files), (100.0, Vec::new()));
    }

    #[test]
    fn types_of_tests_are_not_counted() {
        let text = "struct Pod; #[cfg(test)] mod tests { struct Pod; }";
        assert_eq!(measured(&[("crates/core/src/a.rs", text)]), (0.0, Vec::new()));
    }
}
