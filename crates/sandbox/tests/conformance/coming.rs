//! Compares where watches begin and end: initial events, bookmarks, old and future versions, timeouts.

use super::cases;
use super::harness::{ConformanceHarness, MERGE};
use super::watching::INITIAL_EVENTS_END as END;
use serde_json::json;

cases![
    initial_events,
    initial_events_of_nothing,
    initial_events_from_zero,
    initial_events_from_a_version,
    initial_events_in_protobuf,
    initial_events_in_a_table,
    initial_events_selected,
    no_initial_events,
    invalid_initial_events,
    a_version_too_old,
    a_version_too_old_in_protobuf,
    a_version_of_the_future,
    a_version_that_is_none,
    it_ends_in_time,
    a_time_that_is_none,
    no_bookmarks_by_default,
    a_bookmark_before_the_end,
    deleted_and_recreated,
    in_the_order_of_versions,
    many_watches_receive_the_same,
    a_limit_means_nothing,
    a_single_object_is_watched_by_a_list,
];

const INITIAL: &str = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=20";

fn map(harness: &mut ConformanceHarness, name: &str) {
    let path = harness.core("configmaps");
    harness.given(&path, &json!({"metadata": {"name": name}}));
}

fn initial_events(harness: &mut ConformanceHarness) {
    map(harness, "a");
    map(harness, "b");
    let mut watch = harness.watch(&harness.core(&format!("configmaps?{INITIAL}")));
    watch.reports(harness, "ADDED", "a");
    watch.reports(harness, "ADDED", "b");
    let end = watch.next(harness);
    assert_eq!((end.kind.as_str(), &end.object["kind"]), ("BOOKMARK", &json!("ConfigMap")));
    assert_eq!(end.object["metadata"]["annotations"][END], "true");
    map(harness, "c");
    watch.reports(harness, "ADDED", "c");
}

fn initial_events_of_nothing(harness: &mut ConformanceHarness) {
    let mut watch = harness.watch(&harness.core(&format!("pods?{INITIAL}")));
    assert_eq!(watch.next(harness).object["metadata"]["annotations"][END], "true");
}

fn initial_events_from_zero(harness: &mut ConformanceHarness) {
    map(harness, "a");
    harness.settle(&harness.core("configmaps"));
    let mut watch = harness.watch(&harness.core(&format!("configmaps?{INITIAL}&resourceVersion=0")));
    watch.reports(harness, "ADDED", "a");
    assert_eq!(watch.next(harness).kind, "BOOKMARK");
}

fn initial_events_from_a_version(harness: &mut ConformanceHarness) {
    map(harness, "a");
    map(harness, "b");
    let version = harness.check(&["/kind"], harness.core("configmaps")).is(200).version();
    let mut watch = harness.watch(&harness.core(&format!("configmaps?{INITIAL}&resourceVersion={version}")));
    watch.reports(harness, "ADDED", "a");
    watch.reports(harness, "ADDED", "b");
    assert_eq!(watch.next(harness).kind, "BOOKMARK");
}

fn initial_events_in_protobuf(harness: &mut ConformanceHarness) {
    harness.create_pod("a", &json!({"nodeName": "n1"}));
    harness.create_pod("b", &json!({}));
    let path = harness.core(&format!("pods?{INITIAL}&fieldSelector=spec.nodeName!%3D"));
    let mut watch = harness.watch_as(&path, "application/vnd.kubernetes.protobuf");
    watch.reports(harness, "ADDED", "a");
    let end = watch.next(harness);
    assert_eq!(
        (end.kind.as_str(), &end.object["metadata"]["annotations"][END]),
        ("BOOKMARK", &json!("true"))
    );
}

fn initial_events_in_a_table(harness: &mut ConformanceHarness) {
    harness.create_pod("a", &json!({}));
    let form = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let mut watch = harness.watch_as(&harness.core(&format!("pods?{INITIAL}")), form);
    assert_eq!(watch.next(harness).object["rows"][0]["cells"][0], "a");
    assert_eq!(watch.next(harness).kind, "BOOKMARK");
}

fn initial_events_selected(harness: &mut ConformanceHarness) {
    let path = harness.core("configmaps");
    map(harness, "a");
    harness.given(&path, &json!({"metadata": {"name": "b", "labels": {"x": "1"}}}));
    let mut watch = harness.watch(&format!("{path}?{INITIAL}&labelSelector=x%3D1"));
    watch.reports(harness, "ADDED", "b");
    assert_eq!(watch.next(harness).kind, "BOOKMARK");
}

fn no_initial_events(harness: &mut ConformanceHarness) {
    map(harness, "a");
    let path = harness.core(
        "configmaps?watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&timeoutSeconds=20",
    );
    let mut watch = harness.watch(&path);
    map(harness, "b");
    watch.reports(harness, "ADDED", "b");
}

fn invalid_initial_events(harness: &mut ConformanceHarness) {
    for rest in [
        "sendInitialEvents=true",
        "sendInitialEvents=true&resourceVersionMatch=Exact",
        "sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=0",
        "sendInitialEvents=true&resourceVersionMatch=Nonsense",
        "resourceVersionMatch=NotOlderThan",
        "resourceVersionMatch=NotOlderThan&resourceVersion=0",
    ] {
        harness
            .get(harness.core(&format!("configmaps?watch=true&timeoutSeconds=1&{rest}")))
            .rejected(422, "Invalid");
    }
    let nonsense = harness.core("configmaps?watch=true&timeoutSeconds=1&sendInitialEvents=nonsense");
    harness.get(nonsense);
    // Without bookmarks, nothing could mark the end of initial events.
    map(harness, "a");
    let silent =
        "configmaps?watch=true&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    harness.get(harness.core(silent));
}

fn a_version_too_old(harness: &mut ConformanceHarness) {
    let ended = harness.get(harness.core("configmaps?watch=true&resourceVersion=1&timeoutSeconds=5"));
    ended.is(200).has("/type", "ERROR").has("/object/code", 410).has("/object/reason", "Expired");
}

fn a_version_too_old_in_protobuf(harness: &mut ConformanceHarness) {
    let path = harness.core("configmaps?watch=true&resourceVersion=1&timeoutSeconds=5");
    let ended = harness.get_as(path, "application/vnd.kubernetes.protobuf").is(200);
    ended.has("/0/type", "ERROR").has("/0/object/code", 410).has("/0/object/kind", "Status");
}

fn a_version_of_the_future(harness: &mut ConformanceHarness) {
    // The server waits for this version, and sends nothing older meanwhile.
    map(harness, "a");
    harness.get(harness.core("configmaps?watch=true&resourceVersion=1000000000&timeoutSeconds=1")).is(200);
}

fn a_version_that_is_none(harness: &mut ConformanceHarness) {
    for version in ["nonsense", "-1", "1.5", "99999999999999999999999"] {
        let path = harness.core(&format!("configmaps?watch=true&timeoutSeconds=1&resourceVersion={version}"));
        harness.get(path);
    }
}

fn it_ends_in_time(harness: &mut ConformanceHarness) {
    let began = std::time::Instant::now();
    let mut watch = harness.watch(&harness.core("configmaps?watch=true&timeoutSeconds=1"));
    watch.ends(harness);
    assert!(began.elapsed().as_millis() >= 900, "not before its time: {:?}", began.elapsed());
}

fn a_time_that_is_none(harness: &mut ConformanceHarness) {
    harness.get(harness.core("configmaps?watch=true&timeoutSeconds=x")).rejected(400, "BadRequest");
    harness.get(harness.core("configmaps?watch=true&timeoutSeconds=1&timeout=1s"));
}

fn no_bookmarks_by_default(harness: &mut ConformanceHarness) {
    map(harness, "a");
    harness.settle(&harness.core("configmaps"));
    let path = harness.core("configmaps?watch=true&resourceVersion=0&timeoutSeconds=2");
    harness.get(path).is(200).has("/type", "ADDED");
}

fn a_bookmark_before_the_end(harness: &mut ConformanceHarness) {
    let version = harness.check(&["/kind"], harness.core("configmaps")).is(200).version();
    let path = format!(
        "configmaps?watch=true&labelSelector=x%3D1&allowWatchBookmarks=true&resourceVersion={version}"
    );
    let mut watch = harness.watch(&harness.core(&format!("{path}&timeoutSeconds=5")));
    map(harness, "a");
    // In its last two seconds a watch sends one or two bookmarks, so that a client can continue from there.
    let bookmark = watch.bookmark(harness);
    assert_eq!(bookmark.object["kind"], "ConfigMap");
    assert_eq!(bookmark.object["metadata"].as_object().unwrap().len(), 1, "{}", bookmark.object);
}

fn deleted_and_recreated(harness: &mut ConformanceHarness) {
    let path = harness.core("configmaps");
    let version = harness.check(&["/kind"], &path).is(200).version();
    map(harness, "a");
    let gone = harness.delete(format!("{path}/a")).is(200);
    assert_eq!(gone.body["status"], "Success");
    map(harness, "a");
    let mut watch = harness.watch(&format!("{path}?watch=true&resourceVersion={version}&timeoutSeconds=20"));
    let first = watch.reports(harness, "ADDED", "a");
    let last = watch.reports(harness, "DELETED", "a");
    let again = watch.reports(harness, "ADDED", "a");
    let number = |event: &super::watching::WatchedEvent| {
        event.object["metadata"]["resourceVersion"].as_str().unwrap().parse::<u64>().unwrap()
    };
    assert!(number(&first) < number(&last) && number(&last) < number(&again), "a deletion is a version, too");
}

fn in_the_order_of_versions(harness: &mut ConformanceHarness) {
    let path = harness.core("configmaps");
    let version = harness.check(&["/kind"], &path).is(200).version();
    for name in ["c", "a", "b"] {
        map(harness, name);
    }
    harness.arranged(&format!("{path}/c"), MERGE, &json!({"data": {"x": "y"}}));
    let mut watch = harness.watch(&format!("{path}?watch=true&resourceVersion={version}&timeoutSeconds=20"));
    for (kind, name) in [("ADDED", "c"), ("ADDED", "a"), ("ADDED", "b"), ("MODIFIED", "c")] {
        watch.reports(harness, kind, name);
    }
}

fn many_watches_receive_the_same(harness: &mut ConformanceHarness) {
    let path = harness.core("configmaps?watch=true&timeoutSeconds=20");
    let mut watches: Vec<_> = (0..5).map(|_| harness.watch(&path)).collect();
    map(harness, "a");
    for watch in &mut watches {
        watch.reports(harness, "ADDED", "a");
    }
}

fn a_limit_means_nothing(harness: &mut ConformanceHarness) {
    map(harness, "a");
    map(harness, "b");
    harness
        .check(&["/*/object/metadata/name"], harness.core("configmaps?watch=true&limit=1&timeoutSeconds=1"))
        .is(200)
        .some("/1");
    harness.get(harness.core("configmaps?watch=true&continue=abc&timeoutSeconds=1"));
}

fn a_single_object_is_watched_by_a_list(harness: &mut ConformanceHarness) {
    map(harness, "a");
    let path = harness.core("configmaps/a?watch=true&timeoutSeconds=1");
    harness.get(path).is(200);
}
