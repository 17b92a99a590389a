//! Tests rules about the sources that rustfmt and clippy cannot check.

use proc_macro2::{TokenStream, TokenTree};
use std::fs;
use std::path::{Path, PathBuf};
use xtask::files::files_below;

/// A file is a page.
const LINES_MAX: usize = 400;

/// The files that may read the wall clock in programs that ship: for decisions, and for the times of log lines.
const CLOCKS: [&str; 2] = ["crates/kube/src/clock.rs", "crates/controller/src/logging.rs"];

/// A file as short as this needs no summary.
const SUMMARY_FROM: usize = 20;

/// The longest head comment of a file that is not the root of a crate.
const HEAD_LINES_MAX: usize = 8;

/// Endings of names that do not describe a type.
const EMPTY_NAMES: [&str; 4] = ["Manager", "Helper", "Util", "Utils"];

/// The macros of tracing that write a log record.
const LOG_MACROS: [&str; 6] = ["error", "warn", "info", "debug", "trace", "event"];

/// The constants that hold the messages of log records.
const LOG_CONSTANTS: [&str; 3] = ["MESSAGE", "PERMISSION_CHANGED", "REQUEST_FAILED"];

/// The longest message of a log record, in characters.
const LOG_MESSAGE_MAX: usize = 100;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn sources() -> Vec<PathBuf> {
    ["crates", "examples", "xtask"].map(|folder| files_below(&root().join(folder), &["rs"]).unwrap()).concat()
}

fn is_test(file: &Path) -> bool {
    file.components()
        .any(|part| matches!(part.as_os_str().to_str(), Some("tests" | "tests.rs" | "examples" | "benches")))
}

/// Collects the faults that `check` finds in each file.
fn untidy(check: impl Fn(&Path, &str) -> Option<String>) -> String {
    let files = sources();
    assert!(files.len() > 20, "the sources were not found");
    let message = files.iter().filter_map(|file| {
        let message = check(file, &fs::read_to_string(file).unwrap())?;
        Some(format!("{}: {message}\n", file.strip_prefix(root()).unwrap().display()))
    });
    message.collect()
}

#[test]
fn every_file_is_a_page() {
    let message = untidy(|_, text| {
        let lines = text.lines().count();
        (lines > LINES_MAX).then(|| format!("{lines} lines; split it, {LINES_MAX} are a page"))
    });
    assert_eq!(message, "");
}

#[test]
fn every_file_opens_with_a_summary() {
    let message = untidy(|file, text| {
        let head: Vec<&str> =
            text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim).collect();
        let summary = head.iter().take_while(|line| !line.is_empty()).copied().collect::<Vec<_>>().join(" ");
        let is_root = file.ends_with("lib.rs") || file.ends_with("main.rs");
        let fault = if head.is_empty() {
            "has no summary"
        } else if !summary.starts_with(|first: char| first.is_ascii_uppercase()) {
            "does not begin with a capital letter (a heading does not count)"
        } else if !summary.ends_with('.') {
            "has a first paragraph without a full stop"
        } else if head.len() > HEAD_LINES_MAX && !is_root {
            "is too long; what concerns one type belongs to that type"
        } else {
            return None;
        };
        (text.lines().count() > SUMMARY_FROM).then(|| format!("the head comment {fault}"))
    });
    assert_eq!(message, "");
}

/// The word for an upper limit is MAX, and for a lower one MIN.
#[test]
fn limits_are_named_max_and_min() {
    let message = untidy(|_, text| {
        let mut words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let name = words
            .find(|word| word.ends_with(concat!("_", "MOST")) || word.ends_with(concat!("_", "LEAST")))?;
        Some(format!("{name}; end it with _MAX or _MIN"))
    });
    assert_eq!(message, "");
}

#[test]
fn names_say_what_a_thing_is() {
    let message = untidy(|_, text| {
        let declared = text.lines().filter_map(|line| {
            let line = line.trim_start().trim_start_matches("pub ").trim_start_matches("pub(crate) ");
            let rest =
                ["struct ", "enum ", "trait ", "type "].iter().find_map(|word| line.strip_prefix(word))?;
            rest.split(|c: char| !c.is_alphanumeric()).next()
        });
        let empty: Vec<&str> =
            declared.filter(|name| EMPTY_NAMES.iter().any(|empty| name.ends_with(empty))).collect();
        (!empty.is_empty()).then(|| format!("{} says nothing", empty.join(", ")))
    });
    assert_eq!(message, "");
}

/// A head comment names other files; after a rename, the name would be wrong.
#[test]
fn files_that_comments_name_exist() {
    let files = sources();
    let exists = |name: &str| files.iter().any(|file| file.ends_with(name));
    let message = untidy(|_, text| {
        let comments = text.lines().filter_map(|line| Some(line.split_once("//")?.1));
        let named = comments.flat_map(|comment| comment.split('`').skip(1).step_by(2));
        let missing: Vec<&str> = named.filter(|name| is_file_name(name) && !exists(name)).collect();
        (!missing.is_empty()).then(|| format!("no file is called {}", missing.join(", ")))
    });
    assert_eq!(message, "");
}

fn is_file_name(text: &str) -> bool {
    text.len() > ".rs".len()
        && text.ends_with(".rs")
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte))
}

/// Whether a file is part of what ships.
fn ships(file: &Path) -> bool {
    let crates = root().join("crates");
    let folders = ["core", "kube", "controller", "server", "admission", "cli"].map(|name| crates.join(name));
    assert_eq!(folders.iter().find(|folder| !folder.is_dir()), None, "each crate that ships has a folder");
    folders.iter().any(|folder| file.starts_with(folder)) && !is_test(file)
}

#[test]
fn what_ships_reads_the_wall_clock_in_known_places() {
    let message = untidy(|file, text| {
        let clock = CLOCKS.iter().any(|name| file.ends_with(name));
        let reads = ["SystemTime::now", "Timestamp::now"].iter().find(|call| text.contains(**call))?;
        (ships(file) && !clock).then(|| format!("{reads}; ask kube::clock"))
    });
    assert_eq!(message, "");
}

/// Tests with virtual time control the clock of the runtime, and no other.
#[test]
fn what_ships_measures_time_by_the_clock_of_the_runtime() {
    let message = untidy(|file, text| {
        let exempt =
            file.starts_with(root().join("crates/server")) || file.ends_with("crates/kube/src/clock.rs");
        let mut lines = text.lines().filter(|line| line.contains("std::time::"));
        let line =
            lines.find(|line| line.split(|c: char| !c.is_alphanumeric()).any(|word| word == "Instant"))?;
        (ships(file) && !exempt).then(|| format!("{line}; use tokio::time::Instant"))
    });
    assert_eq!(message, "");
}

/// Operators search logs for messages, and log pipelines group by them: a message is one short constant sentence, and
/// its values are fields.
#[test]
fn log_messages_are_short_and_constant() {
    let message = untidy(|file, text| {
        if is_test(file) || !LOG_MACROS.iter().any(|name| text.contains(&format!("{name}!"))) {
            return None;
        }
        let mut faults = Vec::new();
        find_log_messages(text.parse().unwrap(), &mut |message| {
            let fault = if message.contains('{') {
                "interpolates a value; make it a field"
            } else if message.contains("; ") || message.contains(". ") {
                "has several sentences; move the details into fields such as reason and remedy"
            } else if message.chars().count() > LOG_MESSAGE_MAX {
                "is too long; move the details into fields such as reason and remedy"
            } else {
                return;
            };
            faults.push(format!("the log message {message:?} {fault}"));
        });
        (!faults.is_empty()).then(|| faults.join(", "))
    });
    assert_eq!(message, "");
}

/// Finds the literals that are messages of log records: in calls of the macros, and in constants.
fn find_log_messages(tokens: TokenStream, found: &mut impl FnMut(&str)) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let named = |token: &TokenTree, names: &[&str]| names.iter().any(|name| token.to_string() == *name);
    let mut report = |token: &TokenTree| {
        if let TokenTree::Literal(literal) = token
            && let syn::Lit::Str(text) = syn::Lit::new(literal.clone())
        {
            found(&text.value());
        }
    };
    for (at, token) in tokens.iter().enumerate() {
        match (token, &tokens[at + 1..]) {
            (TokenTree::Ident(_), [bang, TokenTree::Group(arguments), ..])
                if named(token, &LOG_MACROS) && named(bang, &["!"]) =>
            {
                let arguments: Vec<TokenTree> = arguments.stream().into_iter().collect();
                let parts = arguments.split(|token| named(token, &[","]));
                for part in parts {
                    match part {
                        [only] => report(only),
                        [field, equals, only] if named(field, &["message"]) && named(equals, &["="]) => {
                            report(only);
                        }
                        _ => {}
                    }
                }
            }
            (TokenTree::Ident(_), [name, rest @ ..])
                if named(token, &["const"]) && named(name, &LOG_CONSTANTS) =>
            {
                let value = rest.iter().take_while(|token| !named(token, &[";"]));
                if let Some(value) = value.skip_while(|token| !named(token, &["="])).nth(1) {
                    report(value);
                }
            }
            _ => {}
        }
    }
    for token in tokens {
        if let TokenTree::Group(group) = token {
            find_log_messages(group.stream(), found);
        }
    }
}

#[test]
fn the_core_depends_on_nothing_that_is_not_optional() {
    let manifest = fs::read_to_string(root().join("crates/core/Cargo.toml")).unwrap();
    let section = manifest.split("[dependencies]").nth(1).unwrap();
    let wanted: Vec<&str> =
        section.lines().take_while(|line| !line.starts_with('[')).filter(|line| line.contains('=')).collect();
    assert_eq!(wanted, ["serde = { workspace = true, optional = true }"]);
}

/// A crate's page and its manifest have the same description.
#[test]
fn every_crate_has_a_page() {
    for folder in fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path()) {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let value = |key: &str| {
            let start = format!("{key} = \"");
            manifest
                .lines()
                .find_map(|line| line.strip_prefix(&*start)?.strip_suffix('"'))
                .unwrap_or_default()
        };
        let page = fs::read_to_string(folder.join("README.md")).unwrap_or_default();
        let head = format!("# {}\n\n{}.\n\n", value("name"), value("description"));
        assert!(page.starts_with(&head), "{}/README.md does not begin with:\n{head}", folder.display());
        assert_eq!(value("readme"), "README.md", "{}", folder.display());
    }
}

/// Each row of docs/rules.md names a rule, the code that implements it and a test; both mention the rule.
#[test]
fn every_rule_is_named_where_docs_say_it_is() {
    let table = fs::read_to_string(root().join("docs/rules.md")).unwrap();
    let rows: Vec<Vec<&str>> = table
        .lines()
        .filter(|line| {
            ["| MATCH-", "| TE-", "| NL-", "| SC-", "| AD-", "| KT-", "| D"]
                .iter()
                .any(|start| line.starts_with(start))
        })
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    assert!(rows.len() > 40, "the table is there");
    let mut message = String::new();
    for row in rows {
        let [_, rules, _, also, code, test, _] = row[..] else { panic!("a row has five cells: {row:?}") };
        // A test of a difference from the rule tests the rule.
        let names: Vec<&str> = rules.split(", ").chain(also.split([',', ' ', '(', ')'])).collect();
        for place in [code, test].iter().filter(|place| **place != "–") {
            let file = place.trim_matches('`');
            let text = fs::read_to_string(root().join(file)).unwrap_or_default().to_lowercase();
            let mentions = |name: &&str| {
                let name = name.to_lowercase();
                let is_rule = ["te-", "match-", "nl-", "sc-", "ad-", "kt-", "d"]
                    .iter()
                    .any(|start| name.starts_with(start));
                let in_code = |name: &str| {
                    text.match_indices(name).any(|(at, _)| {
                        !text[at + name.len()..].starts_with(|next: char| next.is_ascii_digit())
                    })
                };
                is_rule && name.len() > 1 && (in_code(&name) || in_code(&name.replace('-', "_")))
            };
            if !names.iter().any(mentions) {
                message += &format!("{file} does not mention {rules}\n");
            }
        }
    }
    assert_eq!(message, "");
}

/// A user who copies a whole value of kube-controller-manager's `--controllers` switches off the controllers that the
/// distribution names there: documentation shows how to add to the value. Tests of Taintward's own flag may have a whole value.
#[test]
fn documentation_never_replaces_the_list_of_controllers() {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = entry.file_name().unwrap().to_string_lossy().into_owned();
            if !entry.is_dir() {
                found.push(entry);
            } else if name != "target" && !name.starts_with('.') {
                walk(&entry, found);
            }
        }
    }
    let mut files = Vec::new();
    walk(root(), &mut files);
    let read =
        files.iter().filter(|file| !(is_test(file) && file.extension().is_some_and(|end| end == "rs")));
    let bare = ["--controllers=*,-taint-", "--controllers=*,-node-lifecycle"];
    let mut message = String::new();
    for file in read {
        let Ok(text) = fs::read_to_string(file) else { continue };
        let words: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if !file.ends_with("xtask/tests/repository/tidy.rs") && bare.iter().any(|line| words.contains(line)) {
            message +=
                &format!("{}: show what to add, not a whole value; see docs/switch-off.md\n", file.display());
        }
    }
    assert_eq!(message, "");
}
