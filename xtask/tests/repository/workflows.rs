//! Tests the workflows and forms in `.github`: actionlint accepts them, and the things that they name exist.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use taintward_envtest::{binaries, releases::RELEASES};

/// The external actions that workflows use; everything else is shell.
const ACTIONS: [&str; 1] = ["actions/checkout"];

fn github() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(".github")
}

/// The files of a folder of `.github`, with their texts.
fn files(folder: &str) -> Vec<(PathBuf, String)> {
    let entries = fs::read_dir(github().join(folder)).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
}

/// The values of a key, each as a YAML list of one line; a plain value is a list of one.
fn values<'t>(text: &'t str, key: &str) -> Vec<&'t str> {
    let lines = text.lines().filter_map(|line| line.trim_start_matches([' ', '-']).strip_prefix(key));
    let lists = lines.filter_map(|rest| rest.strip_prefix(": "));
    let all = lists.flat_map(|list| list.trim_matches(['[', ']']).split(", "));
    all.map(|value| value.trim_matches('"')).collect()
}

#[test]
fn actionlint_finds_nothing_in_the_workflows() {
    const TEST: &str = "actionlint_finds_nothing_in_the_workflows";
    let Some(actionlint) = binaries::ACTIONLINT.for_test(TEST) else { return };
    // With optional programs, it would find more on some machines than on others.
    let check = |files: &[PathBuf]| {
        let mut command = Command::new(&actionlint);
        command.args(["-no-color", "-shellcheck=", "-pyflakes="]).args(files).current_dir(github());
        let output = command.output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let workflows: Vec<PathBuf> = files("workflows").into_iter().map(|(path, _)| path).collect();
    assert!(workflows.len() > 2, "the workflows were not found");
    assert_eq!(check(&workflows), (true, String::new()));

    let broken = std::env::temp_dir().join(format!("taintward-workflow-{}.yml", std::process::id()));
    let text = fs::read_to_string(github().join("workflows/ci.yml")).unwrap();
    fs::write(&broken, text.replace("github.ref }}", "github.reff }}")).unwrap();
    let (accepted, message) = check(std::slice::from_ref(&broken));
    fs::remove_file(broken).unwrap();
    assert!(!accepted && message.contains("reff"), "actionlint accepts anything:\n{message}");
}

#[test]
fn workflows_may_only_read_and_use_known_actions() {
    for (path, text) in files("workflows") {
        let name = path.display();
        assert!(
            text.contains("\npermissions:\n  contents: read\n"),
            "{name}: the permissions of jobs are not restricted"
        );
        for action in values(&text, "uses") {
            let (action, version) = action.split_once('@').unwrap();
            assert!(ACTIONS.contains(&action), "{name}: {action} is external code; use shell commands");
            let (commit, tag) = version.split_once(" # v").unwrap_or_default();
            let is_commit = commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
            assert!(is_commit && !tag.is_empty(), "{name}: pin {action} as `{action}@COMMIT # vVERSION`");
        }
        assert!(!text.contains("secrets."), "{name}: GITHUB_TOKEN is enough");
    }
}

#[test]
fn the_nightly_workflow_runs_each_part_and_version() {
    let text = fs::read_to_string(github().join("workflows/nightly.yml")).unwrap();
    let versions: Vec<&str> = RELEASES.iter().map(|release| release.name()).collect();
    assert_eq!(values(&text, "version"), versions);
    let help = Command::new(env!("CARGO_BIN_EXE_xtask")).args(["nightly", "-h"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    let parts = help.split("[possible values: ").nth(1).unwrap().split(']').next().unwrap();
    // The job `version` runs the matrix, each version on a separate machine.
    let jobs = [values(&text, "part"), vec!["matrix"]].concat();
    assert_eq!(jobs.into_iter().collect::<BTreeSet<_>>(), parts.split(", ").collect());
}

#[test]
fn labels_that_forms_give_exist() {
    let labels: Value =
        serde_json::from_str(&fs::read_to_string(github().join("labels.json")).unwrap()).unwrap();
    let known: Vec<&str> =
        labels.as_array().unwrap().iter().filter_map(|label| label["name"].as_str()).collect();
    let mut forms = files("ISSUE_TEMPLATE");
    forms.push(("dependabot.yml".into(), fs::read_to_string(github().join("dependabot.yml")).unwrap()));
    let mut given = 0;
    for (path, text) in forms {
        for label in values(&text, "labels") {
            given += 1;
            assert!(known.contains(&label), "{}: labels.json has no {label:?}", path.display());
        }
    }
    assert!(given > 4, "the forms were not found");
}
