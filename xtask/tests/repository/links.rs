//! Tests that every relative link in Markdown files leads to a file and a heading that exist.

use std::fs;
use std::path::Path;
use xtask::markdown::{Link, has_heading, links, pages};

/// What is wrong with a link.
fn fault(root: &Path, link: &Link) -> Option<&'static str> {
    let target = root.join(&link.file);
    if !target.exists() {
        return Some("there is no such file");
    }
    let missing =
        !link.heading.is_empty() && !has_heading(&fs::read_to_string(&target).unwrap(), &link.heading);
    missing.then_some("there is no such heading")
}

#[test]
fn links_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut followed = 0;
    let mut wrong = String::new();
    for page in pages(root, Path::new("")).unwrap() {
        for link in links(&page, &fs::read_to_string(root.join(&page)).unwrap()) {
            followed += 1;
            if let Some(fault) = fault(root, &link) {
                wrong += &format!("{}: {}#{}: {fault}\n", page.display(), link.file.display(), link.heading);
            }
        }
    }
    assert!(followed > 100, "the pages were not found");
    assert!(wrong.is_empty(), "{wrong}");
}
