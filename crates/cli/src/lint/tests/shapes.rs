//! Tests tolerations and taints that are found by their shape: in other kinds, and in places that Kubernetes ignores.

use super::*;

/// A Deployment with this text at the place of `HERE`.
fn deployment(at: &str, text: &str) -> String {
    let whole = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nROOT\nspec:\n  SPEC\n  template:\n    TEMPLATE\n    \
                 spec:\n      POD\n      affinity:\n        AFFINITY\n      containers:\n      - name: a\n        CONTAINER\n";
    ["ROOT", "SPEC", "TEMPLATE", "POD", "AFFINITY", "CONTAINER"]
        .iter()
        .fold(whole.to_owned(), |whole, place| whole.replace(place, if *place == at { text } else { "x: y" }))
}

/// As an API server sends it.
#[test]
fn a_text_without_a_position_is_read() {
    let text = "apiVersion: v1\nkind: Pod\nspec: {tolerations: [{key: a, operator: Exist}]}\n";
    let map = serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"pod.yaml": text}});
    let tree: crate::manifest::YamlNode = serde_json::from_value(map).unwrap();
    let objects = crate::lint::object::read(&tree);
    assert_eq!(objects.len(), 1);
    assert_eq!(objects[0].places.list, "data.pod.yaml.spec.tolerations");
}

/// `TL114 spec.tolerations -> move it to spec.template.spec.tolerations`
fn fields(text: &str) -> String {
    let report = report(text);
    assert!(report.unreadable.is_empty(), "{:?}", report.unreadable);
    let each = report.findings.iter().map(|finding| format!("{} {}", finding.rule.id(), finding.field));
    each.collect::<Vec<_>>().join(", ")
}

const LIST: &str = "[{key: a, operator: Exists, effect: NoSchedule}]";

#[test]
fn a_list_in_a_wrong_place_is_found_and_the_right_one_named() {
    for (at, found) in [
        ("ROOT", "tolerations"),
        ("SPEC", "spec.tolerations"),
        ("TEMPLATE", "spec.template.tolerations"),
        ("AFFINITY", "spec.template.spec.affinity.tolerations"),
        ("CONTAINER", "spec.template.spec.containers[0].tolerations"),
    ] {
        let text = deployment(at, &format!("tolerations: {LIST}"));
        assert_eq!(fields(&text), format!("TL114 {found}"));
        assert_eq!(report(&text).findings[0].fix, "move it to spec.template.spec.tolerations");
        // Whatever its name is.
        let other = deployment(at, &format!("nodeTolerations: {LIST}"));
        assert_eq!(fields(&other), format!("TL114 {}", found.replace("tolerations", "nodeTolerations")));
    }
    assert_eq!(fields(&deployment("POD", &format!("tolerations: {LIST}"))), "");
    for near in ["toleration", "Tolerations", "tolerance", "tolerations_"] {
        let text = deployment("POD", &format!("{near}: {LIST}"));
        assert_eq!(fields(&text), format!("TL114 spec.template.spec.{near}"));
        assert_eq!(report(&text).findings[0].fix, "write tolerations");
    }
    let pod = |text: &str| format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\n{text}\n");
    assert_eq!(fields(&pod(&format!("tolerations: {LIST}"))), "TL114 tolerations");
    assert_eq!(fields(&pod("spec: {taints: [{key: a, effect: NoSchedule}]}")), "TL114 spec.taints");
    let job = "apiVersion: batch/v1\nkind: CronJob\nspec: {jobTemplate: {spec: {tolerations: []}}}\n";
    assert_eq!(report(job).findings[0].fix, "move it to spec.jobTemplate.spec.template.spec.tolerations");
    let node = |text: &str| format!("apiVersion: v1\nkind: Node\nmetadata: {{name: a}}\n{text}\n");
    assert_eq!(fields(&node("taints: [{key: a, effect: NoSchedule}]")), "TL114 taints");
    assert_eq!(fields(&node("spec: {taint: [{key: a, effect: NoSchedule}]}")), "TL114 spec.taint");
    assert_eq!(fields(&node("spec: {tolerations: [{key: a}]}")), "TL114 spec.tolerations");
}

#[test]
fn words_that_only_look_like_fields_are_not_reported() {
    for text in [
        "apiVersion: v1\nkind: Pod\nmetadata: {labels: {tolerations: x, taint: y}, annotations: {taints: '[]'}}\n",
        "apiVersion: v1\nkind: Pod\nmetadata: {managedFields: [{fieldsV1: {'f:spec': {'f:tolerations': {}}}}]}\n",
        "apiVersion: v1\nkind: Pod\nspec: {nodeSelector: {taints: none}, tolerations: null}\n",
        "apiVersion: v1\nkind: Pod\nspec: {containers: [{name: a, env: [{name: tolerations, value: a}]}]}\n",
        "apiVersion: v1\nkind: Pod\nstatus: {tolerations: []}\n",
        "apiVersion: apps/v1\nkind: Deployment\nspec: {selector: {matchLabels: {taint: a}}}\n",
        "apiVersion: v1\nkind: Pod\nspec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: \
         {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}}}\n",
    ] {
        assert_eq!(fields(text), "", "{text}");
    }
}

#[test]
fn one_error_for_each_value_of_a_wrong_type() {
    let pod = |list: &str| format!("apiVersion: v1\nkind: Pod\nspec:\n  tolerations: {list}\n");
    for (list, expected) in [
        ("{key: a, operator: Exists}", "TL115 spec.tolerations"),
        ("{}", "TL115 spec.tolerations"),
        ("'[{\"key\": \"a\"}]'", "TL115 spec.tolerations"),
        ("7", "TL115 spec.tolerations"),
        ("[[{key: a, operator: Exists}]]", "TL115 spec.tolerations[0]"),
        ("[\"key=a\", \"effect=NoSchedule\"]", "TL115 spec.tolerations[0], TL115 spec.tolerations[1]"),
        ("[{key: a, operator: Exists, effect: [NoSchedule, NoExecute]}]", "TL115 spec.tolerations[0].effect"),
        ("[{key: {a: b}, operator: Exists}]", "TL115 spec.tolerations[0].key"),
        ("[[x], {key: a, operator: Exist}]", "TL115 spec.tolerations[0], TL104 spec.tolerations[1].operator"),
        ("null", ""),
        ("[]", ""),
        ("[null]", "TL102 spec.tolerations[0].operator"),
    ] {
        assert_eq!(fields(&pod(list)), expected, "{list}");
    }
    let node = |list: &str| format!("apiVersion: v1\nkind: Node\nspec:\n  taints: {list}\n");
    assert_eq!(fields(&node("{key: a, effect: NoSchedule}")), "TL115 spec.taints");
    assert_eq!(fields(&node("[a=b:NoSchedule]")), "TL115 spec.taints[0]");
}

#[test]
fn repeated_fields_are_errors_with_both_lines() {
    let text = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  tolerations: [{key: a, operator: Exist}]\n  \
                hostNetwork: true\n  tolerations:\n  - key: b\n    operator: Exists\n    key: c\n";
    assert_eq!(reported(text), "TL113@7:3, TL113@10:5", "only the last list counts");
    let report = report(text);
    assert!(report.findings[0].reason.contains("line 5"), "{}", report.findings[0].reason);
    assert_eq!(report.findings[1].field, "spec.tolerations[0].key");
    let json =
        "{\"apiVersion\": \"v1\", \"kind\": \"Pod\",\n\"spec\": {\"tolerations\": [], \"tolerations\": []}}";
    assert_eq!(fields(json), "TL113 spec.tolerations");
    assert_eq!(fields("apiVersion: v1\nkind: ConfigMap\ndata: {a: x, a: y}\n"), "TL113 data.a");
    assert_eq!(fields("apiVersion: v1\nkind: List\nkind: List\nitems: []\n"), "TL113 kind");
    assert_eq!(fields("apiVersion: v1\nkind: Pod\nmetadata: &a {name: a}\nspec: {<<: *a, <<: *a}\n"), "");
}

#[test]
fn lists_of_other_kinds_are_checked_wherever_they_are() {
    let of = |spec: &str| {
        fields(&format!("apiVersion: example.com/v1\nkind: Thing\nmetadata: {{name: a}}\nspec: {spec}\n"))
    };
    for (spec, expected) in [
        ("{tolerations: [{key: a, operator: Exists, value: b}]}", "TL101 spec.tolerations[0].value"),
        (
            "{template: {spec: {taints: [{key: a, effect: NO_SCHEDULE}]}}}",
            "TL105 spec.template.spec.taints[0].effect",
        ),
        ("{startupTaints: [{key: a, effect: NoShedule}]}", "TL105 spec.startupTaints[0].effect"),
        (
            "{pools: [{x: 1}, {podTolerations: [{operator: Equal}]}]}",
            "TL102 spec.pools[1].podTolerations[0].operator",
        ),
        (
            "{placement: {all: [{key: a, operator: exists, effect: NoSchedule}]}}",
            "TL104 spec.placement.all[0].operator",
        ),
        (
            "{values: {gpu: {tolerations: [{key: a, value: true, operator: Equal}]}}}",
            "TL112 spec.values.gpu.tolerations[0].value",
        ),
        ("{tolerations: [[{key: a, operator: Exists}]]}", "TL115 spec.tolerations[0]"),
        ("{tolerations: {key: a, operator: Exists}}", "TL115 spec.tolerations"),
        ("{tolerations: {web: [{key: a, operator: Exist}]}}", "TL104 spec.tolerations.web[0].operator"),
        ("{a: {containers: [{name: x, tolerations: [{key: a}]}]}}", "TL114 spec.a.containers[0].tolerations"),
        ("{a: {containers: [{name: x}], toleration: [{key: a}]}}", "TL114 spec.a.toleration"),
        (
            "{template: {tolerations: [{key: a}], spec: {containers: [{name: x}]}}}",
            "TL114 spec.template.tolerations",
        ),
        ("{a: {containers: [{name: x}], tolerations: {}}}", "TL115 spec.a.tolerations"),
        // Not tolerations, or not known yet.
        ("{rules: [{key: a, operator: exists, effect: Allow}]}", ""),
        ("{tolerations: [{key: '{{ key }}', operator: exists}]}", ""),
        ("{tolerations: [a, b]}", ""),
        ("{tolerations: ''}", ""),
        ("{toleration: 5}", ""),
        ("{matchExpressions: [{key: a, operator: exists}]}", ""),
        // Fields that Kubernetes does not have are the kind's own.
        ("{taints: [{key: a, effect: NoSchedule, propagation: Always}]}", ""),
    ] {
        assert_eq!(of(spec), expected, "{spec}");
    }
    let machines = |effect: &str| {
        format!(
            "apiVersion: infrastructure.cluster.x-k8s.io/v1\nkind: Pool\nspec: {{taints: [{{key: a, effect: {effect}}}]}}\n"
        )
    };
    assert_eq!(fields(&machines("no-schedule")), "", "its own API spells it so");
    assert_eq!(fields(&machines("never")), "TL105 spec.taints[0].effect");
}

#[test]
fn objects_inside_objects_and_texts_are_read() {
    let template = "apiVersion: template.example.com/v1\nkind: Template\nobjects:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: inner}\n  \
                    spec: {tolerations: [{key: a, operator: Exists}, {key: a, operator: Exists}]}\n";
    assert_eq!(fields(template), "TL202 objects[0].spec.tolerations[1]");
    assert_eq!(report(template).findings[0].object.name, "inner");
    let values = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: app}\nspec:\n  source:\n    helm:\n      \
                  values: |\n        web:\n          tolerations:\n          - key: a\n            operator: exists\n";
    assert_eq!(fields(values), "TL104 spec.source.helm.values.web.tolerations[0].operator");
    assert_eq!(reported(values), "TL104@11:23", "the position in the file");
    assert_eq!(report(values).findings[0].object.name, "app");
    let escaped =
        "apiVersion: v1\nkind: ConfigMap\ndata: {a: \"tolerations:\\n- key: a\\n  operator: exists\\n\"}\n";
    assert_eq!(reported(escaped), "TL104@3:11", "the text as a whole");
    let script = "apiVersion: v1\nkind: ConfigMap\ndata:\n  run: |\n    set -e\n    kubectl taint nodes a b:NoExecute  # taints: [\n";
    assert_eq!(reported(script), "");
    let list = "apiVersion: v1\nkind: ConfigMap\ndata:\n  TOLERATIONS: |\n    - key: a\n      effect: NoSchedule\n      operator: exists\n";
    assert_eq!(fields(list), "TL104 data.TOLERATIONS[0].operator", "the text is the list");
    let placeholder =
        template.replace("{key: a, operator: Exists}, {", "{key: '${KEY}', operator: Exists}, {");
    assert_eq!(fields(&placeholder), "", "the template fills it in");
}

#[test]
fn directives_of_patches_do_not_count_as_fields() {
    let patch = |items: &str| {
        format!(
            "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {{name: a}}\nspec: {{template: {{spec: {{tolerations: {items}}}}}}}\n"
        )
    };
    for items in [
        "[{$patch: replace}, {key: pool, operator: Exists, effect: NoSchedule}]",
        "[{$patch: delete, key: pool}]",
        "[{$patch: replace}, {operator: Exists}, {operator: Exists}]",
    ] {
        assert_eq!(fields(&patch(items)), "", "{items}");
    }
    let wrong = "[{$patch: replace}, {key: pool, operator: Exist}]";
    assert_eq!(fields(&patch(wrong)), "TL104 spec.template.spec.tolerations[1].operator");
    let keys = "apiVersion: v1\nkind: Node\nmetadata: {name: a}\nspec:\n  $retainKeys: [taints]\n  taints: [{key: a, effect: NoSchedule}]\n";
    assert_eq!(fields(keys), "");
    let deleted = "apiVersion: v1\nkind: Pod\nspec: {tolerations: [{key: a, $foo: b}]}\n";
    assert_eq!(fields(deleted), "TL111 spec.tolerations[0].$foo", "no directive");
}

#[test]
fn dead_annotations_are_found() {
    let pod = |annotation: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: a, annotations: {{{annotation}: x}}}}\nspec: {{}}\n"
        )
    };
    for dead in ["tolerations", "critical-pod"] {
        let dead = format!("scheduler.alpha.kubernetes.io/{dead}");
        assert_eq!(fields(&pod(&dead)), format!("TL212 metadata.annotations.{dead}"));
    }
    assert_eq!(fields(&pod("example.com/tolerations")), "");
    let node =
        "apiVersion: v1\nkind: Node\nmetadata: {annotations: {scheduler.alpha.kubernetes.io/taints: '[]'}}\n";
    assert_eq!(fields(node), "TL212 metadata.annotations.scheduler.alpha.kubernetes.io/taints");
}
