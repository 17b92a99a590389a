//! Runs `cargo xtask guards`: removes one guard of the engines at a time, and says which search finds that it is missing.
//!
//! - A copy of the sources is changed, in `target/guards`; the checkout stays as it is.

use crate::sources;
use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The list of guards.
const LIST: &str = "xtask/guards.yaml";

/// The sources that guards are in.
const CODE: &str = "crates/core/src";

/// The searches: a name, the tests that belong to it, and a variable with its size.
const SEARCHES: [(&str, &[&str], (&str, &str)); 4] = [
    ("exhaustive search", &["exhaustive"], ("EXHAUSTIVE_STATES", "40000")),
    ("random worlds", &["worlds"], ("WORLDS", "20000")),
    ("random histories", &["random", "in_a_storm"], ("PROPTEST_CASES", "1000")),
    ("scenarios", &[], ("WORLDS", "1")),
];

#[derive(Default, clap::Args)]
pub(crate) struct GuardsArgs {
    /// Only guards of these rules, such as S3
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
}

/// A guard, and the code without it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Guard {
    guard: String,
    rule: String,
    file: String,
    code: String,
    without: String,
}

impl Guard {
    /// The file without the guard.
    fn removed_from(&self, text: &str) -> Result<String> {
        let found = text.matches(&self.code).count();
        ensure!(found == 1, "{} has {found} times, not once: {}", self.file, self.code);
        Ok(text.replace(&self.code, &self.without))
    }
}

pub(crate) fn run(arguments: &GuardsArgs) -> Result<()> {
    let guards = guards(sources::root())?;
    let chosen =
        guards.iter().filter(|guard| arguments.only.is_empty() || arguments.only.contains(&guard.rule));
    let copy = sources::root().join("target/guards/checkout");
    sources::copy_to(&copy)?;
    let mut table =
        format!("| without this guard | rule |{}\n|---|---|{}\n", titles(), "---|".repeat(SEARCHES.len()));
    let mut unnoticed = Vec::new();
    for guard in chosen {
        let file = copy.join(CODE).join(&guard.file);
        let original = fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
        fs::write(&file, guard.removed_from(&original)?)?;
        let program = build(&copy);
        fs::write(&file, original)?;
        let findings = findings(&program.with_context(|| format!("without {:?}", guard.guard))?)?;
        let row = format!("| {} | {} | {} |\n", guard.guard, guard.rule, findings.join(" | "));
        eprint!("{row}");
        table += &row;
        if findings.iter().all(|finding| finding == NOTHING) {
            unnoticed.push(guard.guard.as_str());
        }
    }
    println!("\n{table}");
    ensure!(unnoticed.is_empty(), "no search notices the loss of: {}", unnoticed.join("; "));
    Ok(())
}

fn titles() -> String {
    SEARCHES.iter().map(|(name, ..)| format!(" {name} |")).collect()
}

fn guards(root: &Path) -> Result<Vec<Guard>> {
    let text = fs::read_to_string(root.join(LIST)).with_context(|| format!("reading {LIST}"))?;
    serde_saphyr::from_str(&text).with_context(|| format!("decoding {LIST}"))
}

/// Builds the tests of the engines, and returns the program.
fn build(copy: &Path) -> Result<PathBuf> {
    let mut cargo = sources::cargo();
    let arguments =
        "test --package taintward-core --test engines --no-run --message-format=json-render-diagnostics";
    cargo.args(arguments.split(' ')).current_dir(copy).env("CARGO_TARGET_DIR", copy.with_file_name("target"));
    // A guard that is removed may leave a name unused.
    let messages = sources::output(cargo.env("RUSTFLAGS", "--cap-lints=allow"))?;
    let program = messages.lines().rev().find_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        message["executable"].as_str().map(PathBuf::from)
    });
    program.context("cargo test named no program")
}

const NOTHING: &str = "–";

/// What each search finds.
fn findings(program: &Path) -> Result<Vec<String>> {
    let all: Vec<&str> = SEARCHES.iter().flat_map(|(_, tests, _)| tests.iter().copied()).collect();
    let folder = sources::root().join("crates/core");
    let mut findings = Vec::new();
    for (_, tests, (variable, size)) in SEARCHES {
        let mut command = Command::new(program);
        command.env(variable, size).current_dir(&folder);
        command.args(tests);
        if tests.is_empty() {
            command.args(all.iter().flat_map(|name| ["--skip", name]));
        }
        let done = command.output().context("starting the tests of the engines")?;
        let text =
            String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
        findings.push(if done.status.success() { NOTHING.to_owned() } else { summary(&text) });
    }
    Ok(findings)
}

/// The number of tests that fail, the rules that their messages name, and the number of a world that repeats it.
fn summary(text: &str) -> String {
    let failed = text.lines().filter(|line| line.ends_with("... FAILED")).count();
    let words =
        text.lines().filter(|line| !line.starts_with("test ")).flat_map(|line| line.split([' ', ':', '"']));
    let mut rules: Vec<&str> = words.clone().filter(|word| is_rule(word)).collect();
    rules.sort_unstable();
    rules.dedup();
    let world = words.filter(|word| word.starts_with("WORLD=")).min_by_key(|word| word.len());
    let tests = if failed == 1 { "1 test".to_owned() } else { format!("{failed} tests") };
    let parts = [tests, rules.join(", "), world.unwrap_or_default().to_owned()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
}

/// A property such as S3 or L1.
fn is_rule(word: &str) -> bool {
    let mut characters = word.chars();
    matches!(characters.next(), Some('S' | 'L' | 'D'))
        && word.len() > 1
        && characters.all(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_of_each_guard_is_where_the_list_says() {
        let guards = guards(sources::root()).unwrap();
        assert!(guards.len() > 15);
        for guard in guards {
            let text = fs::read_to_string(sources::root().join(CODE).join(&guard.file)).unwrap();
            assert_ne!(guard.removed_from(&text).unwrap(), text, "{}", guard.guard);
        }
    }

    #[test]
    fn a_summary_names_tests_rules_and_a_world() {
        let text = "test a::s9_b ... FAILED\nthread panicked: S3: pod a is early\nWORLD=17 repeats it: L1\n";
        assert_eq!(summary(text), "1 test; L1, S3; WORLD=17");
    }
}
