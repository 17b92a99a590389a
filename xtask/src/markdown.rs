//! Lists Markdown pages, and reads their links.

use crate::files::files_below;
use anyhow::Result;
use std::path::{Component, Path, PathBuf};

/// A link of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The file it leads to, from the root of the repository.
    pub file: PathBuf,
    /// The heading it leads to; empty for the whole page.
    pub heading: String,
}

/// All pages below `folder`, by their paths from `root`, sorted, without hidden folders and what Cargo built.
pub fn pages(root: &Path, folder: &Path) -> Result<Vec<PathBuf>> {
    let files = files_below(&root.join(folder), &["md"])?;
    files.into_iter().map(|file| Ok(file.strip_prefix(root)?.to_owned())).collect()
}

/// The lines of a page that are prose, not code.
pub fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut code = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        !code && !fence
    })
}

/// The targets of links and pictures as a page has them, without addresses on the network.
pub fn targets(text: &str) -> Vec<String> {
    let after = prose(text).flat_map(|line| line.split("](").skip(1));
    let targets = after.filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://")).map(str::to_owned).collect()
}

/// Where the links of `page`, whose text is `text`, lead.
pub fn links(page: &Path, text: &str) -> Vec<Link> {
    let link = |target: &String| {
        let (path, heading) = target.split_once('#').unwrap_or((target, ""));
        let folder = page.parent().unwrap_or(Path::new(""));
        let file = if path.is_empty() { page.to_owned() } else { without_dots(&folder.join(path)) };
        Link { file, heading: heading.to_owned() }
    };
    targets(text).iter().map(link).collect()
}

/// A heading as links name it.
pub fn anchor(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = words.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Whether a page has a heading, as links name it.
pub fn has_heading(text: &str, name: &str) -> bool {
    prose(text).filter(|line| line.starts_with('#')).any(|line| anchor(line) == name)
}

/// A path without `..` and `.`.
fn without_dots(path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => _ = whole.pop(),
            other => whole.push(other),
        }
    }
    whole
}
