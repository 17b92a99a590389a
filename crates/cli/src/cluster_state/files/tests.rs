//! Tests the snapshots of files and clusters, and the reported gaps.

use super::FileReader;
use crate::manifest::files::ManifestFile;
use crate::manifest::tests::{Spelling, spelled};
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};
use taintward_core::cluster_snapshot::ClusterSnapshot;
use taintward_core::toleration_matching::NumericOperators;
use taintward_core::verdict::EvictionExemption;

/// A snapshot of a text, at 2026-11-21T14:00:00Z, and the errors of reading it.
pub(crate) fn snapshot(text: &str) -> (ClusterSnapshot, Vec<String>) {
    let as_of: Timestamp = "2026-11-21T14:00:00Z".parse().expect("it is a time");
    let mut texts = FileReader::new(Some(as_of), NumericOperators::Off);
    texts.take(ManifestFile { name: "x.yaml".to_owned(), text: Ok(text.to_owned()) });
    let state = texts.finish("x.yaml".to_owned());
    (state.snapshot, state.gaps.iter().map(ToString::to_string).collect())
}

const NODE: &str = "{apiVersion: v1, kind: Node, metadata: {name: n1, uid: u1}}\n---\n";

fn pod(fields: &str) -> String {
    format!(
        "{NODE}{{apiVersion: v1, kind: Pod, metadata: {{name: p, namespace: shop, uid: u2}}, {fields}}}\n"
    )
}

#[test]
fn a_pod_is_read_as_the_controller_reads_it() {
    let text = pod("spec: {nodeName: n1, priority: 7, nodeSelector: {disk: ssd}, \
         tolerations: [{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 60}], \
         containers: [{resources: {requests: {cpu: 1, memory: 1Gi}}}, {resources: {requests: {cpu: 500m}}}]}, \
         status: {phase: Running, startTime: '2026-11-21T13:00:00Z', conditions: [{type: Ready, status: 'True'}]}");
    let (snapshot, gaps) = snapshot(&text);
    assert_eq!(gaps, [""; 0]);
    let pod = &snapshot.pods()[0];
    let spec = &snapshot.shape(pod).spec;
    assert_eq!((pod.name.as_str(), pod.ready, pod.exemption), ("shop/p", true, None));
    assert_eq!((spec.load.requested["cpu"], spec.load.requested["memory"]), (1_500, 1 << 30));
    assert_eq!((spec.priority, spec.tolerations[0].seconds), (7, Some(60)));
    assert_eq!(spec.node_selector["disk"], "ssd".into());
}

#[test]
fn pods_without_a_node_are_counted() {
    for (fields, expected) in [
        ("spec: {nodeName: n1}, status: {phase: Failed}", EvictionExemption::Finished),
        ("spec: {nodeName: n1}, status: {}", EvictionExemption::Mirror),
    ] {
        let text = pod(fields).replace(
            "uid: u2}",
            match expected {
                EvictionExemption::Mirror => "uid: u2, annotations: {kubernetes.io/config.mirror: x}}",
                _ => "uid: u2}",
            },
        );
        assert_eq!(snapshot(&text).0.pods()[0].exemption, Some(expected), "{text}");
    }
}

#[test]
fn invalid_objects_are_skipped_and_reported_with_their_position() {
    let wrong = [
        ("spec: {nodeName: n1, tolerations: [{key: a, tolerationSeconds: soon}]}", "tolerationSeconds"),
        ("spec: {nodeName: n1, containers: [{resources: {requests: {cpu: much}}}]}", "is not a quantity"),
        ("spec: {nodeName: [n1]}", "it is skipped"),
    ];
    for (fields, why) in wrong {
        let (snapshot, gaps) = snapshot(&pod(fields));
        assert_eq!(snapshot.pods().len(), 0, "{fields}");
        assert!(
            gaps.len() == 1 && gaps[0].starts_with("x.yaml:3:1: Pod p:") && gaps[0].contains(why),
            "{gaps:?}"
        );
    }
}

#[test]
fn files_of_two_clusters_are_reported() {
    let text = format!("{NODE}{{apiVersion: v1, kind: Node, metadata: {{name: n1, uid: another}}}}\n");
    let (_, gaps) = snapshot(&text);
    assert!(gaps[0].contains("two clusters"), "{gaps:?}");
    let (_, gaps) = snapshot(&format!("{NODE}{NODE}"));
    assert_eq!(gaps, [""; 0], "the same again is the same");
}

#[test]
fn pods_on_missing_nodes_are_reported() {
    let (snapshot, gaps) = snapshot(&pod("spec: {nodeName: n2}"));
    assert_eq!(snapshot.lost().len(), 1);
    assert_eq!(gaps, ["x.yaml has no node n2, so its pod is not judged: shop/p"]);
}

#[test]
fn a_budgets_own_count_is_used_if_it_is_of_this_generation() {
    let budget = |status: &str| {
        format!(
            "{NODE}{{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {{name: b, namespace: shop, generation: 2}}, \
             spec: {{maxUnavailable: 30%, selector: {{matchLabels: {{app: web}}}}}}, status: {status}}}\n"
        )
    };
    let of = |status| {
        snapshot(&budget(status)).0.budgets()[0].status.map(|status| (status.healthy, status.desired))
    };
    assert_eq!(
        of("{observedGeneration: 2, currentHealthy: 3, desiredHealthy: 2, expectedPods: 3}"),
        Some((3, 2))
    );
    assert_eq!(of("{observedGeneration: 1, currentHealthy: 3, desiredHealthy: 2, expectedPods: 3}"), None);
    assert_eq!(of("{}"), None);
}

#[test]
fn json_of_kubectl_is_the_same_as_yaml() {
    let yaml = pod("spec: {nodeName: n1, tolerations: [{key: a, operator: Exists}]}");
    let json = r#"{"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "uid": "u1"}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "shop", "uid": "u2"},
         "spec": {"nodeName": "n1", "tolerations": [{"key": "a", "operator": "Exists"}]}}]}"#;
    assert_eq!(described(&yaml), described(json));
    let wrong = json.replace(r#""Exists"}"#, r#""Exists", "tolerationSeconds": "x"}"#);
    assert!(
        described(&wrong).1[0].starts_with("x.yaml:3:9: Pod p: spec.tolerations[0]"),
        "{:?}",
        described(&wrong).1
    );
}

fn described(text: &str) -> (String, Vec<String>) {
    let (snapshot, gaps) = snapshot(text);
    (
        format!(
            "{:?} {:?} {:?} {:?}",
            snapshot.pods(),
            snapshot.nodes(),
            snapshot.shapes(),
            snapshot.budgets()
        ),
        gaps,
    )
}

proptest! {
    /// As dumps of client libraries and of kubectl are: lists whose items have no kind, and lists in lists.
    #[test]
    fn any_spelling_of_a_cluster_is_the_same_state(order: u64, seconds in prop::option::of(0..900), is_nested: bool) {
        let tolerations = json!([{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}]);
        let pod = json!({
            "metadata": {"name": "p", "namespace": "shop", "uid": "u2", "labels": {"app": "web", "tier": "a"}},
            "spec": {"nodeName": "n1", "priority": 7, "tolerations": tolerations},
            "status": {"phase": "Running", "startTime": "2026-11-21T13:00:00Z"},
        });
        let budget = json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b", "namespace": "shop"},
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}},
        });
        let node = json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "uid": "u1"},
            "spec": {"taints": [{"key": "a", "effect": "NoExecute", "timeAdded": "2026-11-21T13:59:00Z"}]},
        });
        let pods = json!({"apiVersion": "v1", "kind": "PodList", "metadata": {"resourceVersion": "1"}, "items": [pod.clone()]});
        let typed = |value: &Value| {
            let mut typed = value.clone();
            typed["apiVersion"] = "v1".into();
            typed["kind"] = "Pod".into();
            typed
        };
        let plain = [node.to_string(), typed(&pod).to_string(), budget.to_string()].join("\n---\n");
        let documents = match is_nested {
            true => vec![json!({"apiVersion": "v1", "kind": "List", "items": [node, pods, budget]})],
            false => vec![node, pods, budget],
        };
        let expected = described(&plain);
        prop_assert_eq!(expected.1.len(), 0, "{:?}", &expected.1);
        for spelling in [Spelling::Json, Spelling::PrettyJson, Spelling::Block, Spelling::Flow] {
            let separator = if matches!(spelling, Spelling::Json | Spelling::PrettyJson) { "" } else { "---\n" };
            let texts: Vec<String> = documents.iter().map(|one| spelled(one, spelling, order)).collect();
            let text = texts.join(separator);
            prop_assert_eq!(described(&text), expected.clone(), "{}", text);
        }
    }
}

#[test]
fn the_last_of_repeated_fields_counts_in_json_as_in_yaml() {
    let tolerations = |seconds: u32| {
        format!(
            r#""tolerations": [{{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": {seconds}}}]"#
        )
    };
    let object = |list: &str| {
        format!(
            r#"{{"apiVersion": "v1", "kind": "Pod", "metadata": {{"name": "p", "namespace": "shop", "uid": "u"}},
               "spec": {{"nodeName": "n1", {list}}}}}"#
        )
    };
    let list = |pod: &str| {
        let node = r#"{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "uid": "u1"}}"#;
        format!(r#"{{"apiVersion": "v1", "kind": "List", "items": [{node}, {pod}]}}"#)
    };
    let last = described(&list(&object(&tolerations(60))));
    assert_eq!(last.1, [""; 0]);
    let twice = object(&format!("{}, {}", tolerations(5), tolerations(60)));
    assert_eq!(described(&list(&twice)), last);
    assert_eq!(described(&format!("{NODE}{twice}")), last);
    let kind =
        list(&object(&tolerations(60)).replace(r#""kind": "Pod""#, r#""kind": "Node", "kind": "Pod""#));
    assert_eq!(described(&kind), last);
    assert_ne!(described(&list(&object(&tolerations(5)))), last);
}

#[test]
fn lists_inside_lists_are_read_to_a_depth() {
    let list = |inner: &str| format!(r#"{{"kind": "List", "apiVersion": "v1", "items": [{inner}]}}"#);
    let node = r#"{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "uid": "u1"}}"#;
    let deep = |levels: usize| (0..levels).fold(node.to_owned(), |inner, _| list(&inner));
    for levels in [1, 2, 5, 30] {
        assert_eq!(snapshot(&deep(levels)).0.nodes().len(), 1, "{levels}");
    }
    assert_eq!(snapshot(&deep(20_000)).0.nodes().len(), 0);
}

/// A list of 600 nodes, in pages; the server forgets the list's version while it is read.
#[tokio::test]
async fn a_list_continues_after_its_version_has_expired() {
    use std::time::Duration;
    use taintward_kube::api::paged_list::{ListRequest, pages};
    use taintward_sandbox::world::{World, WorldSettings};
    let world = World::new(&WorldSettings { nodes: 600, roles: Vec::new(), ..WorldSettings::default() });
    let client = crate::sandbox::kube_client(world.server());
    let listing = ListRequest::all("", "nodes");
    let mut names = std::collections::BTreeSet::new();
    let mut count = 0;
    let mut add = |object: &[u8]| {
        let object: Value = serde_json::from_slice(object)?;
        names.insert(object["metadata"]["name"].to_string());
        count += 1;
        if count == 100 {
            let name = serde_json::json!({"metadata": {"name": "a-namespace"}});
            world.create("", "namespaces", "", name);
            world.server().store().compact();
        }
        Ok(())
    };
    pages(&client, listing, Duration::from_secs(30), &mut add).await.expect("the list continues");
    assert_eq!((count, names.len()), (600, 600));
}
