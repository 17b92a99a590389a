//! Finds circles of imports between the modules of a crate, and between its folders.
//!
//! - A circle is a set of files in which each file reaches every other file by imports. A module and its child may import each
//!   other; they belong to a circle only if other files close it.
//! - A folder is a module with children. See `imports.rs` for what counts as an import.

use super::imports::{CrateImports, Edges, ModulePath};
use super::measure::{Goal, Measure};
use super::source::Source;
use std::collections::{BTreeMap, BTreeSet};

/// The number of circles, the number of files in the largest, and the number of circles in more than one folder.
pub(crate) fn measures(sources: &[Source]) -> [Measure; 3] {
    let mut crates: BTreeMap<&str, Vec<&Source>> = BTreeMap::new();
    for source in sources {
        crates.entry(source.package()).or_default().push(source);
    }
    let mut circles = Vec::new();
    for (package, sources) in crates {
        let edges = CrateImports::read(&sources).edges();
        circles.extend(circles_of(&edges).iter().map(|files| Circle::new(package, files, &edges)));
    }
    circles.sort_by_key(|circle| std::cmp::Reverse(circle.files));
    let largest = circles.first().map_or(0, |circle| circle.files);
    let described = |circles: &[&Circle]| circles.iter().map(|circle| circle.description.clone()).collect();
    let across: Vec<&Circle> = circles.iter().filter(|circle| circle.crosses_folders).collect();
    [
        Measure::count("import circles", Goal::AtMost(5.0), described(&circles.iter().collect::<Vec<_>>())),
        Measure::new("files in the largest import circle", largest, Goal::AtMost(5.0), Vec::new()),
        Measure::count("import circles between folders", Goal::AtMost(0.0), described(&across)),
    ]
}

struct Circle {
    files: u32,
    crosses_folders: bool,
    description: String,
}

impl Circle {
    fn new(package: &str, modules: &BTreeSet<&ModulePath>, edges: &Edges) -> Self {
        let is_folder = |module: &ModulePath| edges.keys().any(|other| is_child(other, module));
        let folder = |module: &&ModulePath| match module.split_last() {
            Some((_, parent)) if !is_folder(module) => parent.to_vec(),
            _ => module.to_vec(),
        };
        let names = modules.iter().map(|module| module.join("::")).collect::<Vec<_>>().join(", ");
        Self {
            files: u32::try_from(modules.len()).unwrap_or(u32::MAX),
            crosses_folders: modules.iter().map(folder).collect::<BTreeSet<_>>().len() > 1,
            description: format!("{package}, {} files: {names}", modules.len()),
        }
    }
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
fn components<'s>(edges: &Edges<'s>) -> Vec<BTreeSet<&'s ModulePath>> {
    let reached: BTreeMap<_, _> = edges.keys().map(|module| (*module, reached_from(module, edges))).collect();
    let mut placed = BTreeSet::new();
    let mut components = Vec::new();
    for (module, from_here) in &reached {
        let back = from_here.iter().filter(|other| reached[*other].contains(module));
        let component: BTreeSet<&ModulePath> = back.copied().chain([*module]).collect();
        if component.len() > 1 && placed.insert(component.first().copied()) {
            components.push(component);
        }
    }
    components
}

fn reached_from<'s>(module: &'s ModulePath, edges: &Edges<'s>) -> BTreeSet<&'s ModulePath> {
    let mut reached = BTreeSet::new();
    let mut next = vec![module];
    while let Some(module) = next.pop() {
        next.extend(edges[module].iter().filter(|to| reached.insert(**to)));
    }
    reached
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "made-up sources parse")]
mod tests {
    use super::super::source::Source;
    use super::measures;

    /// Circles, files in the largest, circles between folders; and the descriptions of the circles.
    fn circles(files: &[(&str, &str)]) -> ([f64; 3], Vec<String>) {
        let parse = |(path, text): &(&str, &str)| Source::parse(&format!("crates/core/src/{path}"), text);
        let sources: Vec<Source> = files.iter().map(|file| parse(file).unwrap()).collect();
        let measures = measures(&sources);
        (measures.each_ref().map(super::Measure::value), measures[0].findings().to_vec())
    }

    #[test]
    fn a_circle_is_found() {
        let files = [("a.rs", "use crate::b;"), ("b.rs", "use crate::c;"), ("c.rs", "use crate::a;")];
        assert_eq!(circles(&files), ([1.0, 3.0, 0.0], vec!["core, 3 files: a, b, c".to_owned()]));
    }

    #[test]
    fn a_chain_is_not_a_circle() {
        let files = [("a.rs", "use crate::{b, c};"), ("b.rs", "use crate::c;"), ("c.rs", "")];
        assert_eq!(circles(&files), ([0.0; 3], Vec::new()));
    }

    #[test]
    fn a_parent_and_its_child_may_import_each_other() {
        let parent = ("a.rs", "use self::b::B; struct A;");
        assert_eq!(circles(&[parent, ("a/b.rs", "use super::A;")]).0, [0.0; 3]);
        let closed = [parent, ("a/b.rs", "use super::A; use super::c;"), ("a/c.rs", "use super::b;")];
        assert_eq!(circles(&closed), ([1.0, 3.0, 0.0], vec!["core, 3 files: a, a::b, a::c".to_owned()]));
    }

    #[test]
    fn a_circle_between_folders_is_distinguished_from_one_inside() {
        let across =
            [("a/b.rs", "use crate::c::d;"), ("c/d.rs", "use crate::a::b;"), ("a.rs", ""), ("c.rs", "")];
        assert_eq!(circles(&across).0, [1.0, 2.0, 1.0]);
        let faces = [("a.rs", "use crate::b;"), ("b.rs", "use crate::a;"), ("b/c.rs", "")];
        assert_eq!(circles(&faces).0, [1.0, 2.0, 1.0]);
        let inside = [("a/b.rs", "use super::c;"), ("a/c.rs", "use super::b;"), ("a.rs", "")];
        assert_eq!(circles(&inside).0, [1.0, 2.0, 0.0]);
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
