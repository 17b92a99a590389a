//! Tests that the files that contributors expect exist, say what they are for, and are linked from CONTRIBUTING.md and the pages
//! about development.
//!
//! - See `workflows.rs` for what is in `.github`, `links.rs` for the links of the pages.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use xtask::markdown::links;

const PAGES: [&str; 4] = [
    "CONTRIBUTING.md",
    "docs/development/tools.md",
    "docs/development/tests.md",
    "docs/development/documents.md",
];

/// What a newcomer reads first has no more lines.
const FIRST_PAGE_MAX: usize = 60;

/// The files that these pages link, and what each must contain.
const FILES: [(&str, &[&str]); 22] = [
    (".devcontainer/devcontainer.json", &["rust", "features/go", "chromium"]),
    (".editorconfig", &["root = true"]),
    (".github/CODEOWNERS", &["MAINTAINERS.md"]),
    (".github/ISSUE_TEMPLATE/bug.yml", &["taintward version", "id: config", "id: log"]),
    (".github/ISSUE_TEMPLATE/feature.yml", &["labels:"]),
    (".github/ISSUE_TEMPLATE/question.yml", &["labels:"]),
    (".github/PULL_REQUEST_TEMPLATE.md", &["CHANGELOG.md", ".ci/run"]),
    (".github/dependabot.yml", &["cargo", "gomod", "github-actions"]),
    (".github/labels.json", &["bug", "feature", "question"]),
    (".github/workflows/ci.yml", &["run: .ci/run"]),
    (".github/workflows/labels.yml", &["labels.json"]),
    (".github/workflows/nightly.yml", &["cargo xtask nightly", "cargo xtask matrix"]),
    (".github/workflows/release.yml", &["cargo xtask release"]),
    ("CODE_OF_CONDUCT.md", &["MAINTAINERS.md"]),
    ("GOVERNANCE.md", &["maintainers"]),
    ("LICENSE", &["Apache License"]),
    ("MAINTAINERS.md", &["maintainers"]),
    ("RELEASING.md", &["## Versions", "**Deprecation.**", "**Kubernetes.**", "**Rust.**", "## A release"]),
    ("ROADMAP.md", &["# Roadmap"]),
    ("SECURITY.md", &["vulnerability"]),
    ("SUPPORT.md", &["**A bug**", "**A question or an idea**", "**Supported versions.**"]),
    ("docs/adr/README.md", &["| decision |"]),
];

/// What they name without a link: folders and commands.
const NAMED: [&str; 5] =
    ["`fuzz/corpus`", "`fuzz/dictionaries`", "cargo xtask setup", "cargo xtask fuzz", "cargo xtask book"];

/// The headings of a decision.
const DECISION: [&str; 4] = ["## Context", "## Decision", "## Consequences", "## What was tried"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_else(|why| panic!("{file}: {why}"))
}

fn linked(page: &str) -> BTreeSet<PathBuf> {
    links(Path::new(page), &read(page)).into_iter().map(|link| link.file).collect()
}

/// The names in a folder, sorted.
fn names(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(root().join(folder)).unwrap_or_else(|why| panic!("{folder}: {why}"));
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn files_for_contributors_exist_and_are_linked() {
    let linked: BTreeSet<PathBuf> = PAGES.into_iter().flat_map(linked).collect();
    let page = PAGES.map(read).concat();
    assert!(read(PAGES[0]).lines().count() <= FIRST_PAGE_MAX, "move a part to docs/development");
    let mut wrong = String::new();
    for (file, texts) in FILES {
        let text = read(file);
        for missing in texts.iter().filter(|wanted| !text.contains(**wanted)) {
            wrong += &format!("{file} does not contain {missing:?}\n");
        }
        if !linked.contains(Path::new(file)) {
            wrong += &format!("no page of {PAGES:?} links {file}\n");
        }
    }
    for name in NAMED.iter().filter(|name| !page.contains(**name)) {
        wrong += &format!("no page of {PAGES:?} names {name}\n");
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn each_crate_has_a_page_that_is_linked() {
    let linked: BTreeSet<PathBuf> = PAGES.into_iter().flat_map(linked).collect();
    let pages: Vec<String> = names("crates").iter().map(|name| format!("crates/{name}/README.md")).collect();
    assert!(pages.len() > 5, "{pages:?}");
    for page in pages.iter().map(String::as_str).chain(["examples/README.md"]) {
        assert!(read(page).lines().count() > 3, "{page} says nothing");
        assert!(linked.contains(Path::new(page)), "no page of {PAGES:?} links {page}");
    }
}

#[test]
fn each_decision_has_its_headings_and_is_in_the_index() {
    let index = linked("docs/adr/README.md");
    let decisions: Vec<String> = names("docs/adr").into_iter().filter(|name| name != "README.md").collect();
    assert!(decisions.len() >= 8, "{decisions:?}");
    for page in decisions.iter().map(|name| format!("docs/adr/{name}")) {
        let text = read(&page);
        let headings: Vec<&str> = text.lines().filter(|line| line.starts_with("## ")).collect();
        assert_eq!(headings, DECISION, "{page}");
        assert!(index.contains(Path::new(&page)), "docs/adr/README.md does not link {page}");
    }
}

#[test]
fn each_example_is_in_the_index_and_each_fuzz_target_has_seeds_and_words() {
    let index = linked("examples/README.md");
    let examples: Vec<String> = names("examples").into_iter().filter(|name| name.ends_with(".rs")).collect();
    assert!(examples.len() >= 4, "{examples:?}");
    for example in examples {
        let file = format!("examples/{example}");
        assert!(index.contains(Path::new(&file)), "examples/README.md does not link {file}");
    }
    let targets = names("fuzz/corpus");
    let dictionaries: Vec<String> = targets.iter().map(|target| format!("{target}.dict")).collect();
    assert_eq!(names("fuzz/dictionaries"), dictionaries);
    for target in targets {
        assert!(!names(&format!("fuzz/corpus/{target}")).is_empty(), "{target} has no seeds");
    }
}
