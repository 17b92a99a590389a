//! Tests that each source file belongs to a program or library: cargo ignores a file that no other file names.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};
use syn::{Expr, ExprLit, ItemMod, Lit, Meta};
use xtask::files::files_below;

/// The files that the modules of one file name.
struct NamedFiles {
    /// The folder of the file.
    folder: PathBuf,
    /// The folder of the modules that the item at hand declares.
    modules: PathBuf,
    named: Vec<PathBuf>,
}

impl NamedFiles {
    fn of(file: &Path, is_root: bool) -> Vec<PathBuf> {
        let folder = file.parent().unwrap().to_owned();
        let is_folder = is_root || file.ends_with("mod.rs");
        let modules = if is_folder { folder.clone() } else { file.with_extension("") };
        let mut files = Self { folder, modules, named: Vec::new() };
        files.visit_file(&syn::parse_file(&fs::read_to_string(file).unwrap()).unwrap());
        files.named
    }
}

impl Visit<'_> for NamedFiles {
    fn visit_item_mod(&mut self, module: &ItemMod) {
        let name = module.ident.to_string();
        let path = module.attrs.iter().find_map(|attribute| match &attribute.meta {
            Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
                Expr::Lit(ExprLit { lit: Lit::Str(path), .. }) => Some(path.value()),
                _ => None,
            },
            _ => None,
        });
        if module.content.is_some() {
            let outer = self.modules.join(path.unwrap_or(name));
            let outer = std::mem::replace(&mut self.modules, outer);
            visit::visit_item_mod(self, module);
            self.modules = outer;
            return;
        }
        match path {
            Some(path) => self.named.push(self.folder.join(path)),
            None => {
                let module = self.modules.join(name);
                self.named.extend([module.with_extension("rs"), module.join("mod.rs")]);
            }
        }
    }
}

/// Whether cargo finds the file by itself, or another file includes its text.
fn is_root(file: &Path) -> bool {
    let parent = file.parent().and_then(Path::file_name).unwrap_or_default();
    file.ends_with("lib.rs")
        || file.ends_with("main.rs")
        || ["tests", "examples"].iter().any(|folder| parent == *folder)
            && !file.components().any(|part| part.as_os_str() == "src")
}

/// The files of `folder` that no other file names.
fn orphans(folder: &Path) -> BTreeSet<PathBuf> {
    let files = files_below(folder, &["rs"]).unwrap();
    let named: BTreeSet<PathBuf> = files
        .iter()
        .flat_map(|file| NamedFiles::of(file, is_root(file)))
        .filter_map(|file| fs::canonicalize(file).ok())
        .collect();
    files
        .into_iter()
        .filter(|file| !is_root(file) && !named.contains(&fs::canonicalize(file).unwrap()))
        .collect()
}

#[test]
fn each_source_file_belongs_to_a_program() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found: BTreeSet<PathBuf> =
        ["crates", "xtask"].iter().flat_map(|folder| orphans(&root.join(folder))).collect();
    // The manifests of these packages name their files.
    found.retain(|file| !file.ends_with("nostd-proof/src/main.rs"));
    assert_eq!(found, BTreeSet::new(), "delete these files, or name them in a module");
}

#[test]
fn a_file_that_no_module_names_is_found() {
    let folder = std::env::temp_dir().join(format!("taintward-orphans-{}", std::process::id()));
    let write = |path: &str, text: &str| {
        let file = folder.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    };
    write(
        "tests/cluster/main.rs",
        "mod named; mod inner { mod deep; } #[path = \"../shared.rs\"] mod shared; \
         #[path = \"../parts\"] mod parts { mod part; }",
    );
    write("tests/cluster/named.rs", "mod child;");
    write("tests/cluster/named/child.rs", "");
    write("tests/cluster/inner/deep.rs", "");
    write("tests/parts/part.rs", "");
    write("tests/shared.rs", "");
    write("tests/cluster/forgotten.rs", "mod child;");
    write("tests/cluster/child.rs", "");
    let found = orphans(&folder);
    let canonical = fs::canonicalize(&folder).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    let found: Vec<_> = found.iter().map(|file| file.strip_prefix(&folder).unwrap().to_owned()).collect();
    assert_eq!(
        found,
        ["tests/cluster/child.rs", "tests/cluster/forgotten.rs"].map(PathBuf::from),
        "{canonical:?}"
    );
}
