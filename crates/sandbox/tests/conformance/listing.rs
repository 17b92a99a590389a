//! Compares lists: selectors, pages, versions.

use super::cases;
use super::harness::ConformanceHarness;
use serde_json::json;

cases![
    labels_select,
    labels_that_select_badly,
    fields_select_pods,
    fields_select_others,
    unsupported_field_selectors,
    names_select_one,
    both_select,
    pages,
    pages_at_a_version,
    a_page_and_how_many_remain,
    limits_that_are_none,
    a_continuation_of_nothing,
    a_continuation_too_old,
    a_continuation_with_a_version,
    a_continuation_of_another_list,
    versions_and_matches,
    matches_without_versions,
    a_version_of_the_future_to_list,
    an_exact_version,
    everywhere,
    an_empty_list,
    unknown_parameters,
];

/// Creates three labeled ConfigMaps `a`, `b`, `c`. Returns the path of their list.
fn maps(harness: &mut ConformanceHarness) -> String {
    let path = harness.core("configmaps");
    for (name, labels) in [("a", json!({"x": "1", "y": ""})), ("b", json!({"x": "2"})), ("c", json!({}))] {
        harness.given(&path, &json!({"metadata": {"name": name, "labels": labels}}));
    }
    path
}

const NAMES: [&str; 2] = ["/kind", "/items/*/metadata/name"];

fn labels_select(harness: &mut ConformanceHarness) {
    let maps = maps(harness);
    for (selector, names) in [
        ("x%3D1", &["a"][..]),
        ("x%3D%3D1", &["a"]),
        ("x!%3D1", &["b", "c"]),
        ("x", &["a", "b"]),
        ("!x", &["c"]),
        ("x+in+(1,2)", &["a", "b"]),
        ("x+notin+(1)", &["b", "c"]),
        ("x%3E1", &["b"]),
        ("x%3C2", &["a"]),
        ("y%3D", &["a"]),
        ("x,y", &["a"]),
        ("x%3D3", &[]),
        ("", &["a", "b", "c"]),
        ("%20x%20%3D%201%20", &["a"]),
    ] {
        harness.check(&NAMES, format!("{maps}?labelSelector={selector}")).is(200).lists(names);
    }
}

fn labels_that_select_badly(harness: &mut ConformanceHarness) {
    for selector in ["x%3D%3D%3D1", "x+in+1", "x+in+(", "a+b", ",", "x%3Ea", "-%3D1", "x%3Da+b", "(x)"] {
        harness
            .get(harness.core(&format!("configmaps?labelSelector={selector}")))
            .rejected(400, "BadRequest");
    }
}

fn fields_select_pods(harness: &mut ConformanceHarness) {
    for (name, node) in [("a", "n1"), ("b", "n2"), ("c", "")] {
        harness.create_pod(name, &json!({"nodeName": node}));
    }
    for (selector, names) in [
        ("spec.nodeName%3Dn1", &["a"][..]),
        ("spec.nodeName!%3Dn1", &["b", "c"]),
        ("spec.nodeName%3D", &["c"]),
        ("spec.nodeName!%3D", &["a", "b"]),
        ("status.phase%3DPending,spec.nodeName%3D%3Dn2", &["b"]),
        ("status.phase!%3DPending", &[]),
        ("spec.restartPolicy%3DAlways", &["a", "b", "c"]),
        ("spec.schedulerName%3Ddefault-scheduler", &["a", "b", "c"]),
        ("spec.hostNetwork%3Dfalse", &["a", "b", "c"]),
        ("status.podIP%3D10.0.0.1", &[]),
        ("metadata.name%3Db", &["b"]),
        ("spec.nodeName%3Dn1,spec.nodeName%3Dn2", &[]),
    ] {
        harness.check(&NAMES, harness.core(&format!("pods?fieldSelector={selector}"))).is(200).lists(names);
    }
}

fn fields_select_others(harness: &mut ConformanceHarness) {
    let own = harness.own.clone();
    let one = harness.create_node("a", &json!({}));
    harness.create_node("b", &json!({"unschedulable": true}));
    let list = format!("/api/v1/nodes?labelSelector=case%3D{own}&fieldSelector=");
    harness.check(&NAMES, format!("{list}spec.unschedulable%3Dfalse")).is(200).lists(&[&one]);
    harness.check(&NAMES, format!("{list}metadata.name%3D{one}")).is(200).lists(&[&one]);
    let namespaces = format!("/api/v1/namespaces?fieldSelector=status.phase%3DActive,metadata.name%3D{own}");
    harness.check(&NAMES, namespaces).is(200).lists(&[&own]);
}

fn unsupported_field_selectors(harness: &mut ConformanceHarness) {
    for (path, selector) in [
        ("pods", "spec.color%3Dred"),
        ("pods", "spec.nodeName"),
        ("pods", "spec.nodeName%3En1"),
        ("configmaps", "data.a%3Db"),
        ("pods", "metadata.uid%3D1"),
        ("pods", "%3Da"),
    ] {
        harness.get(harness.core(&format!("{path}?fieldSelector={selector}"))).rejected(400, "BadRequest");
    }
    harness.get("/api/v1/nodes?fieldSelector=spec.podCIDR%3Da").rejected(400, "BadRequest");
}

fn names_select_one(harness: &mut ConformanceHarness) {
    let (maps, own) = (maps(harness), harness.own.clone());
    let list = |selector: &str| format!("{maps}?fieldSelector={selector}");
    harness.check(&NAMES, list("metadata.name%3Db")).is(200).lists(&["b"]);
    harness.check(&NAMES, list("metadata.name!%3Db")).is(200).lists(&["a", "c"]);
    harness.check(&NAMES, list("metadata.name%3Dnone")).is(200).lists(&[]);
    harness.check(&NAMES, list(&format!("metadata.namespace%3D{own}"))).is(200).lists(&["a", "b", "c"]);
    harness.check(&NAMES, list("metadata.namespace%3Dnone")).is(200).lists(&[]);
}

fn both_select(harness: &mut ConformanceHarness) {
    let maps = maps(harness);
    let list = format!("{maps}?labelSelector=x&fieldSelector=metadata.name%3Db");
    harness.check(&NAMES, list).is(200).lists(&["b"]);
}

fn pages(harness: &mut ConformanceHarness) {
    let maps = maps(harness);
    let first = harness.get(format!("{maps}?limit=1")).is(200).has("/metadata/remainingItemCount", 2);
    let (more, version) = (first.text("/metadata/continue"), first.version());
    first.lists(&["a"]);
    // Objects created after the first page was read are on none of the other pages.
    harness.given(&maps, &json!({"metadata": {"name": "bb"}}));
    let second = harness.get(format!("{maps}?limit=1&continue={more}")).is(200);
    assert_eq!(second.version(), version, "all pages are of one version");
    let more = second.text("/metadata/continue");
    second.lists(&["b"]);
    let third = harness.get(format!("{maps}?limit=1&continue={more}")).is(200).lists(&["c"]);
    assert_eq!(third.version(), version);
    third.lacks("/metadata/continue").lacks("/metadata/remainingItemCount");
}

fn pages_at_a_version(harness: &mut ConformanceHarness) {
    let maps = maps(harness);
    let version = harness.get(&maps).is(200).version();
    harness.given(&maps, &json!({"metadata": {"name": "aa"}}));
    let exact = format!("{maps}?limit=2&resourceVersion={version}&resourceVersionMatch=Exact");
    harness.get(exact).is(200).lists(&["a", "b"]).some("/metadata/continue");
    harness.settle(&maps);
    let older = format!("{maps}?limit=2&resourceVersion={version}&resourceVersionMatch=NotOlderThan");
    harness.get(older).is(200).lists(&["a", "aa"]);
    harness.get(format!("{maps}?limit=2&resourceVersion={version}")).is(200);
}

fn a_page_and_how_many_remain(harness: &mut ConformanceHarness) {
    let maps = maps(harness);
    let selected = harness.get(format!("{maps}?limit=1&labelSelector=x")).is(200).lists(&["a"]);
    let more = selected.text("/metadata/continue");
    selected.lacks("/metadata/remainingItemCount");
    let last = harness.get(format!("{maps}?limit=1&labelSelector=x&continue={more}")).is(200);
    last.lists(&["b"]).lacks("/metadata/remainingItemCount");
    harness.get(format!("{maps}?limit=3")).is(200).lacks("/metadata/continue");
    harness.settle(&maps);
    harness.get(format!("{maps}?limit=2&resourceVersion=0")).is(200);
}

fn limits_that_are_none(harness: &mut ConformanceHarness) {
    let maps = maps(harness);
    for limit in ["0", "-1", "x", "", "99999999999999999999"] {
        harness.check(&NAMES, format!("{maps}?limit={limit}"));
    }
    harness.check(&NAMES, format!("{maps}?limit=0")).is(200).lists(&["a", "b", "c"]);
}

fn a_continuation_of_nothing(harness: &mut ConformanceHarness) {
    for token in ["nonsense", "%21", "e30", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MCwic3RhcnQiOiJhIn0"] {
        harness
            .get(harness.core(&format!("configmaps?limit=1&continue={token}")))
            .rejected(400, "BadRequest");
    }
}

fn a_continuation_too_old(harness: &mut ConformanceHarness) {
    let maps = maps(harness);
    // {"v":"meta.k8s.io/v1","rv":1,"start":"a\u0000"}
    let token = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhXHUwMDAwIn0";
    let expired = harness.get(format!("{maps}?limit=1&continue={token}")).rejected(410, "Expired");
    let more = expired.text("/metadata/continue");
    // A client that accepts an inconsistent list can continue where it stopped.
    harness.get(format!("{maps}?limit=1&continue={more}")).is(200).lists(&["b"]);
    let exact = harness.get(format!("{maps}?resourceVersion=1&resourceVersionMatch=Exact"));
    exact.rejected(410, "Expired");
}

fn a_continuation_with_a_version(harness: &mut ConformanceHarness) {
    let maps = maps(harness);
    let more = harness.get(format!("{maps}?limit=1")).is(200).text("/metadata/continue");
    for rest in ["resourceVersion=1", "resourceVersion=0", "resourceVersion=1&resourceVersionMatch=Exact"] {
        harness.get(format!("{maps}?limit=1&continue={more}&{rest}"));
    }
    harness.get(format!("{maps}?limit=1&continue={more}&resourceVersion=1")).is(400);
    harness.get(format!("{maps}?limit=1&continue={more}&resourceVersionMatch=Exact")).is(422);
}

fn a_continuation_of_another_list(harness: &mut ConformanceHarness) {
    let maps = maps(harness);
    let more = harness.get(format!("{maps}?limit=1")).is(200).text("/metadata/continue");
    harness.get(harness.core(&format!("pods?limit=1&continue={more}"))).is(200);
    // The limit may change, or be omitted.
    harness.get(format!("{maps}?continue={more}")).is(200).lists(&["b", "c"]);
}

fn versions_and_matches(harness: &mut ConformanceHarness) {
    let maps = maps(harness);
    let version = harness.get(&maps).is(200).version();
    for rest in [
        "resourceVersion=0".to_owned(),
        "resourceVersion=0&resourceVersionMatch=NotOlderThan".into(),
        "resourceVersion=0&resourceVersionMatch=Exact".into(),
        format!("resourceVersion={version}"),
        format!("resourceVersion={version}&resourceVersionMatch=NotOlderThan"),
        format!("resourceVersion={version}&resourceVersionMatch=Exact"),
        format!("resourceVersion={version}&resourceVersionMatch=Nonsense"),
        "resourceVersion=nonsense".into(),
        "resourceVersion=-1".into(),
        "resourceVersion=1".into(),
    ] {
        // A watch cache may lag: a list at version 0 may lack the latest objects.
        let stale = rest.starts_with("resourceVersion=0");
        harness.check(if stale { &["/kind"] } else { &NAMES }, format!("{maps}?{rest}"));
    }
    harness.get(format!("{maps}?resourceVersion={version}&resourceVersionMatch=Exact")).is(200);
    harness.get(format!("{maps}?resourceVersion=0&resourceVersionMatch=Exact")).rejected(422, "Invalid");
    harness.get(format!("{maps}?resourceVersion=nonsense")).rejected(400, "BadRequest");
}

fn matches_without_versions(harness: &mut ConformanceHarness) {
    for how in ["Exact", "NotOlderThan", "Nonsense", ""] {
        harness.check(&NAMES, harness.core(&format!("configmaps?resourceVersionMatch={how}")));
    }
    let exact = harness.get(harness.core("configmaps?resourceVersionMatch=Exact"));
    exact
        .rejected(422, "Invalid")
        .contains("resourceVersionMatch is forbidden unless resourceVersion is provided");
    harness.get(harness.core("configmaps?sendInitialEvents=true")).rejected(422, "Invalid");
}

fn a_version_of_the_future_to_list(harness: &mut ConformanceHarness) {
    let list = harness.get(harness.core("configmaps?resourceVersion=1000000000"));
    list.rejected(504, "Timeout").has("/details/causes/0/reason", "ResourceVersionTooLarge");
    let exact = harness.get(harness.core("configmaps?resourceVersion=1000000000&resourceVersionMatch=Exact"));
    assert!(matches!(exact.code, 504 | 500), "{}", exact.body);
}

fn an_exact_version(harness: &mut ConformanceHarness) {
    let maps = maps(harness);
    let version = harness.get(&maps).is(200).version();
    harness.delete(format!("{maps}/b")).is(200);
    let then = format!("{maps}?resourceVersion={version}&resourceVersionMatch=Exact");
    let list = harness.get(then).is(200);
    assert_eq!(list.version(), version);
    list.lists(&["a", "b", "c"]);
    harness.get(&maps).is(200).lists(&["a", "c"]);
}

fn everywhere(harness: &mut ConformanceHarness) {
    let (own, other) = (harness.own.clone(), harness.named("z"));
    harness.given("/api/v1/namespaces", &json!({"metadata": {"name": other}}));
    for namespace in [&other, &own] {
        let map = json!({"metadata": {"name": "m", "labels": {"case": own}}});
        harness.given(&format!("/api/v1/namespaces/{namespace}/configmaps"), &map);
    }
    let list = format!("/api/v1/configmaps?labelSelector=case%3D{own}");
    // Sorted by keys, in which a slash ends the namespace: `a-z/` comes before `a/`.
    let found = harness.get(list).is(200).has("/items/0/metadata/namespace", other.as_str());
    found.has("/items/1/metadata/namespace", own.as_str()).lacks("/items/2");
}

fn an_empty_list(harness: &mut ConformanceHarness) {
    harness
        .get(harness.core("pods"))
        .is(200)
        .has("/items", json!([]))
        .has("/kind", "PodList")
        .some("/metadata/resourceVersion");
    let leases = harness.group("coordination.k8s.io/v1", "leases");
    harness.get(leases).is(200).has("/apiVersion", "coordination.k8s.io/v1");
}

fn unknown_parameters(harness: &mut ConformanceHarness) {
    harness.get(harness.core("configmaps?color=red&timeoutSeconds=5&&")).is(200);
    harness.get(harness.core("configmaps?timeoutSeconds=x")).is(400);
    harness.get(harness.core("configmaps?watch=nonsense&timeoutSeconds=1")).is(200);
}
