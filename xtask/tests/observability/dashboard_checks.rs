//! Tests that dashboards name metrics and labels that exist, that Grafana can lay them out, and that Prometheus accepts them.

use super::exposed::Exposed;
use super::root;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;
use taintward_envtest::binaries;
use xtask::observability::{dashboards, panel_queries};

/// The dashboards by name.
fn kept() -> BTreeMap<String, Value> {
    dashboards(root()).unwrap()
}

/// The expressions of a dashboard, including those of its variables.
fn expressions(dashboard: &Value) -> Vec<&str> {
    let variables = dashboard["templating"]["list"].as_array().unwrap().iter();
    let values = variables.filter_map(|variable| variable["definition"].as_str());
    let series = values.map(|query| {
        let inner = query.strip_prefix("label_values(").unwrap();
        inner.rsplit_once(", ").unwrap().0
    });
    panel_queries(dashboard).map(|(_, target)| target["expr"].as_str().unwrap()).chain(series).collect()
}

#[test]
fn dashboards_name_metrics_and_labels_that_exist() {
    let exposed = Exposed::by_both_programs();
    let all = kept();
    assert!(all.len() >= 4, "the dashboards were not found");
    for (uid, dashboard) in &all {
        for expr in expressions(dashboard) {
            exposed.assert_names_exist(uid, expr);
        }
        for (panel, target) in panel_queries(dashboard) {
            let [expr, legend] = ["expr", "legendFormat"].map(|key| target[key].as_str().unwrap());
            for label in shown_labels(legend) {
                assert!(
                    exposed.has_label(expr, label),
                    "{uid}, {}: no metric has the label {label}",
                    panel["title"]
                );
            }
        }
    }
}

/// Left, top, right and bottom.
fn edges(panel: &Value) -> [u64; 4] {
    let place = &panel["gridPos"];
    let [x, y, w, h] = ["x", "y", "w", "h"].map(|key| place[key].as_u64().unwrap());
    [x, y, x + w, y + h]
}

#[test]
fn panels_have_unique_ids_and_do_not_overlap() {
    for (uid, dashboard) in kept() {
        let panels = dashboard["panels"].as_array().unwrap();
        let ids: BTreeSet<u64> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
        assert_eq!(ids.len(), panels.len(), "{uid}: two panels have one id");
        for (index, one) in panels.iter().enumerate() {
            let [left, top, right, bottom] = edges(one);
            assert!(
                left < right && right <= 24 && top < bottom,
                "{uid}: {} is out of the grid",
                one["title"]
            );
            for other in &panels[index + 1..] {
                let [other_left, other_top, other_right, other_bottom] = edges(other);
                let apart =
                    right <= other_left || other_right <= left || bottom <= other_top || other_bottom <= top;
                assert!(apart, "{uid}: {} and {} overlap", one["title"], other["title"]);
            }
        }
    }
}

#[test]
fn dashboards_have_everything_that_grafana_needs_and_panels_have_descriptions() {
    for (uid, dashboard) in kept() {
        assert_eq!((dashboard["uid"].as_str(), dashboard["schemaVersion"].as_u64()), (Some(&*uid), Some(39)));
        let variables = dashboard["templating"]["list"].as_array().unwrap();
        let names: Vec<&str> = variables.iter().map(|variable| variable["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["datasource", "namespace", "job"]);
        let rows = dashboard["panels"].as_array().unwrap().iter();
        for panel in rows.filter(|panel| panel["type"] != "row") {
            let title = &panel["title"];
            assert_ne!(panel["description"].as_str().unwrap(), "", "{uid}: {title} has no description");
            assert_ne!(panel["targets"].as_array().unwrap().len(), 0, "{uid}: {title} shows nothing");
            assert_eq!(panel["datasource"]["uid"], "${datasource}", "{uid}: {title}");
            for target in panel["targets"].as_array().unwrap() {
                assert_by_shown_labels(&uid, target);
            }
        }
    }
}

fn shown_labels(legend: &str) -> impl Iterator<Item = &str> {
    legend.split("{{").skip(1).map(|rest| rest.split_once("}}").unwrap().0)
}

/// A legend shows labels that the expression keeps.
fn assert_by_shown_labels(uid: &str, target: &Value) {
    let [expr, legend] = ["expr", "legendFormat"].map(|key| target[key].as_str().unwrap());
    let kept = expr.split_once("by (").map(|(_, rest)| rest.split_once(')').unwrap().0);
    for label in shown_labels(legend) {
        // An expression that aggregates nothing keeps all labels.
        let shown = kept.is_none_or(|kept| kept.split(", ").any(|name| name == label));
        assert!(shown, "{uid}: the legend shows {label}, which {expr} drops");
    }
}

#[test]
fn promtool_accepts_each_expression_of_the_dashboards() {
    const TEST: &str = "promtool_accepts_each_expression_of_the_dashboards";
    let Some(promtool) = binaries::PROMTOOL.for_test(TEST) else { return };
    let all = kept();
    let expressions: Vec<&str> = all.values().flat_map(expressions).collect();
    let rules: String = expressions.iter().enumerate().map(|(index, expr)| rule(index, expr)).collect();
    let accepted = check(&promtool, "all", &rules);
    let found = format!("{} rules found", expressions.len());
    assert!(accepted.0 && accepted.1.contains(&found), "promtool does not say {found}:\n{}", accepted.1);
    let broken = check(&promtool, "broken", &rule(0, "sum by (rate("));
    assert!(!broken.0, "promtool accepts anything:\n{}", broken.1);
}

/// An expression as a rule, with values instead of Grafana's variables.
fn rule(index: usize, expr: &str) -> String {
    let expr = expr.replace("$__rate_interval", "5m").replace("$namespace", ".*").replace("$job", ".*");
    assert!(!expr.contains('$'), "a variable that no dashboard has: {expr}");
    format!("  - record: dashboard:expression:{index}\n    expr: '{}'\n", expr.replace('\'', "''"))
}

/// Whether promtool accepts rules, and its output.
fn check(promtool: &Path, name: &str, rules: &str) -> (bool, String) {
    let file = std::env::temp_dir().join(format!("taintward-dashboards-{name}-{}.yaml", std::process::id()));
    fs::write(&file, format!("groups:\n- name: dashboards\n  rules:\n{rules}")).unwrap();
    let output = Command::new(promtool).args(["check", "rules"]).arg(&file).output().unwrap();
    fs::remove_file(&file).unwrap();
    let message = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&message).into_owned())
}
