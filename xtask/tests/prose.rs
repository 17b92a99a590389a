//! Tests that text for people has no more banned phrases than recorded for its area.
//!
//! - `PROSE=crates/core` (or another start of a path) prints the findings there; `PROSE=record` writes lower counts.
//! - See `xtask/prose/banned.txt` for the phrases, the reasons and the better words.

#![allow(clippy::unwrap_used, reason = "a file that cannot be read fails the test")]

#[path = "prose/text.rs"]
mod text;

use regex::{Captures, Regex};
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use text::{Format, Masker, masked};

const BANNED: &str = "xtask/prose/banned.txt";

/// The counts by area, which may only go down.
const RECORDED: &str = "xtask/prose/recorded.txt";

/// Pages that a command writes; their text is in the sources.
const GENERATED: [&str; 5] =
    ["docs/reference.md", "docs/cli/", "docs/runbooks/", "docs/benchmarks", "docs/versions.md"];

/// What begins the part of such a page that people write.
const NOTES: &str = "<!-- notes: written by hand";

/// Files that are data, that name the phrases, or that are about people.
const SKIPPED: [&str; 7] = [
    "xtask/prose/",
    "xtask/tests/prose",
    "/golden/",
    "crates/fakekube/src/schema/",
    "CODE_OF_CONDUCT.md",
    "GOVERNANCE.md",
    "MAINTAINERS.md",
];

/// As many findings of one area are printed.
const PRINTED_MAX: usize = 40;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// A phrase that text must not have.
struct Rule {
    pattern: Regex,
    reason: String,
    better: String,
}

/// The list of rules.
struct BannedPhrases {
    allowed: Regex,
    any: Regex,
    rules: Vec<Rule>,
}

impl BannedPhrases {
    fn parse(list: &str) -> Self {
        // A space in a pattern also matches a line break. ASCII only: that is many times faster.
        let regex = |pattern: &str| {
            Regex::new(&format!("(?i-u){}", pattern.replace(' ', r"\s+")))
                .unwrap_or_else(|error| panic!("{pattern}: {error}"))
        };
        let (mut allowed, mut patterns, mut rules) = (Vec::new(), Vec::new(), Vec::new());
        for line in list.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(pattern) = line.strip_prefix("allow ") {
                allowed.push(pattern);
                continue;
            }
            let [pattern, reason, better] = line.split(" :: ").collect::<Vec<_>>()[..] else {
                panic!("{BANNED}: not a rule: {line}");
            };
            patterns.push(pattern);
            let (reason, better) = (reason.to_owned(), better.to_owned());
            rules.push(Rule { pattern: regex(pattern), reason, better });
        }
        let any_of = |patterns: &[&str]| regex(&format!("(?:{})", patterns.join("|")));
        Self { allowed: any_of(&allowed), any: any_of(&patterns), rules }
    }

    /// The phrases in `text`, with their lines, from 0.
    fn find(&self, text: &str) -> Vec<(usize, String, &Rule)> {
        let text = self.allowed.replace_all(text, |found: &Captures<'_>| masked(&found[0]));
        let (mut line, mut at) = (0, 0);
        let found = self.any.find_iter(&text).map(|found| {
            line += text[at..found.start()].matches('\n').count();
            at = found.start();
            let phrase = found.as_str().split_whitespace().collect::<Vec<_>>().join(" ");
            let rule = self.rules.iter().find(|rule| rule.pattern.is_match(found.as_str())).unwrap();
            (line, phrase, rule)
        });
        found.collect()
    }
}

/// A banned phrase in a file.
struct Finding {
    path: String,
    line: usize,
    phrase: String,
    reason: String,
    better: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, phrase, reason, better } = self;
        write!(f, "{path}:{line}: {phrase:?}: {reason}; write: {better}")
    }
}

/// Whether a line of a page in `docs` comes from a source: of a page that a command writes, all lines before the notes; of
/// other pages, rows of exit codes and of the security checklist, and summaries of lint rules.
fn is_generated(path: &str, line: &str, is_note: bool) -> bool {
    let is_row = line.strip_prefix("| ").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let is_summary = ["**error**:", "**warning**:", "**info**:"].iter().any(|start| line.starts_with(start));
    let is_page = GENERATED.iter().any(|start| path.starts_with(start));
    is_row || is_summary || is_page && !is_note
}

/// The part of the repository whose count a finding in this line adds to.
fn area(path: &str, line: &str, is_note: bool) -> String {
    match path.split('/').collect::<Vec<_>>()[..] {
        ["docs", ..] if is_generated(path, line, is_note) => "docs-generated".to_owned(),
        ["crates", name, folder, _, ..] => format!("crates/{name}/{folder}"),
        ["crates", name, ..] => format!("crates/{name}"),
        [folder, _, ..] => folder.to_owned(),
        _ => "root".to_owned(),
    }
}

fn files() -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = entry.file_name().unwrap().to_string_lossy().into_owned();
            let is_hidden = name == "target" || name.starts_with('.') && name != ".ci";
            if entry.is_dir() && !is_hidden {
                walk(&entry, found);
            } else if entry.is_file() {
                found.push(entry);
            }
        }
    }
    let mut found = Vec::new();
    walk(root(), &mut found);
    found.sort();
    found
}

fn findings() -> BTreeMap<String, Vec<Finding>> {
    let phrases = BannedPhrases::parse(&fs::read_to_string(root().join(BANNED)).unwrap());
    let masker = Masker::new();
    let mut areas: BTreeMap<String, Vec<Finding>> = BTreeMap::from([("docs".to_owned(), Vec::new())]);
    for file in files() {
        let path = file.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
        let is_skipped = SKIPPED.iter().any(|part| path.contains(part));
        let Some(format) = Format::of(&path).filter(|_| !is_skipped) else { continue };
        let text = fs::read_to_string(&file).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let notes = lines.iter().position(|line| line.starts_with(NOTES)).unwrap_or(lines.len());
        for (line, phrase, rule) in phrases.find(&masker.text(format, &text)) {
            let (reason, better) = (rule.reason.clone(), rule.better.clone());
            let finding = Finding { path: path.clone(), line: line + 1, phrase, reason, better };
            areas.entry(area(&path, lines[line], line > notes)).or_default().push(finding);
        }
    }
    areas
}

fn recorded() -> BTreeMap<String, usize> {
    let text = fs::read_to_string(root().join(RECORDED)).unwrap_or_default();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.split_once(' ').unwrap())
        .map(|(n, area)| (area.to_owned(), n.parse().unwrap()))
        .collect()
}

fn record(counts: &BTreeMap<String, usize>) {
    let head =
        "# Banned phrases by area, as `xtask/tests/prose.rs` counts them; `PROSE=record` lowers them.\n";
    let lines = counts.iter().map(|(area, count)| format!("{count} {area}\n"));
    fs::write(root().join(RECORDED), head.to_owned() + &lines.collect::<String>()).unwrap();
}

#[test]
fn no_area_has_more_banned_phrases_than_recorded() {
    let (areas, recorded) = (findings(), recorded());
    let wanted = std::env::var("PROSE").unwrap_or_default();
    let all = areas.values().flatten();
    let below = all.filter(|finding| !wanted.is_empty() && finding.path.starts_with(&wanted));
    below.for_each(|finding| println!("{finding}"));
    if wanted == "record" {
        let unknown = if recorded.is_empty() { usize::MAX } else { 0 };
        let known = |area: &String| recorded.get(area).copied().unwrap_or(unknown);
        let lower = |(area, found): (&String, &Vec<Finding>)| (area.clone(), found.len().min(known(area)));
        record(&areas.iter().map(lower).collect());
        return;
    }
    let mut said = String::new();
    for (area, found) in &areas {
        let allowed = recorded.get(area).copied().unwrap_or(0);
        if found.len() < allowed {
            println!("{area}: {} of {allowed} are left; PROSE=record writes that", found.len());
        } else if found.len() > allowed {
            said += &format!("{area}: {} banned phrases, {allowed} are recorded\n", found.len());
            let shown = found.iter().take(PRINTED_MAX).map(|finding| format!("  {finding}\n"));
            said += &shown.collect::<String>();
        }
    }
    assert!(said.is_empty(), "{said}PROSE={{path}} prints all findings below a path");
}

/// The phrases in a text.
fn phrases(format: Format, file: &str) -> Vec<String> {
    let banned = BannedPhrases::parse(&fs::read_to_string(root().join(BANNED)).unwrap());
    let text = Masker::new().text(format, file);
    banned.find(&text).into_iter().map(|(line, phrase, _)| format!("{line} {phrase}")).collect()
}

#[test]
fn phrases_are_found_in_text_and_not_in_code() {
    let page = "Who is due\nnext?\n\n    who --all\n\n```\nnobody\n```\nIt `makes no sense`, and makes\nno sense. [a](he.md)\n";
    assert_eq!(phrases(Format::Markdown, page), ["0 Who", "8 makes no sense"]);
    let source = "/// Somebody `who` is\n/// told so.\nfn it_goes_on_then(who: u8) -> char {\n    go_on_now(\"who\", \"who\\n is {nobody}\"); 'e'\n}\nfn takes_off() {}\n";
    assert_eq!(phrases(Format::Rust, source), ["0 Somebody", "0 is told", "2 goes on", "3 who"]);
    let object = r#"{"who": "he", "said": "nobody"}"#;
    assert_eq!(phrases(Format::Json, object), Vec::<String>::new());
    assert_eq!(phrases(Format::Json, r#"{"a": "it is in the way"}"#), ["0 in the way"]);
}

#[test]
fn precise_phrases_are_not_findings() {
    for text in [
        "Users who may create pods. Anyone who can edit it.",
        "There is no lease. Is there no node? There are no longer any. It is no longer there.",
        "The pod whose taint is older leaves.",
        "The mode is on. It is put on hold. A taint of its own.",
        "They are here; the theme is theirs.",
    ] {
        assert_eq!(phrases(Format::Markdown, text), Vec::<String>::new(), "{text}");
    }
}
