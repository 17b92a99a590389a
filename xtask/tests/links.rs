//! Tests that every relative link in Markdown files leads to a file and a heading that exist.

#![allow(clippy::unwrap_used, reason = "a file that cannot be read fails the test")]

use std::fs;
use std::path::{Path, PathBuf};

fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = entry.file_name().unwrap().to_string_lossy().into_owned();
        if entry.is_dir() {
            if name != "target" && !name.starts_with('.') {
                pages(&entry, found);
            }
        } else if name.ends_with(".md") {
            found.push(entry);
        }
    }
}

/// The lines of a page that are prose, not code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut code = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        !code && !fence
    })
}

/// Where links of a page lead, addresses on the network left out.
fn links(text: &str) -> Vec<String> {
    let after = prose(text).flat_map(|line| line.split("](").skip(1));
    let targets = after.filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://")).map(str::to_owned).collect()
}

/// A heading as links name it.
fn anchor(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = words.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn has_heading(page: &Path, name: &str) -> bool {
    let text = fs::read_to_string(page).unwrap();
    prose(&text).filter(|line| line.starts_with('#')).any(|line| anchor(line) == name)
}

/// What is wrong with a link of a page.
fn fault(page: &Path, link: &str) -> Option<&'static str> {
    let (path, heading) = link.split_once('#').unwrap_or((link, ""));
    let target = if path.is_empty() { page.to_owned() } else { page.parent().unwrap().join(path) };
    if !target.exists() {
        return Some("there is no such file");
    }
    (!heading.is_empty() && !has_heading(&target, heading)).then_some("there is no such heading")
}

#[test]
fn links_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = Vec::new();
    pages(root, &mut found);
    let mut followed = 0;
    let mut wrong = String::new();
    for page in found {
        for link in links(&fs::read_to_string(&page).unwrap()) {
            followed += 1;
            if let Some(fault) = fault(&page, &link) {
                wrong += &format!("{}: {link}: {fault}\n", page.strip_prefix(root).unwrap().display());
            }
        }
    }
    assert!(followed > 100, "the pages were not found");
    assert!(wrong.is_empty(), "{wrong}");
}
