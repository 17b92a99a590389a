//! Tests which objects are read, where findings point, and what the config silences.

use super::*;

const BAD: &str = "tolerations: [{key: a, operator: Exists, value: b}]";

fn pod(meta: &str) -> String {
    format!("apiVersion: v1\nkind: Pod\nmetadata: {{{meta}}}\nspec: {{{BAD}}}\n")
}

#[test]
fn every_kind_with_pods_is_read() {
    for (version, kind, path) in [
        ("v1", "Pod", "spec"),
        ("v1", "PodTemplate", "template: {spec"),
        ("v1", "ReplicationController", "spec: {template: {spec"),
        ("apps/v1", "Deployment", "spec: {template: {spec"),
        ("extensions/v1beta1", "Deployment", "spec: {template: {spec"),
        ("apps/v1", "ReplicaSet", "spec: {template: {spec"),
        ("apps/v1", "StatefulSet", "spec: {template: {spec"),
        ("apps/v1", "DaemonSet", "spec: {template: {spec"),
        ("batch/v1", "Job", "spec: {template: {spec"),
        ("batch/v1", "CronJob", "spec: {jobTemplate: {spec: {template: {spec"),
    ] {
        let close = "}".repeat(path.matches('{').count());
        let text = format!("apiVersion: {version}\nkind: {kind}\n{path}: {{{BAD}}}{close}\n");
        assert!(reported(&text).starts_with("TL101@3:"), "{kind}: {}", reported(&text));
    }
    for (version, kind) in
        [("apps.kruise.io/v1", "StatefulSet"), ("v1", "ConfigMap"), ("example.com/v1", "Node")]
    {
        let text = format!("apiVersion: {version}\nkind: {kind}\nspec: {{template: {{spec: {{{BAD}}}}}}}\n");
        let counts = report(&text).counts;
        assert_eq!((counts.workloads, counts.nodes, counts.by_shape), (0, 0, 1), "{kind}");
        assert!(reported(&text).starts_with("TL101@3:"), "{kind}");
        let without = format!("apiVersion: {version}\nkind: {kind}\nspec: {{replicas: 1}}\n");
        assert_eq!((reported(&without).as_str(), report(&without).counts.other_kinds), ("", 1), "{kind}");
    }
}

#[test]
fn lists_are_read_item_by_item_in_yaml_and_json() {
    let item = "{apiVersion: v1, kind: Pod, spec: {tolerations: [{key: a, operator: Exists, value: b}]}}";
    assert_eq!(
        reported(&format!("kind: List\napiVersion: v1\nitems:\n- {item}\n- {item}\n")),
        "TL101@4:86, TL101@5:86"
    );
    // Items of a PodList have no kind.
    let plain = "{spec: {tolerations: [{key: a, operator: Exists, value: b}]}}";
    assert_eq!(reported(&format!("kind: PodList\napiVersion: v1\nitems:\n- {plain}\n")), "TL101@4:59");
    let json = "{\n  \"kind\": \"List\",\n  \"items\": [\n    {\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"spec\":\n\
                \t{\"tolerations\": [{\"key\": \"\\ud83d\\ude00\", \"operator\": \"Exists\"}]}}\n  ],\n  \"apiVersion\": \"v1\"\n}\n";
    assert_eq!(reported(json), "TL109@5:27");
}

#[test]
fn objects_with_an_owner_are_reported_once() {
    let owned = |kind: &str, by: &str| {
        format!("ownerReferences: [{{controller: true, kind: {kind}, name: {by}}}], name: {by}-{kind}-x")
    };
    let deployment =
        "apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: web}\nspec: {template: {spec: {}}}\n";
    let count = |documents: &[String]| report(&documents.join("---\n")).findings.len();
    assert_eq!(count(&[pod("name: a"), pod("name: b")]), 2);
    assert_eq!(
        count(&[deployment.to_owned(), pod(&owned("ReplicaSet", "web"))]),
        0,
        "its owner represents it"
    );
    assert_eq!(
        count(&[pod(&owned("ReplicaSet", "web")), pod(&owned("ReplicaSet", "web"))]),
        1,
        "the first does"
    );
    assert_eq!(count(&[pod(&owned("ReplicaSet", "web")), pod(&owned("ReplicaSet", "db"))]), 2);
    assert_eq!(count(&[pod(&owned("Node", "n1")), pod(&owned("Node", "n1"))]), 2, "static pods differ");
    let daemon = "apiVersion: v1\nkind: Pod\nmetadata: {ownerReferences: [{controller: true, kind: DaemonSet, name: a}]}\n\
                  spec: {tolerations: [{operator: Exists}]}\n";
    assert_eq!(reported(daemon), "");
}

#[test]
fn findings_have_the_position_of_the_field() {
    let text = "# one\n---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: x\nspec:\n  tolerations:\n  - key: a\n    \
                operator: Exists\n    value: \"b\"\n  - &all\n    operator: Exists\n  - *all\n  - <<: *all\n    key: k\n    \
                Effect: NoExecute\n    tolerationSeconds: '5'\n";
    let expected =
        "TL101@11:12, TL201@13:5, TL201@14:5, TL202@14:5, TL203@15:5, TL111@17:5, TL103@18:24, TL108@18:24";
    assert_eq!(reported(text), expected);
}

#[test]
fn a_broken_document_does_not_hide_the_others() {
    assert_eq!(
        reported(&format!("{}---\na: [\n---\n{}", pod("name: a"), pod("name: b"))),
        "TL101@4:56, TL101@11:56, broken@6:4"
    );
    let template = report("apiVersion: v1\nkind: Pod\nmetadata: {{ .Values.meta }}\n");
    assert!(
        template.unreadable.iter().all(|unreadable| unreadable.why.contains("helm template")),
        "{:?}",
        template.unreadable
    );
    let other = report("apiVersion: v1\nkind: Secret\n");
    assert!(other.is_empty() && !other.is_partial());
    assert!(!report(&pod("name: a")).is_empty());
    for (nothing, advice) in [
        ("", "that wrote it failed"),
        ("# what failed left nothing\n", "that wrote it failed"),
        ("a: 1\n", "run helm template, and lint its output"),
        ("tolerations: [{key: a, operator: Exists}]\n", "run helm template, and lint its output"),
    ] {
        let report = report(nothing);
        assert!(report.is_partial() && report.gaps[0].ends_with(advice), "{:?}", report.gaps);
    }
}

#[test]
fn seconds_are_read_as_yaml_reads_them() {
    let seconds = |written: &str| {
        reported(&format!(
            "apiVersion: v1\nkind: Pod\nspec:\n  tolerations:\n  - key: a\n    operator: Exists\n    effect: NoExecute\n    \
             tolerationSeconds: {written}\n"
        ))
    };
    for (written, expected) in [
        ("300", ""),
        ("300.0", ""),
        ("3e2", ""),
        ("0x10", ""),
        ("1_000", ""),
        ("null", ""),
        ("", ""),
        ("0", "TL208@8:24"),
        ("-0", "TL208@8:24"),
        ("0o0", "TL208@8:24"),
        ("'300'", "TL108@8:24"),
        ("5m", "TL108@8:24"),
        ("1.5", "TL108@8:24"),
        (".inf", "TL108@8:24"),
        ("true", "TL108@8:24"),
        ("[1]", "TL115@8:24"),
        ("9223372036854775808", "TL108@8:24"),
        ("9223372036854775807", "TL209@8:24"),
    ] {
        assert_eq!(seconds(written), expected, "{written}");
    }
}

#[test]
fn text_that_yaml_reads_as_another_type_is_reported() {
    let value = |written: &str| {
        reported(&format!(
            "apiVersion: v1\nkind: Pod\nspec:\n  tolerations:\n  - key: a\n    value: {written}\n    effect: NoSchedule\n"
        ))
    };
    for (written, expected) in [
        ("true", "TL112@6:12"),
        ("on", "TL112@6:12"),
        ("1", "TL112@6:12"),
        ("1e3", "TL112@6:12"),
        ("\"1\"", ""),
        ("!!str 1", ""),
        ("1a", ""),
        ("10.0.0.1", ""),
        ("1-2", ""),
        ("~", ""),
    ] {
        assert_eq!(value(written), expected, "{written}");
    }
}

fn silenced(entry: &str) -> (usize, usize, usize) {
    let config = format!("apiVersion: taintward.io/v1alpha1\nkind: LintConfig\nsilence:\n- {entry}\n");
    let text = pod("name: a, namespace: shop");
    let report = report_with(&[&text, &text], &config.parse().unwrap(), NumericOperators::Off);
    (report.findings.len(), report.silenced.len(), report.unused_silences.len())
}

#[test]
fn the_config_silences_what_it_says_and_nothing_else() {
    for (entry, expected) in [
        ("{rule: TL101, reason: r}", (0, 2, 0)),
        ("{rule: exists-with-value, reason: r}", (0, 2, 0)),
        ("{rule: TL102, reason: r}", (2, 0, 1)),
        ("{rule: TL101, reason: r, path: 0.yaml}", (1, 1, 0)),
        ("{rule: TL101, reason: r, path: '*.yml'}", (2, 0, 1)),
        ("{rule: TL101, reason: r, object: Pod/a}", (0, 2, 0)),
        ("{rule: TL101, reason: r, object: 'Pod/shop/*'}", (0, 2, 0)),
        ("{rule: TL101, reason: r, object: 'Pod/bank/*'}", (2, 0, 1)),
        ("{rule: TL101, reason: r, path: 1.yaml, object: 'Deployment/*'}", (2, 0, 1)),
    ] {
        assert_eq!(silenced(entry), expected, "{entry}");
    }
}
