//! Tests a DedicatedPool from creation to deletion.

use crate::kubectl::KubectlHarness;
use crate::kubectl::admitting::{POOL, apply_pod, teams};

const TAINTS: &str = "get nodes -o jsonpath={range.items[*]}{.metadata.name}={.spec.taints[*].key};{end}";

#[test]
fn one_object_makes_nodes_a_teams_own_and_leaves_no_trace() {
    let Some(harness) = KubectlHarness::set("one_object_makes_nodes_a_teams_own", &["--empty"]) else {
        return;
    };
    teams(&harness);
    harness.until("get nodes", |message| message.matches(" Ready").count() == 6);
    harness.until(TAINTS, |message| message == "n1=;n2=;n3=;n4=;n5=;n6=;");
    let before = harness.ok("get nodes n1 n2 -o jsonpath={.items[*].metadata.labels}");
    harness.file("pool.yaml", POOL);
    harness.ok("apply -f pool.yaml");
    harness.ok("wait --for=condition=Ready dpool/team-a --timeout=60s");
    harness.until(TAINTS, |message| message == "n1=example.com/pool;n2=example.com/pool;n3=;n4=;n5=;n6=;");
    assert_eq!(
        harness.ok("get nodes -l node-restriction.kubernetes.io/pool.team-a=true -o name"),
        "node/n1\nnode/n2\n"
    );
    harness.ok(&apply_pod(&harness, "mine", "team-a", ""));
    harness.ok("wait --for=condition=Ready -n team-a pod/mine --timeout=60s");
    let node = harness.ok("get pod -n team-a mine -o jsonpath={.spec.nodeName}");
    assert!(["n1", "n2"].contains(&node.as_str()), "{node}");
    harness.ok(&apply_pod(&harness, "theirs", "team-b", ""));
    harness.ok("wait --for=condition=Ready -n team-b pod/theirs --timeout=60s");
    let node = harness.ok("get pod -n team-b theirs -o jsonpath={.spec.nodeName}");
    assert!(!["n1", "n2"].contains(&node.as_str()), "{node}");
    harness.until("get dpool team-a --no-headers", |message| {
        message.split_whitespace().collect::<Vec<_>>()[3..7] == ["2", "1", "0", "True"]
    });
    harness.ok_with(&[
        "patch",
        "dpool",
        "team-a",
        "--type=merge",
        "-p",
        r#"{"spec":{"nodes":{"names":["n2","n3"]}}}"#,
    ]);
    harness.until(TAINTS, |message| message == "n1=;n2=example.com/pool;n3=example.com/pool;n4=;n5=;n6=;");
    harness.ok("delete dpool team-a --timeout=60s");
    harness.until(TAINTS, |message| message == "n1=;n2=;n3=;n4=;n5=;n6=;");
    assert_eq!(harness.ok("get nodes n1 n2 -o jsonpath={.items[*].metadata.labels}"), before);
    assert_eq!(harness.ok("get nodes -l node-restriction.kubernetes.io/pool.team-a -o name"), "");
    assert!(!harness.ok("get nodes -o yaml").contains("taintward.io/pool"));
}
