//! Finds circles of imports between the modules of a crate, and between its top-level modules with all that they contain.
//!
//! - A circle is a set of files in which each file reaches every other file by imports. A module and its child may import each
//!   other; they belong to a circle only if other files close it.
//! - See `imports.rs` for what counts as an import.

use super::imports::{CrateImports, Edges, ModulePath};
use super::measure::Measure;
use super::source::Source;
use std::collections::{BTreeMap, BTreeSet};

/// The number of circles of files, and of top-level modules.
pub(crate) fn measures(sources: &[Source]) -> [Measure; 2] {
    let mut crates: BTreeMap<&str, Vec<&Source>> = BTreeMap::new();
    for source in sources {
        crates.entry(source.package()).or_default().push(source);
    }
    let (mut of_files, mut of_modules) = (Vec::new(), Vec::new());
    for (package, sources) in crates {
        let edges = CrateImports::read(&sources).edges();
        for circle in circles_of(&edges) {
            let names = circle.iter().map(|module| module.join("::")).collect::<Vec<_>>().join(", ");
            of_files.push(format!("{package}, {} files: {names}", circle.len()));
        }
        of_modules.extend(top_level_circles(&edges).iter().map(|circle| format!("{package}: {circle}")));
    }
    [
        Measure::count("import circles", 0.0, of_files),
        Measure::count("circles of top-level modules", 0.0, of_modules),
    ]
}

/// Describes the circles of top-level modules, each with the imports inside it.
fn top_level_circles(edges: &Edges<'_>) -> Vec<String> {
    let mut tops: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (from, to) in edges {
        let Some(from) = from.first() else { continue };
        let to = to.iter().filter_map(|module| module.first()).filter(|to| *to != from);
        tops.entry(from).or_default().extend(to.map(String::as_str));
    }
    let described = |circle: &BTreeSet<&str>| {
        let is_inside = |from: &ModulePath, to: &ModulePath| match (from.first(), to.first()) {
            (Some(from), Some(to)) => {
                from != to && circle.contains(from.as_str()) && circle.contains(to.as_str())
            }
            _ => false,
        };
        let all = edges.iter().flat_map(|(from, to)| to.iter().map(move |to| (from, to)));
        let inside = all.filter(|(from, to)| is_inside(from, to));
        inside
            .map(|(from, to)| format!("{} -> {}", from.join("::"), to.join("::")))
            .collect::<Vec<_>>()
            .join(", ")
    };
    components(&tops).iter().map(described).collect()
}

/// The circles that are closed by more than a parent and its child.
fn circles_of<'s>(edges: &Edges<'s>) -> Vec<BTreeSet<&'s ModulePath>> {
    let mut circles = components(edges);
    circles.retain(|circle| {
        let inside = circle.iter().map(|from| {
            let to = edges[from].intersection(circle).filter(|to| !is_child(from, to) && !is_child(to, from));
            (*from, to.copied().collect())
        });
        !components(&inside.collect()).is_empty()
    });
    circles
}

fn is_child(module: &ModulePath, of: &ModulePath) -> bool {
    module.split_last().is_some_and(|(_, parent)| parent == of)
}

/// The strongly connected components of more than one module.
fn components<M: Ord + Copy>(edges: &BTreeMap<M, BTreeSet<M>>) -> Vec<BTreeSet<M>> {
    let reached: BTreeMap<M, _> =
        edges.keys().map(|module| (*module, reached_from(*module, edges))).collect();
    let mut placed = BTreeSet::new();
    let mut components = Vec::new();
    for (module, from_here) in &reached {
        let back = from_here.iter().filter(|other| reached[*other].contains(module));
        let component: BTreeSet<M> = back.copied().chain([*module]).collect();
        if component.len() > 1 && placed.insert(component.first().copied()) {
            components.push(component);
        }
    }
    components
}

fn reached_from<M: Ord + Copy>(module: M, edges: &BTreeMap<M, BTreeSet<M>>) -> BTreeSet<M> {
    let mut reached = BTreeSet::new();
    let mut next = vec![module];
    while let Some(module) = next.pop() {
        next.extend(edges[&module].iter().filter(|to| reached.insert(**to)));
    }
    reached
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "made-up sources parse")]
mod tests {
    use super::super::source::Source;
    use super::measures;

    /// Circles of files, circles of top-level modules; and the descriptions of the circles of files.
    fn circles(files: &[(&str, &str)]) -> ([f64; 2], Vec<String>) {
        let measures = measures(&files.iter().map(source).collect::<Vec<_>>());
        (measures.each_ref().map(super::Measure::value), measures[0].findings().to_vec())
    }

    fn source((path, text): &(&str, &str)) -> Source {
        Source::parse(&format!("crates/core/src/{path}"), text).unwrap()
    }

    #[test]
    fn a_circle_is_found() {
        let files = [("a.rs", "use crate::b;"), ("b.rs", "use crate::c;"), ("c.rs", "use crate::a;")];
        assert_eq!(circles(&files), ([1.0, 1.0], vec!["core, 3 files: a, b, c".to_owned()]));
    }

    #[test]
    fn a_chain_is_not_a_circle() {
        let files = [("a.rs", "use crate::{b, c};"), ("b.rs", "use crate::c;"), ("c.rs", "")];
        assert_eq!(circles(&files), ([0.0; 2], Vec::new()));
    }

    #[test]
    fn a_parent_and_its_child_may_import_each_other() {
        let parent = ("a.rs", "use self::b::B; struct A;");
        assert_eq!(circles(&[parent, ("a/b.rs", "use super::A;")]).0, [0.0; 2]);
        let closed = [parent, ("a/b.rs", "use super::A; use super::c;"), ("a/c.rs", "use super::b;")];
        assert_eq!(circles(&closed), ([1.0, 0.0], vec!["core, 3 files: a, a::b, a::c".to_owned()]));
    }

    #[test]
    fn a_circle_of_top_level_modules_needs_no_circle_of_files() {
        let open =
            [("a.rs", ""), ("b.rs", ""), ("a/c.rs", "use crate::b::d;"), ("a/e.rs", ""), ("b/d.rs", "")];
        assert_eq!(circles(&open).0, [0.0; 2]);
        let closed = [&open[..4], &[("b/d.rs", "use crate::a::e;")]].concat();
        assert_eq!(circles(&closed).0, [0.0, 1.0]);
        let measures = measures(&closed.iter().map(source).collect::<Vec<_>>());
        assert_eq!(measures[1].findings(), ["core: a::c -> b::d, b::d -> a::e"]);
    }

    #[test]
    fn a_circle_inside_a_module_is_one_of_files_only() {
        let across =
            [("a/b.rs", "use crate::c::d;"), ("c/d.rs", "use crate::a::b;"), ("a.rs", ""), ("c.rs", "")];
        assert_eq!(circles(&across).0, [1.0, 1.0]);
        let faces = [("a.rs", "use crate::b;"), ("b.rs", "use crate::a;"), ("b/c.rs", "")];
        assert_eq!(circles(&faces).0, [1.0, 1.0]);
        let inside = [("a/b.rs", "use super::c;"), ("a/c.rs", "use super::b;"), ("a.rs", "")];
        assert_eq!(circles(&inside).0, [1.0, 0.0]);
    }

    #[test]
    fn crates_do_not_close_each_others_circles() {
        let sources = [
            Source::parse("crates/core/src/a.rs", "use crate::b;").unwrap(),
            Source::parse("crates/core/src/b.rs", "").unwrap(),
            Source::parse("crates/cli/src/b.rs", "use crate::a;").unwrap(),
            Source::parse("crates/cli/src/a.rs", "").unwrap(),
        ];
        assert_eq!(measures(&sources)[0].value(), 0.0);
    }
}
