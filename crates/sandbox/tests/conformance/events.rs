//! Compares Events of both groups, and Leases.

use super::cases;
use super::harness::{APPLY, ConformanceHarness, MERGE};
use serde_json::{Value, json};

cases![
    an_event_of_the_core,
    an_event_of_the_new_group,
    what_events_must_have,
    what_new_events_must_have,
    an_event_elsewhere,
    events_are_selected_by_their_object,
    new_events_are_selected,
    new_events_are_watched_by_their_object,
    a_series,
    events_are_watched_in_both,
    a_lease,
    a_lease_that_can_not_be,
    a_lease_is_renewed,
    a_lease_is_applied,
];

fn old(harness: &ConformanceHarness, name: &str) -> Value {
    json!({"metadata": {"name": name}, "reason": "Gone", "message": "it went", "type": "Normal", "count": 3,
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", "name": "p", "namespace": harness.own,
            "uid": "u", "resourceVersion": "7", "fieldPath": "spec"},
        "source": {"component": "here", "host": "n1"},
        "firstTimestamp": "2001-01-01T00:00:00Z", "lastTimestamp": "2001-01-01T00:01:00Z"})
}

fn new(harness: &ConformanceHarness, name: &str) -> Value {
    json!({"metadata": {"name": name}, "reason": "Gone", "note": "it went", "type": "Warning", "action": "Going",
        "regarding": {"apiVersion": "v1", "kind": "Pod", "name": "p", "namespace": harness.own, "uid": "u"},
        "related": {"kind": "Node", "name": "n"},
        "reportingController": "example.com/here", "reportingInstance": "here-1",
        "eventTime": "2001-01-01T00:00:00.000001Z"})
}

fn an_event_of_the_core(harness: &mut ConformanceHarness) {
    let (path, event) = (harness.core("events"), old(harness, "e"));
    harness.post(path, &event).is(201).has("/count", 3).has("/kind", "Event");
    let seen = harness.get(harness.group("events.k8s.io/v1", "events/e")).is(200);
    seen.has("/regarding/name", "p").has("/note", "it went").has("/deprecatedCount", 3);
}

fn an_event_of_the_new_group(harness: &mut ConformanceHarness) {
    let (path, event) = (harness.group("events.k8s.io/v1", "events"), new(harness, "e"));
    harness.post(path, &event).is(201).has("/apiVersion", "events.k8s.io/v1");
    let seen = harness.get(harness.core("events/e")).is(200);
    seen.has("/involvedObject/name", "p")
        .has("/message", "it went")
        .has("/reportingComponent", "example.com/here");
}

fn what_events_must_have(harness: &mut ConformanceHarness) {
    let path = harness.core("events");
    let mut event = old(harness, "e");
    event["involvedObject"]["namespace"] = "elsewhere".into();
    harness.post(&path, &event).rejected(422, "Invalid");
    let bare = json!({"metadata": {"name": "bare"}, "involvedObject": {"namespace": harness.own}});
    harness.post(&path, &bare).is(201);
    harness.post(&path, &json!({"metadata": {"name": "barer"}}));
    let odd =
        json!({"metadata": {"name": "odd"}, "type": "Odd", "involvedObject": {"namespace": harness.own}});
    harness.post(&path, &odd);
}

fn what_new_events_must_have(harness: &mut ConformanceHarness) {
    let path = harness.group("events.k8s.io/v1", "events");
    for (field, value) in [
        ("reason", json!("")),
        ("action", json!("")),
        ("reportingController", json!("")),
        ("reportingController", json!("a b")),
        ("reportingInstance", json!("")),
        ("type", json!("Odd")),
        ("eventTime", Value::Null),
        ("note", json!("x".repeat(1025))),
        ("reason", json!("x".repeat(129))),
        ("deprecatedCount", json!(1)),
    ] {
        let mut event = new(harness, "e");
        event[field] = value;
        harness.post(&path, &event).rejected(422, "Invalid");
    }
}

fn an_event_elsewhere(harness: &mut ConformanceHarness) {
    let node =
        json!({"metadata": {"name": "n"}, "involvedObject": {"kind": "Node", "name": "n1"}, "reason": "R"});
    harness.post("/api/v1/namespaces/default/events?dryRun=All", &node).is(201);
    harness.post(harness.core("events"), &node);
    let mut event = new(harness, "e");
    event["regarding"] = json!({"kind": "Node", "name": "n1"});
    harness.post(harness.group("events.k8s.io/v1", "events"), &event);
}

const NAMES: [&str; 2] = ["/kind", "/items/*/metadata/name"];

fn events_are_selected_by_their_object(harness: &mut ConformanceHarness) {
    let path = harness.core("events");
    for (name, object) in [("a", "p"), ("b", "q")] {
        let mut event = old(harness, name);
        event["involvedObject"]["name"] = object.into();
        harness.given(&path, &event);
    }
    for (selector, names) in [
        ("involvedObject.name%3Dp", &["a"][..]),
        ("involvedObject.name%3Dp,involvedObject.kind%3DPod,involvedObject.uid%3Du", &["a"]),
        ("involvedObject.kind%3DNode", &[]),
        ("reason%3DGone,type!%3DWarning", &["a", "b"]),
        ("source%3Dhere", &["a", "b"]),
        ("reportingComponent%3Dhere", &[]),
        ("involvedObject.fieldPath%3Dspec,involvedObject.apiVersion%3Dv1", &["a", "b"]),
    ] {
        harness.check(&NAMES, format!("{path}?fieldSelector={selector}")).is(200).lists(names);
    }
    harness.get(format!("{path}?fieldSelector=message%3Da")).rejected(400, "BadRequest");
}

fn new_events_are_selected(harness: &mut ConformanceHarness) {
    let path = harness.group("events.k8s.io/v1", "events");
    for (name, object) in [("a", "p"), ("b", "q")] {
        let mut event = new(harness, name);
        event["regarding"]["name"] = object.into();
        harness.given(&path, &event);
    }
    let core = harness.core("events");
    let event = old(harness, "c");
    harness.given(&core, &event);
    let own = harness.own.clone();
    for (selector, names) in [
        ("regarding.name%3Dp", &["a", "c"][..]),
        ("regarding.name%3Dq,regarding.kind%3DPod,regarding.uid%3Du", &["b"]),
        ("regarding.kind!%3DPod", &[]),
        (&format!("regarding.namespace%3D{own}"), &["a", "b", "c"]),
        ("regarding.apiVersion%3Dv1,regarding.fieldPath%3Dspec,regarding.resourceVersion%3D7", &["c"]),
        ("reason%3DGone,type%3DWarning", &["a", "b"]),
        ("reportingController%3Dexample.com/here", &["a", "b"]),
        ("reportingController%3D", &["c"]),
        ("metadata.name%3Db", &["b"]),
        (&format!("metadata.namespace!%3D{own}"), &[]),
    ] {
        harness.check(&NAMES, format!("{path}?fieldSelector={selector}")).is(200).lists(names);
    }
    // An event without a source has its controller as its source.
    harness
        .check(&NAMES, format!("{core}?fieldSelector=source%3Dexample.com/here"))
        .is(200)
        .lists(&["a", "b"]);
    for selector in [
        "involvedObject.name%3Dp",
        "reportingComponent%3Dhere",
        "source%3Dhere",
        "note%3Dit",
        "action%3DGoing",
        "regarding%3Dp",
        "related.name%3Dn",
        "reportingInstance%3Dhere-1",
        "metadata.uid%3Du",
    ] {
        harness.get(format!("{path}?fieldSelector={selector}")).rejected(400, "BadRequest");
    }
    for selector in ["regarding.name%3Dp", "reportingController%3Dhere"] {
        harness.get(format!("{core}?fieldSelector={selector}")).rejected(400, "BadRequest");
    }
}

fn new_events_are_watched_by_their_object(harness: &mut ConformanceHarness) {
    let path = harness.group("events.k8s.io/v1", "events");
    let selected = format!("{path}?watch=true&fieldSelector=regarding.name%3Dq&timeoutSeconds=20");
    let mut watch = harness.watch(&selected);
    for (name, object) in [("a", "p"), ("b", "q")] {
        let mut event = new(harness, name);
        event["regarding"]["name"] = object.into();
        harness.given(&path, &event);
    }
    watch.reports(harness, "ADDED", "b");
}

fn a_series(harness: &mut ConformanceHarness) {
    let path = harness.group("events.k8s.io/v1", "events");
    let event = new(harness, "e");
    harness.given(&path, &event);
    let series =
        |count: i64| json!({"series": {"count": count, "lastObservedTime": "2001-01-01T00:00:09.000000Z"}});
    harness.patch(format!("{path}/e"), MERGE, &series(2)).is(200).has("/series/count", 2);
    harness.patch(format!("{path}/e"), MERGE, &series(1)).rejected(422, "Invalid");
    harness.patch(format!("{path}/e"), MERGE, &json!({"note": "another"})).rejected(422, "Invalid");
    harness.patch(harness.core("events/e"), MERGE, &json!({"count": 5})).is(200);
}

fn events_are_watched_in_both(harness: &mut ConformanceHarness) {
    let mut new_watch =
        harness.watch(&harness.group("events.k8s.io/v1", "events?watch=true&timeoutSeconds=20"));
    let mut old_watch = harness.watch(&harness.core("events?watch=true&timeoutSeconds=20"));
    let event = old(harness, "e");
    harness.given(&harness.core("events"), &event);
    let seen = new_watch.reports(harness, "ADDED", "e");
    assert_eq!(seen.object["apiVersion"], "events.k8s.io/v1");
    let seen = old_watch.reports(harness, "ADDED", "e");
    assert_eq!(seen.object["apiVersion"], "v1");
}

fn leases(harness: &ConformanceHarness) -> String {
    harness.group("coordination.k8s.io/v1", "leases")
}

fn a_lease(harness: &mut ConformanceHarness) {
    let path = leases(harness);
    let spec = json!({"holderIdentity": "me", "leaseDurationSeconds": 15, "leaseTransitions": 0,
        "acquireTime": "2001-01-01T02:00:00.000000+02:00", "renewTime": "2001-01-01T00:00:00.123456Z"});
    let made = harness.post(&path, &json!({"metadata": {"name": "l"}, "spec": spec})).is(201);
    made.has("/spec/renewTime", "2001-01-01T00:00:00.123456Z")
        .has("/spec/acquireTime", "2001-01-01T00:00:00.000000Z");
    harness.get(format!("{path}/l")).is(200).has("/spec/leaseTransitions", 0);
    harness.post(&path, &json!({"metadata": {"name": "empty"}})).is(201).has("/spec", json!({}));
}

fn a_lease_that_can_not_be(harness: &mut ConformanceHarness) {
    for spec in [
        json!({"leaseDurationSeconds": 0}),
        json!({"leaseTransitions": -1}),
        json!({"strategy": "OldestEmulationVersion"}),
        json!({"holderIdentity": ""}),
        json!({"preferredHolder": "x"}),
    ] {
        harness.post(
            format!("{}?dryRun=All", leases(harness)),
            &json!({"metadata": {"name": "l"}, "spec": spec}),
        );
    }
    let zero = json!({"metadata": {"name": "l"}, "spec": {"leaseDurationSeconds": 0}});
    harness.post(leases(harness), &zero).rejected(422, "Invalid");
    for time in ["now", "2001-01-01T00:00:00Z", "2001-01-01T00:00:00.1234567Z", "2001-01-01T00:00:00.1Z"] {
        let spec = json!({"renewTime": time});
        let lease = json!({"metadata": {"name": "l"}, "spec": spec});
        harness.post(leases(harness), &lease).rejected(400, "BadRequest");
    }
}

fn a_lease_is_renewed(harness: &mut ConformanceHarness) {
    let path = leases(harness);
    let mut lease =
        harness.given(&path, &json!({"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}}));
    lease["spec"]["renewTime"] = "2001-01-01T00:00:00.000001Z".into();
    harness.put(format!("{path}/l"), &lease).is(200);
    lease["spec"]["holderIdentity"] = "you".into();
    harness.put(format!("{path}/l"), &lease).rejected(409, "Conflict");
    harness.patch(format!("{path}/l"), MERGE, &json!({"spec": {"holderIdentity": null}})).is(200);
    harness.get(format!("{path}/l/status")).rejected(404, "NotFound");
}

fn a_lease_is_applied(harness: &mut ConformanceHarness) {
    let path = format!("{}/l?fieldManager=one", leases(harness));
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"},
        "spec": {"holderIdentity": "me"}});
    harness.patch(path, APPLY, &lease).is(201).has("/spec/holderIdentity", "me");
}
