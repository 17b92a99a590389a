//! Tests that alerts, runbooks and dashboards are up to date, and that each alert fires exactly when it should.

#![allow(clippy::unwrap_used, reason = "a file that cannot be read fails the test")]

#[path = "observability/alert_case.rs"]
mod alert_case;
#[path = "observability/dashboard_checks.rs"]
mod dashboard_checks;

use alert_case::AlertCase;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use taintward_admission::metrics::WebhookMetrics;
use taintward_controller::metrics::{
    BuildInfo, ControllerMetrics, Exposition, MonoClock, Registry, describe, register_client,
};
use taintward_core::node_lifecycle::{TaintRate, ZoneKey, ZoneLabels, ZoneReport, ZoneState};
use taintward_core::time::{Mono, Wall};
use taintward_envtest::binaries;
use xtask::observability::{Alert, CHART_DASHBOARDS, DASHBOARDS, RUNBOOKS, alerts, files, rule_group};

const REMEDY: &str = "run cargo xtask observability";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

#[test]
fn the_files_match_the_definitions_and_there_are_no_others() {
    let made = files();
    for (path, text) in &made {
        let kept = fs::read_to_string(root().join(path)).unwrap_or_default();
        assert!(kept == *text, "{path} differs from its definition; {REMEDY}");
    }
    for folder in [RUNBOOKS, DASHBOARDS, CHART_DASHBOARDS] {
        let there = fs::read_dir(root().join(folder)).unwrap();
        let strangers: Vec<String> = there
            .map(|file| format!("{folder}/{}", file.unwrap().file_name().to_str().unwrap()))
            .filter(|path| !made.contains_key(path))
            .collect();
        assert_eq!(strangers, [""; 0], "files without a definition");
    }
}

#[test]
fn each_alert_has_a_page_a_row_of_the_index_and_a_case() {
    let alerts = alerts();
    let names: BTreeSet<&str> = alerts.iter().map(|alert| alert.name).collect();
    assert_eq!(names.len(), alerts.len(), "two alerts have one name");
    let cases: Vec<AlertCase> = alert_case::all();
    assert_eq!(cases.iter().map(|case| case.alert).collect::<BTreeSet<_>>(), names);
    assert_eq!(cases.len(), alerts.len());
    let index = fs::read_to_string(root().join(RUNBOOKS).join("README.md")).unwrap();
    for alert in &alerts {
        assert!(root().join(alert.page()).is_file(), "{} has no page; {REMEDY}", alert.name);
        assert!(index.contains(&format!("]({}.md)", alert.name)), "{} is not in the index", alert.name);
    }
}

/// The names of all metrics of both programs, as samples and expressions have them.
fn registered() -> BTreeSet<String> {
    let (version, mode, started) = ("", "", Wall::from_secs(0));
    let about = BuildInfo { version, mode, lease: String::new(), started, host: String::new() };
    let clock: MonoClock = Arc::new(|| Mono::from_secs(0));
    let run = ControllerMetrics::new(Arc::clone(&clock), &about);
    // Series of zones begin with the first zone.
    let zone = &ZoneKey::of(ZoneLabels::default());
    let (state, rate) = (ZoneState::Normal, TaintRate::ZERO);
    let empty = ZoneReport {
        zone,
        size: 0,
        unhealthy: 0,
        suspects: 0,
        excluded: 0,
        state,
        rate,
        waiting: 0,
        evictions: 0,
    };
    run.node_health.zones([empty].into_iter());
    let run = run.render(Exposition::Prometheus);
    let mut registry = Registry::default();
    register_client(&mut registry, &clock, "");
    let webhook =
        WebhookMetrics::new(registry, clock, version, started, &["brake"]).render(Exposition::Prometheus);
    describe(&(run + &webhook)).into_iter().map(|metric| metric.name).collect()
}

/// The words of a text that have the form of names of metrics.
fn metrics_in(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| {
        let starts = [
            "taintward_",
            "leader_election_",
            "rest_client_",
            "taint_eviction_",
            "node_collector_",
            "workqueue_",
        ];
        starts.iter().any(|start| word.starts_with(start))
    })
}

#[test]
fn expressions_and_pages_name_metrics_that_are_registered() {
    let registered = registered();
    for alert in alerts() {
        assert_ne!(metrics_in(&alert.expr).count(), 0, "{} has an expression of no metric", alert.name);
        let page = fs::read_to_string(root().join(alert.page())).unwrap();
        for metric in metrics_in(&page) {
            assert!(registered.contains(metric), "{} names {metric}, which is not registered", alert.name);
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
    let name = alert.name;
    let check = |seconds: u32, samples: &str| {
        format!(
            "      - expr: count(ALERTS{{alertname=\"{name}\",alertstate=\"firing\"}})\n        \
             eval_time: {seconds}s\n        exp_samples: {samples}\n"
        )
    };
    let fires = check(alert.hold_seconds - STEP, "[]") + &check(END, "[{labels: '{}', value: 1}]");
    let (fires_with, quiet_with) = (series(&case.fires), series(&case.quiet));
    let quiet = check(END, "[]");
    format!(
        "  - name: {name} fires\n    interval: {STEP}s\n    input_series:\n{fires_with}    promql_expr_test:\n{fires}  \
         - name: {name} is quiet\n    interval: {STEP}s\n    input_series:\n{quiet_with}    promql_expr_test:\n{quiet}"
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
    fs::write(folder.join("rules.yaml"), rule_group(&alerts)).unwrap();
    let head = format!("rule_files: [rules.yaml]\nevaluation_interval: {STEP}s\ntests:\n");
    fs::write(folder.join("tests.yaml"), head + &tests).unwrap();
    for arguments in [["check", "rules", "rules.yaml"], ["test", "rules", "tests.yaml"]] {
        let output = Command::new(&promtool).args(arguments).current_dir(&folder).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        assert!(output.status.success(), "promtool {arguments:?}:\n{}", String::from_utf8_lossy(&said));
    }
    fs::remove_dir_all(&folder).unwrap();
}
