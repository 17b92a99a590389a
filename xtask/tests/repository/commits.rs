//! Tests the subjects of new commits: imperative, at most 60 characters, no full stop.
//!
//! - The test skips merges and Dependabot's commits, whose subjects are written by tools. It needs the history since the
//!   rule: a shallow clone fails, and with `CI=true` a checkout without history fails, too.

use std::path::Path;
use std::process::Command;
use taintward_envtest::binaries::skipped;

/// The rule holds for commits after this one.
const SINCE: &str = "4c12d583";

const LENGTH_MAX: usize = 60;

/// Verbs whose endings are also those of other forms.
const VERBS: [&str; 16] = [
    "alias", "bias", "bring", "canvas", "embed", "exceed", "feed", "focus", "need", "ping", "proceed",
    "seed", "shed", "speed", "string", "succeed",
];

/// What git prints, or why it prints nothing.
fn git(arguments: &[&str]) -> Result<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let output = Command::new("git").args(arguments).current_dir(root).output();
    let output = output.map_err(|error| format!("git does not run: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}

/// What is wrong with a subject, such as `kube: read leases live` or `Name a rule`.
fn fault(subject: &str) -> Option<String> {
    let is_area = |area: &&str| !area.is_empty() && area.split(", ").all(|part| !part.contains(' '));
    let area = subject.split_once(": ").map(|(area, _)| area).filter(is_area);
    let text = area.map_or(subject, |area| &subject[area.len() + 2..]);
    let verb = text.split(' ').next().unwrap_or_default().to_lowercase();
    let has_other_form =
        ["ed", "ing"].iter().any(|end| verb.ends_with(end)) || verb.ends_with('s') && !verb.ends_with("ss");
    let length = subject.chars().count();
    if length > LENGTH_MAX {
        Some(format!("has {length} characters; {LENGTH_MAX} are the most, the rest belongs to the body"))
    } else if text.ends_with('.') {
        Some("ends with a full stop".to_owned())
    } else if !verb.starts_with(char::is_alphabetic) {
        Some("does not begin with a verb".to_owned())
    } else if has_other_form && !VERBS.contains(&&*verb) {
        Some(format!(
            "begins with {verb:?}, which is not an imperative: say what the commit does, as in \"add a test\""
        ))
    } else {
        None
    }
}

/// Fails if a command can fetch the history, and in CI.
fn without_history(why: &str) {
    let is_shallow =
        git(&["rev-parse", "--is-shallow-repository"]).is_ok_and(|message| message.trim() == "true");
    assert!(
        !is_shallow,
        "this clone is shallow and does not include {SINCE}; `git fetch --unshallow` fetches the history"
    );
    let is_ci = std::env::var("CI").as_deref() == Ok("true");
    assert!(!is_ci, "the history does not include {SINCE}: {why}; check out a full clone");
    skipped("subjects_of_new_commits_are_short_and_imperative", why);
}

#[test]
fn subjects_of_new_commits_are_short_and_imperative() {
    let range = format!("{SINCE}..HEAD");
    let commits = match git(&["log", "--no-merges", "--format=%h%x09%an%x09%s", &range]) {
        Ok(commits) => commits,
        Err(why) => return without_history(&why),
    };
    let mut wrong = String::new();
    for line in commits.lines() {
        let [commit, author, subject] = line.splitn(3, '\t').collect::<Vec<_>>()[..] else {
            panic!("{line:?}")
        };
        if let Some(fault) = fault(subject).filter(|_| author != "dependabot[bot]") {
            wrong += &format!("{commit} {subject:?} {fault}\n");
        }
    }
    assert!(wrong.is_empty(), "CONTRIBUTING.md says how commits are written:\n{wrong}");
}

#[test]
fn faults_of_subjects_are_found() {
    for good in [
        "kube: read leases live",
        "board, docs: use plain words",
        "Name a rule",
        "tests: need no Go",
        "core: pass the time on",
        &format!("add {}", "a".repeat(56)),
    ] {
        assert_eq!(fault(good), None, "{good}");
    }
    for (bad, because) in [
        (&*format!("add {}", "a".repeat(57)), "61 characters"),
        ("kube: reads leases live", "\"reads\""),
        ("Added a rule", "\"added\""),
        ("docs: fixing a link", "\"fixing\""),
        ("Name a rule.", "full stop"),
        ("", "not begin with a verb"),
        ("docs: (a link)", "not begin with a verb"),
    ] {
        let fault = fault(bad).unwrap_or_default();
        assert!(fault.contains(because), "{bad}: {fault}");
    }
}
