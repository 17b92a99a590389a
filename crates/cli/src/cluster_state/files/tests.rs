//! Tests the snapshots of files and clusters, and the reported gaps.

use super::FileReader;
use crate::manifest::files::ManifestFile;
use jiff::Timestamp;
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
    let wish = &snapshot.shape(pod).spec;
    assert_eq!((pod.name.as_str(), pod.ready, pod.exemption), ("shop/p", true, None));
    assert_eq!((wish.load.requested["cpu"], wish.load.requested["memory"]), (1_500, 1 << 30));
    assert_eq!((wish.priority, wish.tolerations[0].seconds), (7, Some(60)));
    assert_eq!(wish.node_selector["disk"], "ssd".into());
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
    let told = |text: &str| {
        let (snapshot, gaps) = snapshot(text);
        (format!("{:?} {:?} {:?}", snapshot.pods(), snapshot.nodes(), snapshot.shapes()), gaps)
    };
    assert_eq!(told(&yaml), told(json));
    let wrong = json.replace(r#""Exists"}"#, r#""Exists", "tolerationSeconds": "x"}"#);
    assert!(told(&wrong).1[0].starts_with("x.yaml:3:9: Pod p: spec.tolerations[0]"), "{:?}", told(&wrong).1);
}

/// A list of 600 nodes, in pages; the server forgets the list's version while it is read.
#[tokio::test]
async fn a_list_continues_after_its_version_has_expired() {
    use std::time::Duration;
    use taintward_kube::paged_list::{ListRequest, pages};
    use taintward_sandbox::world::{World, WorldSettings};
    let world = World::new(&WorldSettings { nodes: 600, roles: Vec::new(), ..WorldSettings::default() });
    let client = crate::sandbox::kube_client(world.server());
    let listing = ListRequest { group: "", plural: "nodes", namespace: "", selector: "", fields: "" };
    let mut names = std::collections::BTreeSet::new();
    let mut told = 0;
    let mut add = |object: &[u8]| {
        let object: serde_json::Value = serde_json::from_slice(object).map_err(|why| why.to_string())?;
        names.insert(object["metadata"]["name"].to_string());
        told += 1;
        if told == 100 {
            let name = serde_json::json!({"metadata": {"name": "a-namespace"}});
            world.create("", "namespaces", "", name);
            world.server().store().compact();
        }
        Ok(())
    };
    pages(&client, listing, Duration::from_secs(30), &mut add).await.expect("the list continues");
    assert_eq!((told, names.len()), (600, 600));
}
