//! Parses one production file without its `#[cfg(test)]` items.

use anyhow::{Context as _, Result};
use proc_macro2::Span;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, ImplItem, Item, Meta, Token};

/// A production file without its tests.
pub(crate) struct Source {
    path: String,
    module: Vec<String>,
    lines: usize,
    syntax: syn::File,
    test_modules: Vec<Vec<String>>,
}

impl Source {
    /// Parses the file at `path`, such as `crates/core/src/eviction/work_queue.rs`.
    pub(crate) fn parse(path: &str, text: &str) -> Result<Self> {
        let mut syntax = syn::parse_file(text).with_context(|| format!("parsing {path}"))?;
        let mut tests = Tests { lines: 0, modules: Vec::new() };
        let module = module_of(path);
        tests.take_from(&mut syntax.items, &module);
        let lines = text.lines().count() - tests.lines;
        Ok(Self { path: path.to_owned(), module, lines, syntax, test_modules: tests.modules })
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The folder of the crate: `core` of `crates/core/src/eviction/work_queue.rs`, `xtask` of `xtask/src/test.rs`.
    pub(crate) fn package(&self) -> &str {
        self.path.split("/src/").next().and_then(|folder| folder.rsplit('/').next()).unwrap_or_default()
    }

    /// The module's path in its crate; empty for `lib.rs` and `main.rs`.
    pub(crate) fn module(&self) -> &[String] {
        &self.module
    }

    /// The number of lines outside of tests.
    pub(crate) fn lines(&self) -> usize {
        self.lines
    }

    pub(crate) fn syntax(&self) -> &syn::File {
        &self.syntax
    }

    /// The modules that `#[cfg(test)] mod name;` declares here: their files are tests.
    pub(crate) fn test_modules(&self) -> &[Vec<String>] {
        &self.test_modules
    }
}

fn module_of(path: &str) -> Vec<String> {
    let file = path.split("/src/").nth(1).unwrap_or(path);
    let mut module: Vec<String> = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    module.pop_if(|last| matches!(last.as_str(), "mod" | "lib" | "main"));
    module
}

/// The tests that are removed from a file.
struct Tests {
    lines: usize,
    modules: Vec<Vec<String>>,
}

impl Tests {
    fn take_from(&mut self, items: &mut Vec<Item>, module: &[String]) {
        items.retain(|item| {
            let is_test = needs_test(attributes(item));
            if is_test {
                self.lines += lines_of(item);
                if let Item::Mod(declared) = item {
                    self.modules.push(child(module, declared));
                }
            }
            !is_test
        });
        for item in items {
            match item {
                Item::Mod(inner) => {
                    let module = child(module, inner);
                    if let Some((_, items)) = &mut inner.content {
                        self.take_from(items, &module);
                    }
                }
                Item::Impl(inner) => inner.items.retain(|item| {
                    let is_test = matches!(item, ImplItem::Fn(method) if needs_test(&method.attrs));
                    self.lines += if is_test { lines_of(item) } else { 0 };
                    !is_test
                }),
                _ => {}
            }
        }
    }
}

fn child(module: &[String], declared: &syn::ItemMod) -> Vec<String> {
    module.iter().cloned().chain([declared.ident.to_string()]).collect()
}

fn lines_of(item: &impl Spanned) -> usize {
    let span: Span = item.span();
    span.end().line - span.start().line + 1
}

/// Whether `#[cfg(test)]`, or `#[cfg(all(test, ...))]`, stands on an item.
fn needs_test(attributes: &[Attribute]) -> bool {
    fn is_test(meta: &Meta) -> bool {
        let all =
            |list: &syn::MetaList| list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
        match meta {
            Meta::Path(path) => path.is_ident("test"),
            Meta::List(list) if list.path.is_ident("all") => {
                all(list).is_ok_and(|all| all.iter().any(is_test))
            }
            _ => false,
        }
    }
    let cfg = attributes.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    cfg.filter_map(|attribute| attribute.parse_args::<Meta>().ok()).any(|meta| is_test(&meta))
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "made-up sources parse")]
mod tests {
    use super::Source;

    fn lines(text: &str) -> usize {
        Source::parse("crates/core/src/a.rs", text).unwrap().lines()
    }

    #[test]
    fn tests_are_not_counted() {
        assert_eq!(lines("struct A;\n\nfn a() {}\n"), 3);
        assert_eq!(lines("struct A;\n#[cfg(test)]\nmod tests {\n    fn a() {}\n}\n"), 1);
        assert_eq!(lines("struct A;\n/// For tests.\n#[cfg(test)]\nfn a() {\n}\n"), 1);
        assert_eq!(lines("impl A {\n    #[cfg(test)]\n    fn a() {\n    }\n    fn b() {}\n}\n"), 3);
        assert_eq!(lines("mod b {\n    #[cfg(all(test, unix))]\n    fn a() {}\n}\n"), 2);
    }

    #[test]
    fn what_ships_as_well_is_counted() {
        assert_eq!(lines("#[cfg(unix)]\nfn a() {}\n#[cfg(not(test))]\nfn a() {}\n"), 4);
        assert_eq!(lines("#[cfg(any(test, unix))]\nfn a() {}\n"), 2);
    }

    #[test]
    fn a_path_tells_crate_and_module() {
        let place = |path| {
            let source = Source::parse(path, "").unwrap();
            (source.package().to_owned(), source.module().join("::"))
        };
        assert_eq!(
            place("crates/core/src/eviction/work_queue.rs"),
            ("core".into(), "eviction::work_queue".into())
        );
        assert_eq!(place("crates/core/src/lib.rs"), ("core".into(), String::new()));
        assert_eq!(place("xtask/src/main.rs"), ("xtask".into(), String::new()));
    }

    #[test]
    fn the_files_of_test_modules_are_named() {
        let text = "#[cfg(test)]\nmod harness;\nmod b;\n";
        let source = Source::parse("crates/core/src/a.rs", text).unwrap();
        assert_eq!(source.test_modules(), [["a".to_owned(), "harness".into()]]);
    }
}
