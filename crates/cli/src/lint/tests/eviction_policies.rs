//! Tests the rules TL4: which policy is reported, where, and with which words.

use super::*;

/// A policy whose spec begins at line 5, column 7.
fn policy(name: &str, spec: &str) -> String {
    format!(
        "---\napiVersion: taintward.io/v1alpha1\nkind: EvictionPolicy\nmetadata: {{name: {name}}}\nspec: {spec}\n"
    )
}

fn budget(namespace: &str, name: &str) -> String {
    format!(
        "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {{namespace: {namespace}, name: {name}}}\nspec: \
         {{maxUnavailable: 0, selector: {{matchLabels: {{app: web}}}}}}\n"
    )
}

/// `name: reason; fix`, for each finding.
fn sentences(text: &str) -> Vec<String> {
    let findings = report(text).findings.into_iter();
    findings.map(|one| format!("{}: {}; {}", one.object.name, one.reason, one.fix)).collect()
}

#[test]
fn a_finding_has_the_position_of_its_field() {
    for (spec, expected) in [
        ("{}", ""),
        ("{taints: [{key: maintenance}], maxPodsPerMinute: 6}", ""),
        ("{respectBudgets: {deadlineSeconds: 0}}", "TL401@5:42"),
        ("{respectBudgets: {deadlineSeconds: 31536000}}", "TL401@5:42"),
        ("{maxUnavailablePerWorkload: 150%}", "TL401@5:35"),
        ("{order: Alphabet}", "TL401@5:15"),
        ("{maxPodsPerHour: 3}", "TL401@5:24"),
        (
            "{podSelector: {matchLabels: {a: b}, matchExpressions: [{key: a, operator: NotIn, values: [b]}]}}",
            "TL404@5:7",
        ),
        ("{taints: [{key: node.kubernetes.io/not-ready}]}", "TL405@5:16"),
        ("{taints: [{key: a b}, {key: node.kubernetes.io/unreachable}]}", "TL401@5:16, TL405@5:16"),
    ] {
        assert_eq!(reported(&policy("gentle", spec)), expected, "{spec}");
    }
    // Without a field, the position is that of the name.
    let text = policy("one", "{maxNodesAtOnce: 1}") + &policy("two", "{maxNodesAtOnce: 2}");
    assert_eq!(reported(&text), "TL402@9:18");
    assert_eq!(reported(&policy("gentle", "").replace("spec:", "")), "TL401@4:18");
}

#[test]
fn a_finding_names_the_other_object_and_the_remedy() {
    let general = policy("general", "{priority: 7, maxNodesAtOnce: 1}");
    let of_web = "podSelector: {matchLabels: {app: web}}, maxNodesAtOnce: 2";
    assert_eq!(
        sentences(&(general.clone() + &policy("web", &format!("{{{of_web}}}")))),
        [
            "web: never applies: general selects all of it and has the higher priority 7; remove it, or set spec.priority to 8"
        ]
    );
    assert_eq!(
        sentences(&(general.clone() + &policy("web", &format!("{{priority: 7, {of_web}}}")))),
        [
            "web: never applies: general selects all of it and comes first by its name; remove it, or set spec.priority to 8"
        ]
    );
    assert_eq!(
        sentences(&(general + &policy("blog", &format!("{{priority: 7, {of_web}}}")))),
        [
            "general: may select the same evictions as blog, with the same priority: blog applies to them, because its name is \
          first; give the policy that should apply a higher spec.priority"
        ]
    );
    let selector = "{podSelector: {matchExpressions: [{key: a, operator: Like}]}}";
    assert_eq!(
        sentences(&policy("gentle", selector)),
        ["gentle: spec.podSelector is invalid: a: a label selector has no operator Like; correct the field"]
    );
    let never = policy("gentle", "{respectBudgets: {}}");
    let budgets: String = ["a", "b", "c", "d"].map(|name| budget("shop", name)).concat();
    assert_eq!(
        sentences(&(never + &budgets)),
        [
            "gentle: never evicts a pod of shop/a, shop/b, shop/c and 1 more: the budget never allows a disruption; set \
          spec.respectBudgets.deadlineSeconds, or allow a disruption in the budget"
        ]
    );
}

#[test]
fn policies_are_counted_and_no_other_rule_is_about_them() {
    let report = report(&policy("gentle", "{taints: [{key: maintenance, values: [now]}]}"));
    assert!(report.findings.is_empty() && !report.is_empty());
    assert_eq!(
        report.summary(),
        "0 errors, 0 warnings, 0 infos in 0 workloads, 0 nodes and 1 policy of 1 file"
    );
    // The same kind in another API group is another kind.
    let other = policy("gentle", "{maxPodsPerHour: 3}").replace("taintward.io", "example.com");
    assert_eq!(super::report(&other).policies, 0);
}

#[test]
fn only_an_unreadable_annotation_is_reported() {
    let with = |kind: &str, annotation: &str| {
        format!(
            "apiVersion: v1\nkind: {kind}\nmetadata: {{name: a, annotations: {{{annotation}}}}}\nspec: {{}}\n"
        )
    };
    let hold = r#"taintward.io/hold: '{"action": "hold", "since": "2026-11-28T12:00:00Z", "until": "2026-11-28T13:00:00Z"}'"#;
    for (kind, annotation, expected) in [
        ("Pod", "taintward.io/hold: yes please", "TL407@3:35"),
        ("Node", "taintward.io/hold: ''", "TL407@3:35"),
        ("Node", hold, ""),
        ("Node", "taintward.io/respect-budgets: 30m", "TL407@3:35"),
        ("Node", r#"taintward.io/respect-budgets: '[{"key": "maintenance", "deadlineSeconds": 60}]'"#, ""),
        ("Node", "taintward.io/other: 30m", ""),
    ] {
        assert_eq!(reported(&with(kind, annotation)), expected, "{kind} {annotation}");
    }
}
