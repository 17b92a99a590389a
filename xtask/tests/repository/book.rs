//! Tests that the book has every page once, that readers find common topics quickly, and that numbers are right.
//!
//! - `cargo xtask book` builds it and checks the links of the built pages.

use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use xtask::book::{SUMMARY, chapters, pages_of_docs};
use xtask::files::files_below;
use xtask::markdown::{Link, links};

const START: &str = "README.md";
const DISTRIBUTIONS: &str = "docs/start/distributions.md";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn text(page: &Path) -> String {
    fs::read_to_string(root().join(page)).unwrap()
}

#[test]
fn every_page_is_in_the_summary_once() {
    let chapters = chapters(root()).unwrap();
    assert!(chapters.len() > 50, "the summary was not read");
    let mut seen = BTreeSet::new();
    let twice: Vec<&PathBuf> = chapters.iter().filter(|page| !seen.insert(*page)).collect();
    assert!(twice.is_empty(), "{SUMMARY} has these twice: {twice:?}");
    let pages = pages_of_docs(root()).unwrap();
    let missing: Vec<&PathBuf> = pages.iter().filter(|page| !seen.contains(page)).collect();
    assert!(missing.is_empty(), "{SUMMARY} lacks {missing:?}: add each where a reader would look for it");
}

/// A link to a page outside of the book would be broken in the built book.
#[test]
fn pages_of_the_book_link_pages_of_the_book() {
    let chapters: BTreeSet<PathBuf> = chapters(root()).unwrap().into_iter().collect();
    let mut strangers = String::new();
    for page in &chapters {
        for link in links(page, &text(page)) {
            let is_page = link.file.extension().is_some_and(|end| end == "md");
            if is_page && link.file != Path::new(SUMMARY) && !chapters.contains(&link.file) {
                strangers += &format!("{}: {} is not in {SUMMARY}\n", page.display(), link.file.display());
            }
        }
    }
    assert_eq!(strangers, "");
}

/// Only files that a page of the book links to are in the book.
#[test]
fn every_picture_is_on_a_page_of_the_book() {
    let pages = chapters(root()).unwrap();
    let shown: BTreeSet<PathBuf> =
        pages.iter().flat_map(|page| links(page, &text(page))).map(|link| link.file).collect();
    let pictures = files_below(&root().join("docs"), &["png", "svg"]).unwrap();
    assert!(pictures.len() > 5, "the pictures were not found");
    let missing: Vec<&Path> = pictures
        .iter()
        .map(|picture| picture.strip_prefix(root()).unwrap())
        .filter(|picture| !shown.contains(*picture))
        .collect();
    assert!(missing.is_empty(), "no page of the book shows {missing:?}");
}

/// How many clicks lead from the first page to each page and heading, by links in the text alone.
fn clicks() -> BTreeMap<(PathBuf, String), usize> {
    let mut reached = BTreeMap::from([((PathBuf::from(START), String::new()), 0)]);
    let mut next = vec![PathBuf::from(START)];
    for click in 1..=2 {
        let read = std::mem::take(&mut next);
        for Link { file, heading } in read.iter().flat_map(|page| links(page, &text(page))) {
            // The contents link every page; new readers do not read all of them.
            if file.extension().is_some_and(|end| end == "md") && file != Path::new(SUMMARY) {
                next.push(file.clone());
            }
            reached.entry((file, heading)).or_insert(click);
        }
    }
    reached
}

#[test]
fn common_topics_are_within_two_clicks() {
    let reached = clicks();
    let wanted = [
        (DISTRIBUTIONS, "k3s"),
        (DISTRIBUTIONS, "eks-gke-aks-openshift-gardener"),
        ("docs/tasks/why-evicted.md", ""),
        ("docs/start/replace.md", ""),
        ("docs/operations/troubleshooting.md", ""),
    ];
    for (page, heading) in wanted {
        let place = (PathBuf::from(page), heading.to_owned());
        assert!(reached.contains_key(&place), "{page}#{heading} is more than two clicks from {START}");
    }
    assert!(
        !reached.contains_key(&(PathBuf::from("docs/benchmarks-flood.md"), String::new())),
        "clicks are counted"
    );
}

/// A number alongside a link to a benchmark is in that benchmark.
#[test]
fn numbers_of_benchmarks_are_those_of_the_benchmarks() {
    let number = Regex::new(r"\d[\d.]* (?:MB|MiB|s|%)").unwrap();
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut compared = 0;
    for page in [START, "docs/why.md", "docs/operations/sizing.md"].map(Path::new) {
        for line in text(page).lines() {
            let sources: String = links(page, line)
                .into_iter()
                .filter(|link| link.file.to_string_lossy().contains("benchmarks"))
                .map(|link| words(&text(&link.file)))
                .collect();
            for found in number.find_iter(line).filter(|_| !sources.is_empty()) {
                compared += 1;
                assert!(
                    sources.contains(found.as_str()),
                    "{}: no benchmark has {}",
                    page.display(),
                    found.as_str()
                );
            }
        }
    }
    assert!(compared >= 12, "only {compared} numbers were found");
}

/// The values that users copy from the page of distributions are the tested ones.
#[test]
fn values_for_distributions_are_those_of_the_page_about_switching_off() {
    let tried = text(Path::new("docs/switch-off.md"));
    let page = text(Path::new(DISTRIBUTIONS));
    let blocks = page.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let lines: Vec<&str> =
        blocks.flat_map(str::lines).filter(|line| line.contains("-taint-eviction-controller")).collect();
    assert!(lines.len() >= 5, "{lines:?}");
    for line in lines {
        assert!(tried.lines().any(|other| other == line), "docs/switch-off.md has no line {line:?}");
    }
}
