//! Tests kubectl's create, apply, edit, patch, label, annotate and delete.

use crate::kubectl::KubectlHarness;

fn config(value: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: mine}}\ndata: {{a: \"{value}\"}}\n")
}

const VALUE: &str = "get cm mine -o jsonpath={.data.a}";

#[test]
fn files_are_applied() {
    let Some(harness) = KubectlHarness::set("files_are_applied", &["--empty"]) else { return };
    harness.file("one.yaml", &config("1"));
    harness.file("two.yaml", &config("2"));
    assert_eq!(harness.ok("create -f one.yaml"), "configmap/mine created\n");
    harness.fails("create -f one.yaml", "(AlreadyExists)");
    harness.contains("delete cm mine", &["configmap \"mine\" deleted"]);
    harness.fails("delete cm mine", "(NotFound)");
    harness.fails("replace -f one.yaml", "(NotFound)");
    assert_eq!(harness.ok("apply -f one.yaml"), "configmap/mine created\n");
    assert_eq!(harness.ok("apply -f one.yaml"), "configmap/mine unchanged\n");
    harness.fails("diff -f two.yaml", "+  a: \"2\"");
    assert_eq!(harness.ok(VALUE), "1", "a diff changes nothing");
    harness.ok("apply --dry-run=server -f two.yaml");
    assert_eq!(harness.ok(VALUE), "1", "a dry run changes nothing");
    assert_eq!(harness.ok("apply -f two.yaml"), "configmap/mine configured\n");
    assert_eq!(harness.ok(VALUE), "2");
    harness.ok("replace -f one.yaml");
    assert_eq!(harness.ok(VALUE), "1");
    harness.file("wrong.yaml", &config("1").replace("data: {a", "dta: {a"));
    harness.fails("apply -f wrong.yaml", "unknown field \"dta\"");
    harness.fails("create ns Upper", "a lowercase RFC 1123 label");
}

#[test]
fn the_server_applies_and_names_conflicts() {
    let Some(harness) = KubectlHarness::set("the_server_applies_and_names_conflicts", &["--empty"]) else {
        return;
    };
    harness.file("one.yaml", &config("1"));
    harness.file("two.yaml", &config("2"));
    assert_eq!(harness.ok("apply --server-side -f one.yaml"), "configmap/mine serverside-applied\n");
    let other = "apply --server-side --field-manager=other -f two.yaml";
    harness.fails(other, "Apply failed with 1 conflict: conflict with \"kubectl\": .data.a");
    assert_eq!(harness.ok(VALUE), "1");
    harness.ok(&format!("{other} --force-conflicts"));
    assert_eq!(harness.ok(VALUE), "2");
    let managers =
        harness.ok("get cm mine --show-managed-fields -o jsonpath={.metadata.managedFields[*].manager}");
    assert!(managers.contains("other"), "{managers}");
}

#[test]
fn objects_are_changed_in_place() {
    let Some(harness) = KubectlHarness::set("objects_are_changed_in_place", &["--empty"]) else { return };
    assert_eq!(harness.ok("create configmap mine --from-literal=a=1"), "configmap/mine created\n");
    let edited =
        harness.command(&["edit", "cm", "mine"]).env("KUBE_EDITOR", "sed -i 's/\"1\"/\"3\"/'").output();
    assert!(edited.unwrap().status.success());
    assert_eq!(harness.ok(VALUE), "3");
    harness.ok_with(&["patch", "cm", "mine", "-p", r#"{"data":{"b":"x"}}"#]);
    harness.ok_with(&["patch", "cm", "mine", "--type=merge", "-p", r#"{"data":{"a":null}}"#]);
    let append = r#"[{"op":"test","path":"/data/b","value":"x"},{"op":"add","path":"/data/c","value":"y"}]"#;
    harness.ok_with(&["patch", "cm", "mine", "--type=json", "-p", append]);
    assert_eq!(harness.ok("get cm mine -o jsonpath={.data}"), r#"{"b":"x","c":"y"}"#);
    assert_eq!(harness.ok("label cm mine tier=1"), "configmap/mine labeled\n");
    harness.fails("label cm mine tier=2", "already has a value (1), and --overwrite is false");
    harness.ok("label cm mine tier=2 --overwrite");
    assert_eq!(harness.ok("get cm -l tier=2 -o name"), "configmap/mine\n");
    assert_eq!(harness.ok("label cm mine tier-"), "configmap/mine unlabeled\n");
    assert!(!harness.ok("get cm -l tier -o name").contains("mine"));
    assert_eq!(harness.ok("annotate cm mine note=x"), "configmap/mine annotated\n");
    assert_eq!(harness.ok("get cm mine -o jsonpath={.metadata.annotations.note}"), "x");
}

#[test]
fn a_namespace_goes_with_all_that_is_in_it() {
    let Some(harness) = KubectlHarness::set("a_namespace_goes_with_all_that_is_in_it", &[]) else { return };
    harness.settled();
    harness.contains("delete ns shop --timeout=60s", &["namespace \"shop\" deleted"]);
    harness.fails("get ns shop", "(NotFound)");
    assert!(!harness.ok("get pods,deploy,ds,pdb -A").contains("shop"));
}
