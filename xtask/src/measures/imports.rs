//! Reads which modules of a crate import which.
//!
//! - Counts private `use` items that begin with `crate`, `self`, `super` or a child module.
//! - A name is followed through `pub use` to the module that declares it; a `pub use` itself is not an import.

use super::source::Source;
use std::collections::{BTreeMap, BTreeSet};
use syn::visit::{self, Visit};
use syn::{ItemMod, ItemUse, UseTree, Visibility};

/// A module's path in its crate.
pub(crate) type ModulePath = [String];

/// For each module, the modules it imports from.
pub(crate) type Edges<'s> = BTreeMap<&'s ModulePath, BTreeSet<&'s ModulePath>>;

/// The maximum number of `pub use` items that a name is followed through.
const REEXPORTS_MAX: usize = 8;

/// The imports of a crate.
pub(crate) struct CrateImports<'s> {
    modules: BTreeMap<&'s ModulePath, Vec<Import>>,
}

/// One name that a `use` item brings in.
struct Import {
    path: Vec<String>,
    /// The name in the importing module; `None` for `*`.
    name: Option<String>,
    passes_on: bool,
}

impl<'s> CrateImports<'s> {
    /// Reads the imports of the sources of one crate.
    pub(crate) fn read(sources: &[&'s Source]) -> Self {
        let mut modules: BTreeMap<&'s ModulePath, Vec<Import>> = BTreeMap::new();
        let paths: BTreeSet<&ModulePath> = sources.iter().map(|source| source.module()).collect();
        for source in sources {
            let mut reader =
                ImportReader { modules: &paths, module: source.module().to_vec(), imports: Vec::new() };
            reader.visit_file(source.syntax());
            modules.entry(source.module()).or_default().append(&mut reader.imports);
        }
        Self { modules }
    }

    /// Which modules import from which others.
    pub(crate) fn edges(&self) -> Edges<'s> {
        let of_module = |(module, imports): (&&'s ModulePath, &Vec<Import>)| {
            let imports = imports.iter().filter(|import| !import.passes_on);
            let declaring = imports.map(|import| self.declaring_module(&import.path, REEXPORTS_MAX));
            (*module, declaring.filter(|declaring| declaring != module).collect())
        };
        self.modules.iter().map(of_module).collect()
    }

    /// The module that declares what `path` names.
    fn declaring_module(&self, path: &[String], reexports_left: usize) -> &'s ModulePath {
        let known = (0..=path.len()).rev().find_map(|length| self.modules.get_key_value(&path[..length]));
        let Some((module, imports)) = known else { return &[] };
        let Some((name, rest)) = path[module.len()..].split_first() else { return module };
        let passed_on = imports.iter().find(|import| import.name.as_ref() == Some(name));
        match passed_on {
            Some(import) if reexports_left > 0 => {
                self.declaring_module(&[&import.path, rest].concat(), reexports_left - 1)
            }
            _ => module,
        }
    }
}

/// Collects the imports of a file, with paths from the crate's root.
struct ImportReader<'r, 's> {
    modules: &'r BTreeSet<&'s ModulePath>,
    /// The module of the `use` item: the file's module, or one inside the file.
    module: Vec<String>,
    imports: Vec<Import>,
}

impl ImportReader<'_, '_> {
    fn read_tree(&mut self, tree: &UseTree, before: &[String], passes_on: bool) {
        let with = |ident: &syn::Ident| [before, &[ident.to_string()]].concat();
        let (path, name) = match tree {
            UseTree::Path(path) => return self.read_tree(&path.tree, &with(&path.ident), passes_on),
            UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.read_tree(tree, before, passes_on));
            }
            UseTree::Glob(_) => (before.to_vec(), None),
            UseTree::Name(name) if name.ident == "self" => (before.to_vec(), before.last().cloned()),
            UseTree::Name(name) => (with(&name.ident), Some(name.ident.to_string())),
            UseTree::Rename(renamed) if renamed.ident == "self" => {
                (before.to_vec(), Some(renamed.rename.to_string()))
            }
            UseTree::Rename(renamed) => (with(&renamed.ident), Some(renamed.rename.to_string())),
        };
        self.imports.extend(self.path_in_crate(&path).map(|path| Import { path, name, passes_on }));
    }

    /// The path from the crate's root; `None` for what other crates declare.
    fn path_in_crate(&self, path: &[String]) -> Option<Vec<String>> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" => Some([&self.module, rest].concat()),
            "super" => {
                let ups = path.iter().take_while(|part| *part == "super").count();
                let above = self.module.len().checked_sub(ups)?;
                Some([&self.module[..above], &path[ups..]].concat())
            }
            _ => {
                let below = [&self.module, path].concat();
                self.modules.contains(&below[..=self.module.len()]).then_some(below)
            }
        }
    }
}

impl<'ast> Visit<'ast> for ImportReader<'_, '_> {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.read_tree(&item.tree, &[], !matches!(item.vis, Visibility::Inherited));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "made-up sources parse")]
mod tests {
    use super::super::source::Source;
    use super::CrateImports;

    /// The modules that `a` imports from.
    fn imports_of_a(files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<Source> =
            files.iter().map(|(path, text)| Source::parse(path, text).unwrap()).collect();
        let edges = CrateImports::read(&sources.iter().collect::<Vec<_>>()).edges();
        let a = &["a".to_owned()][..];
        edges[a].iter().map(|module| module.join("::")).collect()
    }

    fn from_a(text: &str) -> Vec<String> {
        imports_of_a(&[
            ("crates/core/src/a.rs", text),
            ("crates/core/src/b.rs", "pub struct B;"),
            ("crates/core/src/a/c.rs", "pub struct C;"),
            ("crates/core/src/a/c/d.rs", "pub fn d() {}"),
        ])
    }

    #[test]
    fn paths_lead_to_modules() {
        assert_eq!(from_a("use crate::b::B;"), ["b"]);
        assert_eq!(from_a("use super::b::{self, B as C};"), ["b"]);
        assert_eq!(from_a("use self::c::{C, d};"), ["a::c", "a::c::d"]);
        assert_eq!(from_a("use c::d::*;"), ["a::c::d"]);
        assert_eq!(from_a("fn f() { use crate::b; }"), ["b"]);
        assert_eq!(from_a("mod inner { use super::super::b; }"), ["b"]);
    }

    #[test]
    fn other_imports_lead_nowhere() {
        assert_eq!(from_a("use std::fmt; use b::B;"), [""; 0]);
        assert_eq!(from_a("pub use self::c::C;"), [""; 0]);
        assert_eq!(from_a("mod inner { use super::A; } struct A;"), [""; 0]);
        assert_eq!(from_a("#[cfg(test)] mod tests { use crate::b; }"), [""; 0]);
    }

    #[test]
    fn a_name_is_followed_to_the_module_that_declares_it() {
        let imports = imports_of_a(&[
            ("crates/core/src/a.rs", "use crate::b::{C, Other};"),
            ("crates/core/src/b.rs", "pub use self::c::C; pub struct Other;"),
            ("crates/core/src/b/c.rs", "pub use self::d::D as C;"),
            ("crates/core/src/b/c/d.rs", "pub struct D;"),
        ]);
        assert_eq!(imports, ["b", "b::c::d"]);
    }

    #[test]
    fn names_that_are_passed_on_in_a_circle_end() {
        let imports = imports_of_a(&[
            ("crates/core/src/a.rs", "use crate::b::X;"),
            ("crates/core/src/b.rs", "pub use crate::c::X;"),
            ("crates/core/src/c.rs", "pub use crate::b::X;"),
        ]);
        assert_eq!(imports, ["b"]);
    }
}
