//! Tests that text for people has no mistake of a kind that a pattern can find, and prints phrases that a person should judge.
//!
//! - See `xtask/prose/banned.txt` for the phrases, the reasons and the better words.

mod text;

use regex::{Captures, Regex};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use text::{Format, Masker, masked};

const BANNED: &str = "xtask/prose/banned.txt";

/// Files that are data, that name the phrases, or that are about people.
const SKIPPED: [&str; 7] = [
    "xtask/prose/",
    "xtask/tests/repository/prose",
    "/golden/",
    "crates/fakekube/src/schema/",
    "CODE_OF_CONDUCT.md",
    "GOVERNANCE.md",
    "MAINTAINERS.md",
];

/// Some files in hidden folders, and files without a usual extension.
const HIDDEN: [&str; 8] = [
    ".cargo/config.toml",
    ".ci/run",
    ".devcontainer/devcontainer.json",
    ".editorconfig",
    ".github/CODEOWNERS",
    ".github/ISSUE_TEMPLATE/bug.yml",
    ".github/workflows/ci.yml",
    "crates/cli/tests/cmd/lint-stdin.stdout",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// A phrase that text should not have.
struct ProseRule {
    pattern: Regex,
    reason: String,
    better: String,
    /// Whether it is never right.
    is_mistake: bool,
}

/// The list of rules.
struct BannedPhrases {
    allowed: Regex,
    any: Regex,
    rules: Vec<ProseRule>,
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
            let (is_mistake, pattern) = match pattern.strip_prefix("mistake ") {
                Some(pattern) => (true, pattern),
                None => (false, pattern),
            };
            patterns.push(pattern);
            let (reason, better) = (reason.to_owned(), better.to_owned());
            rules.push(ProseRule { pattern: regex(pattern), reason, better, is_mistake });
        }
        let any_of = |patterns: &[&str]| regex(&format!("(?:{})", patterns.join("|")));
        Self { allowed: any_of(&allowed), any: any_of(&patterns), rules }
    }

    /// The phrases in `text`, with their lines, from 0.
    fn find(&self, text: &str) -> Vec<(usize, String, &ProseRule)> {
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

fn files() -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = entry.file_name().unwrap().to_string_lossy().into_owned();
            let is_read = name != "target" && name != ".git";
            if entry.is_dir() && is_read {
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

#[test]
fn no_text_has_a_mistake() {
    let phrases = BannedPhrases::parse(&fs::read_to_string(root().join(BANNED)).unwrap());
    let masker = Masker::new();
    let (mut read, mut mistakes, mut others) = (BTreeSet::new(), Vec::new(), Vec::new());
    for file in files() {
        let path = file.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
        let is_skipped = SKIPPED.iter().any(|part| path.contains(part));
        let Some(format) = Format::of(&path).filter(|_| !is_skipped) else { continue };
        let text = fs::read_to_string(&file).unwrap();
        for (line, phrase, ProseRule { reason, better, is_mistake, .. }) in
            phrases.find(&masker.text(format, &text))
        {
            let finding = format!("{path}:{}: {phrase:?}: {reason}; write: {better}", line + 1);
            if *is_mistake { &mut mistakes } else { &mut others }.push(finding);
        }
        read.insert(path);
    }
    assert!(read.len() > 1000, "only {} files were read", read.len());
    for file in HIDDEN {
        assert!(read.contains(file), "{file} was not read");
    }
    if !others.is_empty() {
        println!("Judge these phrases; keep those that are right:\n{}", others.join("\n"));
    }
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
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

#[test]
fn few_phrases_are_mistakes() {
    let banned = BannedPhrases::parse(&fs::read_to_string(root().join(BANNED)).unwrap());
    let is_mistake = |text: &str| banned.find(text).first().map(|(_, _, rule)| rule.is_mistake);
    for text in ["the behaviour", "it makes no sense", "she deletes it"] {
        assert_eq!(is_mistake(text), Some(true), "{text}");
    }
    for text in ["it stays forever", "anew", "at work"] {
        assert_eq!(is_mistake(text), Some(false), "{text}");
    }
}
