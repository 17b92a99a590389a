//! Tests pools, policies and lint warnings with kubectl: pods that are changed, rejected or warned about.

use crate::kubectl::KubectlHarness;

pub(crate) const POOL: &str = "apiVersion: taintward.io/v1alpha1
kind: DedicatedPool
metadata: {name: team-a}
spec:
  taint: {key: example.com/pool, value: a}
  nodes: {names: [n1, n2]}
  users: {namespaceSelector: {matchLabels: {team: a}}}
  enforcement: Deny
";

const POD: &str = "apiVersion: v1
kind: Pod
metadata: {name: NAME, namespace: PLACE}
spec:
  containers: [{name: main, image: x}]
  tolerations: [TOLERATIONS]
";

const SMUGGLED: &str = "{key: example.com/pool, operator: Equal, value: a, effect: NoSchedule}";

pub(crate) fn apply_pod(harness: &KubectlHarness, name: &str, place: &str, tolerations: &str) -> String {
    let text = POD.replace("NAME", name).replace("PLACE", place).replace("TOLERATIONS", tolerations);
    let file = format!("{name}.yaml");
    harness.file(&file, &text);
    format!("apply -f {file}")
}

pub(crate) fn teams(harness: &KubectlHarness) {
    for team in ["a", "b"] {
        harness.ok(&format!("create ns team-{team}"));
        harness.ok(&format!("label ns team-{team} team={team}"));
        harness.until(&format!("get serviceaccounts -n team-{team} -o name"), |message| {
            message.contains("default")
        });
    }
}

#[test]
fn a_pool_is_an_object_like_any_other() {
    let Some(harness) = KubectlHarness::set("a_pool_is_an_object_like_any_other", &["--empty"]) else {
        return;
    };
    harness.file("pool.yaml", POOL);
    harness.contains("api-resources", &["dedicatedpools", "dpool", "taintward.io/v1alpha1", "tolpol"]);
    harness.contains("explain dedicatedpool.spec.placement", &["ENUM:", "Exclusive", "Allowed"]);
    harness.contains("explain dpool.spec.taint.key", &["A key of your own, such as example.com/pool"]);
    harness.contains("explain tolerationpolicy.spec", &["notReadySeconds", "The range of seconds that"]);
    assert_eq!(harness.ok("apply -f pool.yaml"), "dedicatedpool.taintward.io/team-a created\n");
    assert_eq!(harness.ok("apply -f pool.yaml"), "dedicatedpool.taintward.io/team-a unchanged\n");
    harness
        .contains("get dpool", &["NAME", "TAINT", "VALUE", "OFFENDERS", "team-a", "example.com/pool", "a"]);
    harness.contains("get dpool -o wide", &["PLACEMENT", "ENFORCEMENT", "Exclusive", "Deny"]);
    assert_eq!(harness.ok("get taintward -o name"), "dedicatedpool.taintward.io/team-a\n");
    harness.contains(
        "describe dpool team-a",
        &["Name:         team-a", "Kind:         DedicatedPool", "Exclusive"],
    );
    harness.file("warn.yaml", &POOL.replace("Deny", "Warn"));
    harness.fails("diff -f warn.yaml", "+  enforcement: Warn");
    assert_eq!(harness.ok("apply -f warn.yaml"), "dedicatedpool.taintward.io/team-a configured\n");
    assert_eq!(harness.ok("get dpool team-a -o jsonpath={.spec.enforcement}"), "Warn");
    let edited =
        harness.command(&["edit", "dpool", "team-a"]).env("KUBE_EDITOR", "sed -i 's/: Warn/: Off/'").output();
    assert!(!edited.unwrap().status.success(), "Off without quotes is false in YAML");
    let editor = "sed -i 's/: Exclusive/: Allowed/'";
    assert!(
        harness
            .command(&["edit", "dpool", "team-a"])
            .env("KUBE_EDITOR", editor)
            .output()
            .unwrap()
            .status
            .success()
    );
    assert_eq!(harness.ok("get dpool team-a -o jsonpath={.spec.placement}"), "Allowed");
    let patch = r#"{"spec":{"nodes":{"names":["n3"]}}}"#;
    harness.ok_with(&["patch", "dpool", "team-a", "--type=merge", "-p", patch]);
    let (done, message) = harness.run(&["patch", "dpool", "team-a", "-p", patch]);
    assert!(
        !done && message.contains("application/merge-patch+json"),
        "no strategic patches here: {message}"
    );
    assert_eq!(
        harness.ok("apply --server-side --force-conflicts -f pool.yaml"),
        "dedicatedpool.taintward.io/team-a serverside-applied\n"
    );
    harness.contains("delete dpool team-a --timeout=60s", &["dedicatedpool.taintward.io \"team-a\" deleted"]);
    harness.fails("get dpool team-a", "(NotFound)");
}

#[test]
fn an_invalid_pool_is_refused_with_the_remedy() {
    let Some(harness) = KubectlHarness::set("an_invalid_pool_is_refused_with_the_remedy", &["--empty"])
    else {
        return;
    };
    for (wrong, right, message) in [
        (
            "key: example.com/pool",
            "key: kubernetes.io/pool",
            "belongs to Kubernetes: write a key of your own",
        ),
        ("value: a}", "value: -a}", "is not a valid taint value: use at most 63"),
        ("{names: [n1, n2]}", "{}", "no node can belong to it: write names, or a selector"),
        ("Deny", "Forbid", "supported values: \"Deny\", \"Evict\", \"Warn\", \"Off\""),
        ("enforcement: Deny", "enforce: Deny", "unknown field \"spec.enforce\""),
        ("users: {", "users: {}\n  x: {", "unknown field \"spec.x\""),
        ("nodes: {", "nodse: {", "unknown field \"spec.nodse\""),
    ] {
        harness.file("wrong.yaml", &POOL.replace(wrong, right));
        harness.fails("apply -f wrong.yaml", message);
    }
    assert!(harness.ok("get dpool").contains("No resources found"));
}

#[test]
fn a_teams_pods_get_there_and_others_are_refused() {
    let Some(harness) = KubectlHarness::set("a_teams_pods_get_there_and_others_are_refused", &["--empty"])
    else {
        return;
    };
    teams(&harness);
    harness.file("pool.yaml", POOL);
    harness.ok("apply -f pool.yaml");
    harness.ok(&apply_pod(&harness, "mine", "team-a", ""));
    harness.contains("describe pod -n team-a mine", &["Tolerations:     example.com/pool=a\n"]);
    let affinity = harness.ok("get pod -n team-a mine -o jsonpath={.spec.affinity.nodeAffinity}");
    let led = r#"{"key":"node-restriction.kubernetes.io/pool.team-a","operator":"In","values":["true"]}"#;
    assert!(affinity.contains(led), "{affinity}");
    harness.fails(
        &apply_pod(&harness, "sly", "team-b", SMUGGLED),
        "admission webhook \"pods.validate.taintward.io\" denied the request: the nodes of pool team-a are for pods in namespaces \
         with team=a; toleration 0 (example.com/pool=a:NoSchedule) lets this pod onto them: remove it",
    );
    let slip = format!("{SMUGGLED}, {{key: node.kubernetes.io/notready, operator: Exists}}");
    harness.fails(
        &apply_pod(&harness, "sly", "team-b", &slip),
        "Warning: toleration 1: \"node.kubernetes.io/notready\"",
    );
    harness.fails("get pod -n team-b sly", "(NotFound)");
    let rehearsal = apply_pod(&harness, "sly", "team-b", SMUGGLED) + " --dry-run=server";
    harness.fails(&rehearsal, "denied the request");
    harness.ok(&apply_pod(&harness, "honest", "team-b", ""));
    let tolerations = harness.ok("get pod -n team-b honest -o jsonpath={.spec.tolerations}");
    assert!(!tolerations.contains("example.com/pool"), "{tolerations}");
    // A workload's pods are rejected on creation, and its events say why.
    harness.file(
        "workload.yaml",
        &format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: sly, namespace: team-b}}\nspec:\n  selector: {{matchLabels: \
             {{app: sly}}}}\n  template:\n    metadata: {{labels: {{app: sly}}}}\n    spec: {{containers: [{{name: x, image: x}}], \
             tolerations: [{SMUGGLED}]}}\n"
        ),
    );
    harness.ok("apply -f workload.yaml");
    harness.until("get events -n team-b", |message| {
        message.contains("FailedCreate") && message.contains("the nodes of pool team-a are for")
    });
    harness.ok_with(&[
        "patch",
        "dpool",
        "team-a",
        "--type=merge",
        "-p",
        r#"{"spec":{"enforcement":"Warn"}}"#,
    ]);
    let message = harness.ok(&apply_pod(&harness, "warned", "team-b", SMUGGLED));
    assert!(
        message.contains("Warning: ")
            && message.contains("pool team-a")
            && message.contains("pod/warned created"),
        "{message}"
    );
    harness.ok("delete dpool team-a --timeout=60s");
    let message = harness.ok(&apply_pod(&harness, "free", "team-b", SMUGGLED));
    assert!(!message.contains("Warning"), "{message}");
}

#[test]
fn requests_may_impersonate_another_user() {
    let Some(harness) = KubectlHarness::set("requests_may_impersonate_another_user", &["--empty"]) else {
        return;
    };
    teams(&harness);
    harness.file(
        "pool.yaml",
        &POOL.replace("namespaceSelector: {matchLabels: {team: a}}", "groups: [gpu-people]"),
    );
    harness.ok("apply -f pool.yaml");
    harness.contains("auth whoami --as jane --as-group gpu-people", &["jane", "gpu-people"]);
    let as_jane = apply_pod(&harness, "hers", "team-b", SMUGGLED) + " --as jane --as-group gpu-people";
    harness.ok(&as_jane);
    let as_john = apply_pod(&harness, "his", "team-b", SMUGGLED) + " --as john";
    harness.fails(&as_john, "denied the request");
}

#[test]
fn seconds_follow_the_policy() {
    let Some(harness) = KubectlHarness::set("seconds_follow_the_policy", &["--empty"]) else { return };
    teams(&harness);
    harness.file(
        "policy.yaml",
        "apiVersion: taintward.io/v1alpha1\nkind: TolerationPolicy\nmetadata: {name: quick}\nspec:\n  namespaceSelector: \
         {matchLabels: {team: a}}\n  notReadySeconds: 30\n  unreachableSeconds: forever\n  bounds: {least: 10}\n",
    );
    assert_eq!(harness.ok("apply -f policy.yaml"), "tolerationpolicy.taintward.io/quick created\n");
    harness.contains("get tolpol", &["PRIORITY", "NOTREADY", "UNREACHABLE", "quick", "30", "forever"]);
    harness.ok(&apply_pod(&harness, "quick", "team-a", ""));
    harness.contains("describe pod -n team-a quick", &["not-ready:NoExecute op=Exists for 30s"]);
    assert!(!harness.ok("describe pod -n team-a quick").contains("for 300s"));
    harness.ok(&apply_pod(&harness, "plain", "team-b", ""));
    harness.contains("describe pod -n team-b plain", &["not-ready:NoExecute op=Exists for 300s"]);
    harness.file(
        "hasty.yaml",
        &POD.replace("NAME", "hasty")
            .replace("PLACE, ", "PLACE")
            .replace(
                "namespace: PLACE",
                "namespace: team-a, annotations: {taintward.io/not-ready-seconds: \"1\"}",
            )
            .replace("TOLERATIONS", ""),
    );
    harness.contains("apply -f hasty.yaml", &["Warning: ", "pod/hasty created"]);
    harness.contains("describe pod -n team-a hasty", &["not-ready:NoExecute op=Exists for 10s"]);
    harness.fails("create -f policy.yaml", "(AlreadyExists)");
    harness.ok("delete tolpol quick");
}

#[test]
fn mistakes_get_warnings_and_the_last_nodes_are_kept() {
    let Some(harness) =
        KubectlHarness::set("mistakes_get_warnings_and_the_last_nodes_are_kept", &["--empty"])
    else {
        return;
    };
    teams(&harness);
    let slip = "{key: node.kubernetes.io/notready, operator: Exists, effect: NoExecute}";
    let message = harness.ok(&apply_pod(&harness, "slip", "team-a", slip));
    assert!(
        message.contains("Warning: ") && message.contains("misspelt-key") && message.contains("created"),
        "{message}"
    );
    harness.file(
        "gpu.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: gpu, namespace: team-a}\nspec:\n  containers: [{name: x, image: x, \
         resources: {limits: {example.com/gpu: 1}}}]\n",
    );
    harness.ok("apply -f gpu.yaml");
    harness.contains("describe pod -n team-a gpu", &["example.com/gpu:NoSchedule op=Exists"]);
    harness.until("get nodes", |message| message.matches(" Ready").count() == 6);
    harness.ok("taint nodes n1 n2 n3 oops=1:NoExecute");
    harness.fails(
        "taint nodes n4 oops=1:NoExecute",
        "admission webhook \"nodes.validate.taintward.io\" denied the request: oops=1:NoExecute would evict the pods of node n4",
    );
    harness.ok("annotate node n4 taintward.io/allow-no-execute=oops");
    harness.contains("taint nodes n4 oops=1:NoExecute", &["node/n4 tainted"]);
}
