//! Tests that pages in Simplified Chinese have what their English pages have, and names those that have fallen behind.

#![allow(clippy::unwrap_used, reason = "a file that cannot be read fails the test")]

use std::path::Path;
use xtask::translations::Translation;

/// The pages that readers of Chinese can count on.
const PAGES: [&str; 9] = [
    "README.zh-CN.md",
    "docs/zh-CN/why.md",
    "docs/zh-CN/start/quick-start.md",
    "docs/zh-CN/start/distributions.md",
    "docs/zh-CN/start/replace.md",
    "docs/zh-CN/concepts/eviction.md",
    "docs/zh-CN/concepts/countdowns.md",
    "docs/zh-CN/node-lifecycle.md",
    "docs/zh-CN/admission.md",
];

fn all() -> Vec<Translation> {
    Translation::all(Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()).unwrap()
}

#[test]
fn the_pages_are_there() {
    let all = all();
    let is_missing = |page: &&str| !all.iter().any(|translation| translation.page() == Path::new(page));
    let missing: Vec<&str> = PAGES.into_iter().filter(is_missing).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn commands_tables_links_and_pictures_are_those_of_the_english_pages() {
    let all = all();
    let faults: String = all.iter().map(|translation| translation.faults(&all)).collect();
    assert!(faults.is_empty(), "\n{faults}");
}

#[test]
fn no_translation_has_fallen_behind() {
    let all = all();
    let behind = all.iter().filter(|translation| !translation.is_up_to_date());
    let advice: String = behind.map(Translation::advice).collect();
    assert!(advice.is_empty(), "\n{advice}");
}
