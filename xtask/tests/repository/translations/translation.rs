//! Compares a translated page with the English page that its first line names.
//!
//! - Both have the same headings by level, code, tables, pictures and links, and the same code spans and numbers in each place.
//! - What follows ` # ` in a block of commands is a comment, which is translated. Fenced blocks are equal word for word.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use taintward_core::hash::fnv1a;
use xtask::markdown::{links, pages};

/// The folder of the translated pages of `docs`.
const FOLDER: &str = "docs/zh-CN";

/// The translated pages and the terms; it has no English page.
const INDEX: &str = "docs/zh-CN/README.md";

/// The translation of `README.md`.
const README: &str = "README.zh-CN.md";

/// How the first line of a translated page begins.
const MARK: &str = "<!-- translation of ";

const FENCE: &str = "```";

/// A translated page and the English page that it was translated from.
pub(crate) struct Translation {
    /// By its path from the root of the repository, as `source`.
    pub(crate) page: PathBuf,
    pub(crate) text: String,
    pub(crate) source: PathBuf,
    pub(crate) source_text: String,
}

impl Translation {
    /// Every translated page of the repository at `root`.
    pub(crate) fn all(root: &Path) -> Vec<Self> {
        let mut found = pages(root, Path::new(FOLDER)).unwrap();
        found.retain(|page| page != Path::new(INDEX));
        found.push(PathBuf::from(README));
        let read = |page: &Path| fs::read_to_string(root.join(page)).unwrap_or_default();
        let translation = |page: PathBuf| {
            let source = english(&page);
            let source_text = read(&source);
            assert!(!source_text.is_empty(), "{} has no English page {}", page.display(), source.display());
            Self { text: read(&page), page, source, source_text }
        };
        found.into_iter().map(translation).collect()
    }

    /// Whether the English page is the one that was translated.
    pub(crate) fn is_up_to_date(&self) -> bool {
        self.text.lines().next() == Some(self.mark().as_str())
    }

    /// What to do if the English page has changed since the translation.
    pub(crate) fn advice(&self) -> String {
        let (page, source) = (self.page.display(), self.source.display());
        format!(
            "{page} has fallen behind {source}: translate what has changed \
             (git diff $(git log -1 --format=%H -- {page}) -- {source}), then type \
             TRANSLATIONS=record cargo test -p xtask --test repository translations\n"
        )
    }

    /// The differences between the page and its English page; `all` are the pages that links must prefer.
    pub(crate) fn faults(&self, all: &[Self]) -> String {
        let (page, source) = (self.page.display(), self.source.display());
        let mut faults = String::new();
        let (wanted, found) = (skeleton(&self.source, &self.source_text), skeleton(&self.page, &self.text));
        let longest = wanted.len().max(found.len());
        if let Some(at) = (0..longest).find(|at| wanted.get(*at) != found.get(*at)) {
            let (wanted, found) = (part(&wanted, at), part(&found, at));
            faults += &format!("{source} has\n  {wanted}\nwhere {page} has\n  {found}\n");
        }
        for link in links(&self.page, &self.text).iter().filter(|link| link.file != self.source) {
            if let Some(other) = all.iter().find(|other| other.source == link.file) {
                faults += &format!("{page} links {}: link {}\n", link.file.display(), other.page.display());
            }
        }
        faults
    }

    /// Copies the fenced blocks of the English page, if both pages have the same number: the output of commands changes often.
    pub(crate) fn take_blocks(&mut self) {
        let own: Vec<&str> = self.text.split(FENCE).collect();
        let wanted: Vec<&str> = self.source_text.split(FENCE).collect();
        if own.len() == wanted.len() {
            let pieces = (0..own.len()).map(|at| if at % 2 == 0 { own[at] } else { wanted[at] });
            self.text = pieces.collect::<Vec<_>>().join(FENCE);
        }
    }

    /// The page as it begins when the English page is the one that was translated.
    pub(crate) fn recorded(&self) -> String {
        format!("{}\n{}", self.mark(), without_mark(&self.text))
    }

    /// The first line that names the English page as it is now.
    fn mark(&self) -> String {
        format!("{MARK}{}, {:016x} -->", self.source.display(), fnv1a(&self.source_text))
    }
}

/// The English page of a translated one; any other file as it is.
pub(crate) fn english(page: &Path) -> PathBuf {
    if page == Path::new(README) {
        return PathBuf::from("README.md");
    }
    page.strip_prefix(FOLDER).map_or_else(|_| page.to_owned(), |rest| Path::new("docs").join(rest))
}

fn without_mark(text: &str) -> &str {
    if text.starts_with(MARK) { text.split_once('\n').map_or("", |(_, rest)| rest) } else { text }
}

/// What a page has in common with its translation, in its order.
fn skeleton(page: &Path, text: &str) -> Vec<String> {
    let is_fence = |line: &&str| line.trim_start().starts_with(FENCE);
    let (mut parts, mut prose) = (Vec::new(), String::new());
    let mut commands_may_follow = true;
    let mut lines = without_mark(text).lines();
    while let Some(line) = lines.next() {
        let is_command = commands_may_follow && line.starts_with("    ");
        commands_may_follow = is_command || line.trim().is_empty();
        let part = if is_fence(&line) {
            let code: Vec<&str> = lines.by_ref().take_while(|line| !is_fence(line)).collect();
            format!("{line}\n{}", code.join("\n"))
        } else if is_command {
            line.split_once(" # ").map_or(line.to_owned(), |(command, _)| format!("{} #", command.trim_end()))
        } else if line.starts_with('#') {
            let words = line.trim_start_matches('#');
            format!("{} {}", &line[..line.len() - words.len()], facts(page, words))
        } else if line.starts_with('|') {
            let cells: Vec<String> =
                line.trim_matches('|').split('|').map(|cell| facts(page, cell)).collect();
            format!("| {} |", cells.join(" | "))
        } else if line.starts_with("![") {
            format!("picture {}", facts(page, line))
        } else {
            prose += line;
            prose.push(' ');
            continue;
        };
        parts.extend(text_part(page, &mut prose));
        parts.push(part);
    }
    parts.extend(text_part(page, &mut prose));
    parts
}

/// The collected prose, which is then empty.
fn text_part(page: &Path, prose: &mut String) -> Option<String> {
    let text = std::mem::take(prose);
    (!text.trim().is_empty()).then(|| format!("text {}", facts(page, &text)))
}

/// Code spans, targets of links, and numbers.
fn facts(page: &Path, text: &str) -> String {
    let spans = text.split('`').skip(1).step_by(2);
    let mut facts: BTreeSet<String> = spans.map(|span| format!("`{span}`")).collect();
    let words = text.split('`').step_by(2).collect::<Vec<_>>().join(" ");
    for link in links(page, &words) {
        let (file, heading) = (english(&link.file), link.heading);
        // A page links itself in the other language, and a translation links the index.
        let own = file == english(page) && heading.is_empty();
        if !own && link.file != Path::new(INDEX) {
            facts.insert(format!("{}#{heading}", file.display()));
        }
    }
    let mut pieces = words.split("](");
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (target, after) = piece.split_once(')').unwrap_or((piece, ""));
        if target.contains("://") {
            facts.insert(target.to_owned());
        }
        plain.push(' ');
        plain += after;
    }
    let numbers = plain.split(|c: char| !c.is_ascii_digit() && !".,:".contains(c));
    let numbers = numbers.map(|number| number.trim_matches(|c: char| !c.is_ascii_digit()));
    facts.extend(numbers.filter(|number| !number.is_empty()).map(str::to_owned));
    facts.into_iter().collect::<Vec<_>>().join(", ")
}

fn part(parts: &[String], at: usize) -> &str {
    parts.get(at).map_or("nothing more", String::as_str)
}
