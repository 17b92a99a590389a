//! Compares where watches begin and end: initial events, bookmarks, old and future versions, timeouts.

use super::cases;
use super::play::{MERGE, Play};
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

fn map(play: &mut Play, name: &str) {
    let path = play.core("configmaps");
    play.given(&path, &json!({"metadata": {"name": name}}));
}

fn initial_events(play: &mut Play) {
    map(play, "a");
    map(play, "b");
    let mut watch = play.watch(&play.core(&format!("configmaps?{INITIAL}")));
    watch.reports(play, "ADDED", "a");
    watch.reports(play, "ADDED", "b");
    let end = watch.next(play);
    assert_eq!((end.kind.as_str(), &end.object["kind"]), ("BOOKMARK", &json!("ConfigMap")));
    assert_eq!(end.object["metadata"]["annotations"][END], "true");
    map(play, "c");
    watch.reports(play, "ADDED", "c");
}

fn initial_events_of_nothing(play: &mut Play) {
    let mut watch = play.watch(&play.core(&format!("pods?{INITIAL}")));
    assert_eq!(watch.next(play).object["metadata"]["annotations"][END], "true");
}

fn initial_events_from_zero(play: &mut Play) {
    map(play, "a");
    play.settle(&play.core("configmaps"));
    let mut watch = play.watch(&play.core(&format!("configmaps?{INITIAL}&resourceVersion=0")));
    watch.reports(play, "ADDED", "a");
    assert_eq!(watch.next(play).kind, "BOOKMARK");
}

fn initial_events_from_a_version(play: &mut Play) {
    map(play, "a");
    map(play, "b");
    let version = play.check(&["/kind"], play.core("configmaps")).is(200).version();
    let mut watch = play.watch(&play.core(&format!("configmaps?{INITIAL}&resourceVersion={version}")));
    watch.reports(play, "ADDED", "a");
    watch.reports(play, "ADDED", "b");
    assert_eq!(watch.next(play).kind, "BOOKMARK");
}

fn initial_events_in_protobuf(play: &mut Play) {
    play.create_pod("a", &json!({"nodeName": "n1"}));
    play.create_pod("b", &json!({}));
    let path = play.core(&format!("pods?{INITIAL}&fieldSelector=spec.nodeName!%3D"));
    let mut watch = play.watch_as(&path, "application/vnd.kubernetes.protobuf");
    watch.reports(play, "ADDED", "a");
    let end = watch.next(play);
    assert_eq!(
        (end.kind.as_str(), &end.object["metadata"]["annotations"][END]),
        ("BOOKMARK", &json!("true"))
    );
}

fn initial_events_in_a_table(play: &mut Play) {
    play.create_pod("a", &json!({}));
    let form = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let mut watch = play.watch_as(&play.core(&format!("pods?{INITIAL}")), form);
    assert_eq!(watch.next(play).object["rows"][0]["cells"][0], "a");
    assert_eq!(watch.next(play).kind, "BOOKMARK");
}

fn initial_events_selected(play: &mut Play) {
    let path = play.core("configmaps");
    map(play, "a");
    play.given(&path, &json!({"metadata": {"name": "b", "labels": {"x": "1"}}}));
    let mut watch = play.watch(&format!("{path}?{INITIAL}&labelSelector=x%3D1"));
    watch.reports(play, "ADDED", "b");
    assert_eq!(watch.next(play).kind, "BOOKMARK");
}

fn no_initial_events(play: &mut Play) {
    map(play, "a");
    let path = play.core(
        "configmaps?watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&timeoutSeconds=20",
    );
    let mut watch = play.watch(&path);
    map(play, "b");
    watch.reports(play, "ADDED", "b");
}

fn invalid_initial_events(play: &mut Play) {
    for rest in [
        "sendInitialEvents=true",
        "sendInitialEvents=true&resourceVersionMatch=Exact",
        "sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=0",
        "sendInitialEvents=true&resourceVersionMatch=Nonsense",
        "resourceVersionMatch=NotOlderThan",
        "resourceVersionMatch=NotOlderThan&resourceVersion=0",
    ] {
        play.get(play.core(&format!("configmaps?watch=true&timeoutSeconds=1&{rest}")))
            .rejected(422, "Invalid");
    }
    let nonsense = play.core("configmaps?watch=true&timeoutSeconds=1&sendInitialEvents=nonsense");
    play.get(nonsense);
    // Without bookmarks, nothing could mark the end of initial events.
    map(play, "a");
    let silent =
        "configmaps?watch=true&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    play.get(play.core(silent));
}

fn a_version_too_old(play: &mut Play) {
    let ended = play.get(play.core("configmaps?watch=true&resourceVersion=1&timeoutSeconds=5"));
    ended.is(200).has("/type", "ERROR").has("/object/code", 410).has("/object/reason", "Expired");
}

fn a_version_too_old_in_protobuf(play: &mut Play) {
    let path = play.core("configmaps?watch=true&resourceVersion=1&timeoutSeconds=5");
    let ended = play.get_as(path, "application/vnd.kubernetes.protobuf").is(200);
    ended.has("/0/type", "ERROR").has("/0/object/code", 410).has("/0/object/kind", "Status");
}

fn a_version_of_the_future(play: &mut Play) {
    // The server waits for this version, and sends nothing older meanwhile.
    map(play, "a");
    play.get(play.core("configmaps?watch=true&resourceVersion=1000000000&timeoutSeconds=1")).is(200);
}

fn a_version_that_is_none(play: &mut Play) {
    for version in ["nonsense", "-1", "1.5", "99999999999999999999999"] {
        let path = play.core(&format!("configmaps?watch=true&timeoutSeconds=1&resourceVersion={version}"));
        play.get(path);
    }
}

fn it_ends_in_time(play: &mut Play) {
    let began = std::time::Instant::now();
    let mut watch = play.watch(&play.core("configmaps?watch=true&timeoutSeconds=1"));
    watch.ends(play);
    assert!(began.elapsed().as_millis() >= 900, "not before its time: {:?}", began.elapsed());
}

fn a_time_that_is_none(play: &mut Play) {
    play.get(play.core("configmaps?watch=true&timeoutSeconds=x")).rejected(400, "BadRequest");
    play.get(play.core("configmaps?watch=true&timeoutSeconds=1&timeout=1s"));
}

fn no_bookmarks_by_default(play: &mut Play) {
    map(play, "a");
    play.settle(&play.core("configmaps"));
    let path = play.core("configmaps?watch=true&resourceVersion=0&timeoutSeconds=2");
    play.get(path).is(200).has("/type", "ADDED");
}

fn a_bookmark_before_the_end(play: &mut Play) {
    let version = play.check(&["/kind"], play.core("configmaps")).is(200).version();
    let path = format!(
        "configmaps?watch=true&labelSelector=x%3D1&allowWatchBookmarks=true&resourceVersion={version}"
    );
    let mut watch = play.watch(&play.core(&format!("{path}&timeoutSeconds=5")));
    map(play, "a");
    // In its last two seconds a watch sends one or two bookmarks, so that a client can continue from there.
    let bookmark = watch.bookmark(play);
    assert_eq!(bookmark.object["kind"], "ConfigMap");
    assert_eq!(bookmark.object["metadata"].as_object().unwrap().len(), 1, "{}", bookmark.object);
}

fn deleted_and_recreated(play: &mut Play) {
    let path = play.core("configmaps");
    let version = play.check(&["/kind"], &path).is(200).version();
    map(play, "a");
    let gone = play.delete(format!("{path}/a")).is(200);
    assert_eq!(gone.body["status"], "Success");
    map(play, "a");
    let mut watch = play.watch(&format!("{path}?watch=true&resourceVersion={version}&timeoutSeconds=20"));
    let first = watch.reports(play, "ADDED", "a");
    let last = watch.reports(play, "DELETED", "a");
    let again = watch.reports(play, "ADDED", "a");
    let number = |event: &super::watching::Event| {
        event.object["metadata"]["resourceVersion"].as_str().unwrap().parse::<u64>().unwrap()
    };
    assert!(number(&first) < number(&last) && number(&last) < number(&again), "a deletion is a version, too");
}

fn in_the_order_of_versions(play: &mut Play) {
    let path = play.core("configmaps");
    let version = play.check(&["/kind"], &path).is(200).version();
    for name in ["c", "a", "b"] {
        map(play, name);
    }
    play.arranged(&format!("{path}/c"), MERGE, &json!({"data": {"x": "y"}}));
    let mut watch = play.watch(&format!("{path}?watch=true&resourceVersion={version}&timeoutSeconds=20"));
    for (kind, name) in [("ADDED", "c"), ("ADDED", "a"), ("ADDED", "b"), ("MODIFIED", "c")] {
        watch.reports(play, kind, name);
    }
}

fn many_watches_receive_the_same(play: &mut Play) {
    let path = play.core("configmaps?watch=true&timeoutSeconds=20");
    let mut watches: Vec<_> = (0..5).map(|_| play.watch(&path)).collect();
    map(play, "a");
    for watch in &mut watches {
        watch.reports(play, "ADDED", "a");
    }
}

fn a_limit_means_nothing(play: &mut Play) {
    map(play, "a");
    map(play, "b");
    play.check(&["/*/object/metadata/name"], play.core("configmaps?watch=true&limit=1&timeoutSeconds=1"))
        .is(200)
        .some("/1");
    play.get(play.core("configmaps?watch=true&continue=abc&timeoutSeconds=1"));
}

fn a_single_object_is_watched_by_a_list(play: &mut Play) {
    map(play, "a");
    let path = play.core("configmaps/a?watch=true&timeoutSeconds=1");
    play.get(path).is(200);
}
