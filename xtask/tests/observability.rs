//! Tests that alerts and dashboards name metrics and labels that exist, that each alert has a runbook page, and that it fires
//! exactly when it should.

#![allow(clippy::unwrap_used, reason = "a file that cannot be read fails the test")]

#[path = "observability/alert_case.rs"]
mod alert_case;
#[path = "observability/dashboard_checks.rs"]
mod dashboard_checks;
#[path = "observability/exposed.rs"]
mod exposed;

use alert_case::AlertCase;
use exposed::Exposed;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use taintward_envtest::binaries;
use xtask::observability::{ALERTS, Alert, rule_file};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn alerts() -> Vec<Alert> {
    xtask::observability::alerts(root()).unwrap()
}

#[test]
fn each_alert_has_a_page_a_row_of_the_index_and_a_case() {
    const RUNBOOKS: &str = "docs/runbooks";
    let alerts = alerts();
    let names: BTreeSet<&str> = alerts.iter().map(|alert| &*alert.name).collect();
    assert_eq!(names.len(), alerts.len(), "two alerts have one name");
    let cases: Vec<AlertCase> = alert_case::all();
    assert_eq!(cases.iter().map(|case| case.alert).collect::<BTreeSet<_>>(), names);
    assert_eq!(cases.len(), alerts.len());
    let index = fs::read_to_string(root().join(RUNBOOKS).join("README.md")).unwrap();
    for Alert { name, expr, hold, labels, annotations } in &alerts {
        let [severity, summary] = [&labels["severity"], &annotations["summary"]];
        assert!(["critical", "warning"].contains(&severity.as_str()), "{name} has the severity {severity}");
        let url = &annotations["runbook_url"];
        assert_eq!(*url, format!("{RUNBOOKS}/{name}.md"));
        let page = fs::read_to_string(root().join(url)).unwrap_or_default();
        let hold = hold.trim_end_matches('s');
        let opening = format!(
            "# {name}\n\n{summary}\n\nSeverity: {severity}. It fires when this expression has held for {hold} s:\n\n\
             ```promql\n{expr}\n```\n\n## Meaning\n"
        );
        assert!(
            page.starts_with(&opening),
            "{url} does not begin with the alert as {ALERTS} has it:\n{opening}"
        );
        for section in ["Impact", "Diagnosis", "What to do", "When to silence"] {
            assert!(page.contains(&format!("\n## {section}\n")), "{url} has no section {section:?}");
        }
        let row = format!("| [{name}]({name}.md) | {severity} | {summary} |");
        assert!(index.lines().any(|line| line == row), "{RUNBOOKS}/README.md has no row {row}");
    }
    let pages = fs::read_dir(root().join(RUNBOOKS)).unwrap().count();
    assert_eq!(pages, alerts.len() + 1, "a page in {RUNBOOKS} belongs to no alert");
}

#[test]
fn alerts_and_their_pages_name_metrics_and_labels_that_exist() {
    let exposed = Exposed::by_both_programs();
    for Alert { name, expr, annotations, .. } in alerts() {
        exposed.assert_names_exist(&name, &expr);
        let described = &annotations["description"];
        for rest in described.split("$labels.").skip(1) {
            let label = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap();
            assert!(exposed.has_label(&expr, label), "{name}: no series of {expr} has the label {label}");
        }
        let page = fs::read_to_string(root().join(&annotations["runbook_url"])).unwrap();
        for metric in exposed::metrics_in(&page) {
            assert!(
                exposed.labels(metric).is_some(),
                "the page of {name} names {metric}, which does not exist"
            );
        }
    }
}

/// promtool's tests of an alert: it waits as long as it should, then fires; it stays silent just below the limit.
fn unit_tests(alert: &Alert, case: &AlertCase) -> String {
    let series = |all: &[(String, &str)]| -> String {
        let line = |(name, values): &(String, &str)| {
            format!("      - series: '{name}'\n        values: '{values}'\n")
        };
        all.iter().map(line).collect()
    };
    let name = &alert.name;
    let check = |seconds: u32, samples: &str| {
        format!(
            "      - expr: count(ALERTS{{alertname=\"{name}\",alertstate=\"firing\"}})\n        \
             eval_time: {seconds}s\n        exp_samples: {samples}\n"
        )
    };
    let fires = check(alert.hold_seconds().unwrap() - STEP, "[]") + &check(END, "[{labels: '{}', value: 1}]");
    let (fires_with, quiet_with) = (series(&case.fires), series(&case.sanitized));
    let sanitized = check(END, "[]");
    format!(
        "  - name: {name} fires\n    interval: {STEP}s\n    input_series:\n{fires_with}    promql_expr_test:\n{fires}  \
         - name: {name} is quiet\n    interval: {STEP}s\n    input_series:\n{quiet_with}    promql_expr_test:\n{sanitized}"
    )
}

/// The seconds between two scrapes, and from the first one to the end.
const STEP: u32 = 30;
const END: u32 = 1800;

#[test]
fn promtool_accepts_the_rules_and_each_alert_fires_exactly_when_it_should() {
    const TEST: &str = "promtool_accepts_the_rules_and_each_alert_fires_exactly_when_it_should";
    let Some(promtool) = binaries::PROMTOOL.for_test(TEST) else { return };
    let (alerts, cases) = (alerts(), alert_case::all());
    let tests: String = alerts
        .iter()
        .map(|alert| unit_tests(alert, cases.iter().find(|case| case.alert == alert.name).unwrap()))
        .collect();
    let folder = std::env::temp_dir().join(format!("taintward-alerts-test-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("rules.yaml"), rule_file(&alerts)).unwrap();
    let head = format!("rule_files: [rules.yaml]\nevaluation_interval: {STEP}s\ntests:\n");
    fs::write(folder.join("tests.yaml"), head + &tests).unwrap();
    for arguments in [["check", "rules", "rules.yaml"], ["test", "rules", "tests.yaml"]] {
        let output = Command::new(&promtool).args(arguments).current_dir(&folder).output().unwrap();
        let message = [output.stdout, output.stderr].concat();
        assert!(output.status.success(), "promtool {arguments:?}:\n{}", String::from_utf8_lossy(&message));
    }
    fs::remove_dir_all(&folder).unwrap();
}
