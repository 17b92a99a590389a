//! Tests that the names in the glossary of ARCHITECTURE.md are those of the code.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use syn::Item;
use xtask::files::files_below;

/// The path of the folder that the names begin in.
const CRATES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates");

/// The second column of the glossary, in each row.
fn places(text: &str) -> Vec<&str> {
    let glossary = text.split("## Glossary").nth(1).unwrap();
    let rows = glossary.lines().filter(|line| line.starts_with("| ") && line.contains('`'));
    rows.map(|row| row.split('|').nth(2).unwrap()).collect()
}

/// The names in code quotes that have a crate: `core::verdict::judge`.
fn paths(place: &str) -> impl Iterator<Item = &str> {
    place.split('`').skip(1).step_by(2).filter(|name| name.contains("::"))
}

/// The names of the items of a file, outside of functions.
fn items(file: &Path) -> BTreeSet<String> {
    let parsed = syn::parse_file(&fs::read_to_string(file).unwrap()).unwrap();
    let mut names = BTreeSet::new();
    for item in &parsed.items {
        let name = match item {
            Item::Const(item) => &item.ident,
            Item::Enum(item) => &item.ident,
            Item::Fn(item) => &item.sig.ident,
            Item::Struct(item) => &item.ident,
            Item::Trait(item) => &item.ident,
            Item::Type(item) => &item.ident,
            _ => continue,
        };
        names.insert(name.to_string());
    }
    names
}

/// Whether a module, or an item of that module or of its children, has this name.
fn exists(path: &str) -> bool {
    let (krate, rest) = path.split_once("::").unwrap();
    let folder = Path::new(CRATES).join(krate).join("src");
    let module = |rest: &str| folder.join(rest.replace("::", "/"));
    let is_module = |path: PathBuf| path.with_extension("rs").is_file();
    if is_module(module(rest)) {
        return true;
    }
    let (module, item) = match rest.rsplit_once("::") {
        Some((parent, item)) => (module(parent), item),
        None => (folder.join("lib"), rest),
    };
    let children = if module.is_dir() { files_below(&module, &["rs"]).unwrap() } else { Vec::new() };
    let files = children.into_iter().chain([module.with_extension("rs")]);
    files.filter(|file| file.is_file()).any(|file| items(&file).contains(item))
}

#[test]
fn every_path_in_the_glossary_exists() {
    let text = fs::read_to_string(Path::new(CRATES).join("../ARCHITECTURE.md")).unwrap();
    let all: Vec<&str> = places(&text).into_iter().flat_map(paths).collect();
    assert!(all.len() > 30, "{all:?}");
    let missing: Vec<&&str> = all.iter().filter(|path| !exists(path)).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md names {missing:?}, which the code does not have");
}

#[test]
fn a_path_that_does_not_exist_is_found() {
    assert!(exists("core::verdict::judge") && exists("core::taint_start"));
    assert!(!exists("core::verdict::judges") && !exists("core::taint_started"));
}
