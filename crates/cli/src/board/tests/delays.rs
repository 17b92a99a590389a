//! Tests the messages about pods that are delayed or held.

use super::{
    HEADING, PODS_MAX, START, after, applied, change, decisions, followed, listed, node_with, pod_on,
    whole_state,
};
use crate::board::cluster_model::{ClusterModel, ModelChange};
use crate::eviction_delays::DueDelays;
use serde_json::json;
use testkit::ObjectExt as _;

#[test]
fn a_delayed_pod_is_not_overdue_until_nothing_delays_it() {
    let mut model = followed(&["web", "other"]);
    model.nodes(applied(&node_with("n1", "True", true)), after(0));
    change(&mut model, 0).unwrap();
    model.nodes(applied(&node_with("n1", "True", true)), after(20));
    model.pods(applied(&pod_on("n1", "web")), after(20));
    change(&mut model, 20);
    model.set_delays(DueDelays::with_budget("web"), "", after(22));
    let delayed = change(&mut model, 22).unwrap();
    assert_eq!(delayed["pods"], json!([["web", "shop", "web", "n1", 3, START + 20, "k=v:NoExecute"]]));
    assert_eq!(decisions(&delayed), [("Delayed", "shop/web", "has been due for 2s, and waits")]);
    assert_eq!(delayed["limits"][0]["kind"], "delayed");
    let late = change(&mut model, 26).unwrap();
    assert_eq!(decisions(&late), [("Overdue", "shop/other", "is overdue: its deadline was 6s ago")]);
    model.set_delays(DueDelays::with_budget("web"), "", after(27));
    assert_eq!(change(&mut model, 27), None, "it is delayed by the same");
    model.set_delays(DueDelays::default(), "", after(30));
    let freed = change(&mut model, 30).unwrap();
    assert_eq!(freed["pods"], json!([["web", "shop", "web", "n1", 2, START + 20, "k=v:NoExecute"]]));
    assert_eq!(decisions(&freed), [("Overdue", "shop/web", "is overdue: its deadline was 10s ago")]);
    assert_eq!(freed["limits"], json!([]));
}

#[test]
fn a_hold_that_a_policy_forbids_delays_no_countdown() {
    let mut model = ClusterModel::new(PODS_MAX);
    model.nodes(listed(&[node_with("n1", "True", true)]), after(1));
    let hold = r#"{"action":"hold","since":"2026-01-01T00:00:01Z","until":"2026-01-01T00:01:01Z"}"#;
    let held = pod_on("n1", "web").with("metadata.annotations", json!({"taintward.io/hold": hold}));
    model.pods(listed(&[held]), after(1));
    assert_eq!(model.change(after(1), HEADING, false), ModelChange::WholeState);
    let pods = |until: i64| json!([["web", "shop", "web", "n1", 1, START + until, "k=v:NoExecute"]]);
    assert_eq!(whole_state(&model)["pods"], pods(80));
    assert!(model.due_or_held(after(1)).0);
    model.set_delays(DueDelays::with_forbidden_holds("web"), "", after(2));
    assert_eq!(change(&mut model, 2).unwrap()["pods"], pods(20));
}
