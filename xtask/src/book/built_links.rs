//! Finds links of built HTML pages whose file or heading does not exist.

use crate::files::files_below;
use anyhow::{Context as _, Result};
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The pages that mdBook adds to those of the book: `404.html` has addresses from the root of a site.
const OTHERS: [&str; 1] = ["404.html"];

/// The broken links of the pages below `book`, a line for each.
pub(crate) fn wrong(book: &Path) -> Result<Vec<String>> {
    let mut pages = BTreeMap::new();
    for page in files_below(&book.canonicalize()?, &["html"])? {
        let html = fs::read_to_string(&page)?;
        pages.insert(page, html);
    }
    let link = Regex::new(r#"(?:href|src)="([^"]*)""#).context("a valid expression")?;
    let name = Regex::new(r#"(?:id|name)="([^"]*)""#).context("a valid expression")?;
    let names: BTreeMap<&PathBuf, BTreeSet<String>> = pages
        .iter()
        .map(|(file, html)| (file, name.captures_iter(html).map(|found| found[1].to_owned()).collect()))
        .collect();
    let mut wrong = Vec::new();
    for (page, html) in pages.iter().filter(|(page, _)| !OTHERS.iter().any(|other| page.ends_with(other))) {
        for target in link.captures_iter(html).map(|found| found[1].to_owned()) {
            if target.contains(':') || target.is_empty() || target == "#" {
                continue;
            }
            let (path, heading) = target.split_once('#').unwrap_or((&target, ""));
            let folder = page.parent().context("a page is in a folder")?;
            let file = if path.is_empty() { page.clone() } else { folder.join(path) };
            let Ok(file) = file.canonicalize() else {
                wrong.push(format!("{}: {target}: there is no such file", page.display()));
                continue;
            };
            let has = |names: &BTreeSet<String>| names.contains(heading);
            if !heading.is_empty() && !names.get(&file).is_some_and(has) {
                wrong.push(format!("{}: {target}: there is no such heading", page.display()));
            }
        }
    }
    Ok(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_links_that_lead_nowhere_are_named() {
        let book = std::env::temp_dir().join(format!("taintward-book-{}", std::process::id()));
        fs::create_dir_all(book.join("a")).unwrap();
        fs::write(
            book.join("index.html"),
            "<h1 id=\"top\"><a href=\"a/b.html#x\"><a href=\"https://e.org/n\">",
        )
        .unwrap();
        fs::write(book.join("a/b.html"), "<h2 id=\"x\"><a href=\"#x\"><img src=\"../index.html#top\">")
            .unwrap();
        assert_eq!(wrong(&book).unwrap(), [""; 0]);
        fs::write(book.join("a/b.html"), "<h2 id=\"y\"><a href=\"c.html\">").unwrap();
        let named = wrong(&book).unwrap().join("\n");
        assert!(named.contains("a/b.html#x: there is no such heading"), "{named}");
        assert!(named.contains("c.html: there is no such file"), "{named}");
        fs::remove_dir_all(book).unwrap();
    }
}
