//! Tests `taintward lint` against clusters: a sandbox, an API server that permits little, and none at all.
//!
//! - See `golden.rs` for files.

use crate::cli::reluctant::{There, kubeconfig, serve};
use crate::cli::running::{RunningSandbox, TestFolder, text};
use serde_json::Value;
use std::process::Command;

const OBJECTS: &str = "\
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {pool: db}}
spec:
  taints:
  - {key: dedicated, value: db, effect: NoSchedule}
  - {key: maintenance, effect: NoExecute}
---
apiVersion: v1
kind: Node
metadata: {name: n2}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      tolerations:
      - {key: dedicatd, operator: Exists, effect: NoSchedule}
      containers: [{name: a, image: a}]
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: logs, namespace: kube-system}
spec:
  selector: {matchLabels: {app: logs}}
  template:
    metadata: {labels: {app: logs}}
    spec:
      containers: [{name: a, image: a}]
---
apiVersion: v1
kind: Pod
metadata: {name: fine, namespace: shop}
spec:
  containers: [{name: a, image: a}]
---
apiVersion: v1
kind: Pod
metadata: {name: odd, namespace: shop}
spec:
  tolerations:
  - {key: dedicatd, operator: Exists, effect: NoSchedule}
  containers: [{name: a, image: a}]
";

/// `taintward lint ...` with a clean environment: exit code, standard output, standard error.
fn lint(kubeconfig: &str, arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
    command.args(["lint", "--kubeconfig", kubeconfig]).args(arguments);
    command.env_remove("KUBECONFIG").env_remove("KUBERNETES_SERVICE_HOST");
    let done = command.output().unwrap();
    (done.status.code().unwrap(), text(&done.stdout), text(&done.stderr))
}

/// `TL301 Deployment shop/web spec...`, for each finding.
fn reported(report: &str) -> Vec<String> {
    let report: Value = serde_json::from_str(report).unwrap();
    let findings = report["items"].as_array().unwrap().iter();
    let words = findings.map(|finding| {
        assert!(finding.get("location").is_none(), "{finding}");
        let [rule, field] = ["rule", "field"].map(|name| finding[name].as_str().unwrap());
        let [kind, namespace, name] =
            ["kind", "namespace", "name"].map(|name| finding["object"][name].as_str().unwrap());
        format!("{rule} {kind} {namespace}/{name} {field}")
    });
    words.collect()
}

#[test]
fn a_cluster_is_read_as_files_are() {
    let folder = TestFolder::named("lint");
    let objects = folder.write("objects.yaml", OBJECTS);
    let kubeconfig = folder.file("kubeconfig");
    let mut sandbox =
        RunningSandbox::start(&["--plain", "--load", &objects, "--kubeconfig-out", &kubeconfig]);
    sandbox.until("KUBECONFIG");
    let unneeded = "TL301 Deployment shop/web spec.template.spec.tolerations[0]";
    let of_a_pod = "TL301 Pod shop/odd spec.tolerations[0]";
    let no_daemon = "TL302 Node /n1 spec.taints[1]";
    let (code, out, message) = lint(&kubeconfig, &["-A", "-o", "json"]);
    assert_eq!((code, message.as_str()), (0, ""), "{out}");
    let mut all = reported(&out);
    all.sort();
    assert_eq!(all, [unneeded, of_a_pod, no_daemon]);
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&report["complete"], &report["summary"]["nodes"]), (&true.into(), &2.into()));
    // The pods and ReplicaSets of the Deployment are not reported separately; pods without an owner are.
    assert_eq!(report["summary"]["workloads"], 4);
    // With a namespace, and with labels; node agents of other namespaces count, too.
    let of = |arguments: &[&str]| reported(&lint(&kubeconfig, &[arguments, &["-o", "json"]].concat()).1);
    assert_eq!(of(&["-n", "shop"]).len(), 3);
    assert_eq!(of(&[]), [no_daemon], "the context's namespace is another");
    assert_eq!(of(&["-A", "-l", "app=web"]).len(), 2);
    assert_eq!(of(&["-A", "-l", "app!=web"]), [of_a_pod, no_daemon]);
    let (code, out, message) = lint(&kubeconfig, &["-n", "shop", "--fail-on", "info"]);
    assert_eq!(code, 2);
    assert!(
        out.contains("TL301 Deployment shop/web  spec.template.spec.tolerations[0]  [unneeded-toleration]\n"),
        "{out}"
    );
    assert!(message.contains("0 errors, 1 warning, 2 infos in 3 workloads and 2 nodes"), "{message}");
    let (code, _, message) = lint(&kubeconfig, &["-l", "app=("]);
    assert!(code == 1 && message.contains("400"), "{message}");
}

#[test]
fn a_cluster_is_read_to_its_last_page() {
    let folder = TestFolder::named("lint-pages");
    let kubeconfig = folder.file("kubeconfig");
    let mut sandbox =
        RunningSandbox::start(&["--plain", "--empty", "--nodes", "600", "--kubeconfig-out", &kubeconfig]);
    sandbox.until("KUBECONFIG");
    let (code, _, message) = lint(&kubeconfig, &["-A"]);
    assert!(code == 0 && message.contains("0 workloads and 600 nodes"), "{message}");
}

#[test]
fn files_are_compared_with_a_cluster() {
    let folder = TestFolder::named("lint-both");
    let objects = folder.write("objects.yaml", OBJECTS);
    let kubeconfig = folder.file("kubeconfig");
    let mut sandbox =
        RunningSandbox::start(&["--plain", "--load", &objects, "--kubeconfig-out", &kubeconfig]);
    sandbox.until("KUBECONFIG");
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  nodeSelector: {pool: db}\n  tolerations:\n  - {key: dedicated, \
               value: web, effect: NoSchedule}\n";
    let pod = folder.write("pod.yaml", pod);
    let (code, out, message) = lint(&kubeconfig, &["-f", &pod, "--against-cluster"]);
    assert_eq!(code, 0, "{message}");
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("TL301 Pod a") && words.contains("there is dedicated=db:NoSchedule"), "{out}");
    assert!(words.contains("TL304 Pod a"), "{out}");
    assert!(!words.contains("TL302"), "the nodes themselves are not checked: {out}");
    assert!(message.contains("0 errors, 1 warning, 1 info in 1 workload and 2 nodes of 1 file"), "{message}");
    let (code, _, message) = lint(&kubeconfig, &["-f", &pod]);
    assert!(code == 1 && message.contains("or add --against-cluster"), "{message}");
    let (code, _, message) = lint(&kubeconfig, &["--against-cluster"]);
    assert!(code == 1 && message.contains("name them"), "{message}");
}

#[test]
fn eviction_policies_are_compared_with_budgets_and_other_policies_of_the_cluster() {
    let folder = TestFolder::named("lint-policies");
    let objects = "apiVersion: taintward.io/v1alpha1\nkind: EvictionPolicy\nmetadata: {name: gentle}\n\
                   spec: {priority: 5, respectBudgets: {}}\n---\n\
                   apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web, namespace: default}\n\
                   spec: {maxUnavailable: 0, selector: {matchLabels: {app: web}}}\n";
    let objects = folder.write("objects.yaml", objects);
    let kubeconfig = folder.file("kubeconfig");
    let mut sandbox =
        RunningSandbox::start(&["--plain", "--empty", "--load", &objects, "--kubeconfig-out", &kubeconfig]);
    sandbox.until("KUBECONFIG");
    let (code, out, message) = lint(&kubeconfig, &["-A", "-o", "json"]);
    assert_eq!((code, message.as_str()), (0, ""), "{out}");
    assert_eq!(reported(&out), ["TL406 EvictionPolicy /gentle spec.respectBudgets"], "{out}");
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["summary"]["policies"], 1);
    // A policy of a file is compared with those of the cluster, and stands for the one of its name.
    let shadowed = "apiVersion: taintward.io/v1alpha1\nkind: EvictionPolicy\nmetadata: {name: web}\n\
                    spec: {maxNodesAtOnce: 1}\n";
    let file = folder.write("policy.yaml", shadowed);
    let against = |file: &str| {
        let (code, out, message) = lint(&kubeconfig, &["-f", file, "--against-cluster", "-o", "json"]);
        let mut report: Value = serde_json::from_str(&out).unwrap();
        for finding in report["items"].as_array_mut().unwrap() {
            let location = finding.as_object_mut().unwrap().remove("location").unwrap();
            assert_eq!(location["file"], file);
        }
        (code, report.to_string(), message)
    };
    let (code, out, message) = against(&file);
    assert_eq!(
        (code, reported(&out)),
        (0, vec!["TL402 EvictionPolicy /web spec.priority".to_owned()]),
        "{message}"
    );
    let gentle = shadowed.replace("name: web", "name: gentle");
    let file = folder.write("policy.yaml", &gentle);
    let (code, out, message) = against(&file);
    assert_eq!((code, reported(&out)), (0, Vec::new()), "{message}");
    let file = folder.write("policy.yaml", &gentle.replace("maxNodesAtOnce: 1", "respectBudgets: {}"));
    let never = "TL406 EvictionPolicy /gentle spec.respectBudgets".to_owned();
    let (code, out, message) = against(&file);
    assert_eq!((code, reported(&out)), (0, vec![never]), "{message}");
}

/// An API server rejects a kind that it does not have by the same words, if the user may not list it.
#[test]
fn policies_that_may_not_be_read_are_a_note() {
    let folder = TestFolder::named("lint-policies-rbac");
    let kubeconfig = serve(&folder, |path| match path.rsplit('/').next() {
        Some("evictionpolicies") => There::Hidden,
        _ => There::Object(r#"{"kind": "List", "metadata": {}, "items": []}"#),
    });
    let (code, out, message) = lint(&kubeconfig, &["-o", "json"]);
    assert_eq!(code, 0, "{message}");
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["complete"], true);
    assert!(message.contains("note: eviction policies, if there are any, are not checked: "), "{message}");
    assert!(message.contains("grant the verb list on evictionpolicies"), "{message}");
}

#[test]
fn what_may_not_be_read_makes_the_report_partial() {
    let folder = TestFolder::named("lint-rbac");
    let kubeconfig = serve(&folder, |path| match path.rsplit('/').next() {
        Some("nodes" | "daemonsets") => There::Hidden,
        _ => There::Object(r#"{"kind": "List", "metadata": {}, "items": []}"#),
    });
    let (code, out, message) = lint(&kubeconfig, &["-o", "json"]);
    assert_eq!(code, 1);
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["complete"], false);
    let gaps: Vec<&str> =
        report["readErrors"].as_array().unwrap().iter().map(|gap| gap.as_str().unwrap()).collect();
    assert_eq!(gaps.len(), 2, "{gaps:?}");
    for (gap, words) in gaps.iter().zip(["grant the verb list on nodes", "grant the verb list on daemonsets"])
    {
        assert!(gap.contains(words) && message.contains(gap), "{gap}: {message}");
    }
    assert!(gaps[0].contains("TL3") && gaps[1].contains("daemonsets are missing"), "{gaps:?}");
    let (_, out, _) = lint(&kubeconfig, &["-o", "sarif"]);
    let sarif: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(sarif["runs"][0]["invocations"][0]["executionSuccessful"], false);
    assert!(lint(&kubeconfig, &[]).2.ends_with("some reads failed\n"));
}

#[test]
fn an_unreachable_cluster_is_reported() {
    let folder = TestFolder::named("lint-unreachable");
    let file = folder.write("kubeconfig", &kubeconfig("http://127.0.0.1:1"));
    let (code, out, message) = lint(&file, &[]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(message.starts_with("error: context \"x\"") && message.contains("refused"), "{message}");
}

#[test]
fn of_many_broken_files_the_first_are_named_and_the_others_counted() {
    let folder = TestFolder::named("broken");
    for at in 0..60 {
        folder.write(&format!("{at:02}.yaml"), "spec: [\n");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
    command.args(["lint", "-f"]).arg(folder.path());
    let done = command.output().unwrap();
    let errors = text(&done.stderr);
    let named = errors.lines().filter(|line| line.contains(".yaml:")).count();
    assert_eq!((done.status.code(), named), (Some(1), 50), "{errors}");
    assert!(errors.contains("error: there are 10 more errors like these\n"), "{errors}");
}
