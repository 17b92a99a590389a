//! Services: addresses and ports are allocated, kept, given back, and refused where others have them.

use super::cases;
use super::play::{MERGE, Play};
use serde_json::{Value, json};

cases![
    an_address_is_allocated_and_kept,
    two_services_have_two_addresses,
    an_address_that_is_taken,
    an_address_does_not_change,
    headless_services_have_none,
    a_name_outside_has_no_address,
    ports_of_nodes,
    a_port_of_nodes_that_cannot_be,
];

/// What a Service has, but for its addresses.
const PLACES: [&str; 6] = [
    "/spec/type",
    "/spec/ipFamilies",
    "/spec/ipFamilyPolicy",
    "/spec/sessionAffinity",
    "/spec/internalTrafficPolicy",
    "/status",
];

fn service(name: &str, spec: Value) -> Value {
    let mut spec = spec;
    if spec["ports"].is_null() && spec["type"] != "ExternalName" {
        spec["ports"] = json!([{"port": 80}]);
    }
    json!({"metadata": {"name": name}, "spec": spec})
}

/// An address of either server's range.
#[track_caller]
fn is_address(text: &str) {
    assert!(text.starts_with("10."), "{text}");
}

fn an_address_is_allocated_and_kept(play: &mut Play) {
    let path = play.core("services");
    let made = play.keeping(&PLACES).post(&path, &service("a", json!({"selector": {"a": "b"}}))).is(201);
    let address = made.text("/spec/clusterIP");
    is_address(&address);
    made.has("/spec/clusterIPs", json!([address])).has("/spec/ipFamilies", json!(["IPv4"]));
    let mut body = service("a", json!({"selector": {"a": "c"}}));
    body["metadata"]["resourceVersion"] = play.look(&PLACES, format!("{path}/a")).is(200).version().into();
    let put = play.keeping(&PLACES).put(format!("{path}/a"), &body).is(200);
    put.has("/spec/clusterIP", address.clone()).has("/spec/selector/a", "c");
    let patch = json!({"spec": {"ports": [{"port": 81}]}});
    let patched = play.keeping(&PLACES).patch(format!("{path}/a"), MERGE, &patch).is(200);
    patched.has("/spec/clusterIP", address).has("/spec/ports/0/port", 81);
}

fn two_services_have_two_addresses(play: &mut Play) {
    let path = play.core("services");
    let mut seen = std::collections::BTreeSet::new();
    for name in ["a", "b", "c"] {
        let made = play.keeping(&PLACES).post(&path, &service(name, json!({}))).is(201);
        assert!(seen.insert(made.text("/spec/clusterIP")), "{seen:?}");
    }
}

fn an_address_that_is_taken(play: &mut Play) {
    let path = play.core("services");
    let taken = play.keeping(&PLACES).post(&path, &service("a", json!({}))).is(201).text("/spec/clusterIP");
    let again =
        play.ask(&super::play::Ask::new("POST", &path).json(&service("b", json!({"clusterIP": taken}))));
    again
        .refused(422, "Invalid")
        .says(&format!("failed to allocate IP {taken}: provided IP is already allocated"));
    // Once it is given back, it can be had.
    play.keeping(&["/status"]).delete(format!("{path}/a")).is(200);
    let asked = service("b", json!({"clusterIP": taken}));
    play.keeping(&PLACES).post(&path, &asked).is(201).has("/spec/clusterIP", taken);
}

fn an_address_does_not_change(play: &mut Play) {
    let path = play.core("services");
    play.keeping(&PLACES).post(&path, &service("a", json!({}))).is(201);
    let patch = json!({"spec": {"clusterIP": "10.0.0.250", "clusterIPs": ["10.0.0.250"]}});
    play.patch(format!("{path}/a"), MERGE, &patch).refused(422, "Invalid").says("may not change once set");
}

fn headless_services_have_none(play: &mut Play) {
    let path = play.core("services");
    let chosen = json!({"clusterIP": "None", "selector": {"a": "b"}});
    let made = play.post(&path, &service("a", chosen)).is(201);
    made.has("/spec/clusterIPs", json!(["None"])).has("/spec/ipFamilyPolicy", "SingleStack");
    let made = play.post(&path, &service("b", json!({"clusterIP": "None"}))).is(201);
    made.has("/spec/ipFamilyPolicy", "RequireDualStack").has("/spec/ipFamilies", json!(["IPv4", "IPv6"]));
}

fn a_name_outside_has_no_address(play: &mut Play) {
    let path = play.core("services");
    let outside = json!({"type": "ExternalName", "externalName": "a.example"});
    play.post(&path, &service("a", outside.clone()))
        .is(201)
        .lacks("/spec/clusterIP")
        .lacks("/spec/clusterIPs");
    play.keeping(&PLACES).post(&path, &service("b", json!({}))).is(201);
    // It gives its address back when it becomes one, and gets one when it ceases to be one.
    play.patch(format!("{path}/b"), MERGE, &json!({"spec": outside})).is(200).lacks("/spec/clusterIP");
    let patch = json!({"spec": {"type": "ClusterIP", "externalName": null, "ports": [{"port": 80}]}});
    let made = play.keeping(&PLACES).patch(format!("{path}/a"), MERGE, &patch).is(200);
    is_address(&made.text("/spec/clusterIP"));
}

fn ports_of_nodes(play: &mut Play) {
    let path = play.core("services");
    let ports = json!([{"name": "a", "port": 80}, {"name": "b", "port": 81}]);
    let made =
        play.keeping(&PLACES).post(&path, &service("a", json!({"type": "NodePort", "ports": ports}))).is(201);
    let port = |at: &str| made.body.pointer(at).and_then(Value::as_i64).unwrap_or_default();
    let (a, b) = (port("/spec/ports/0/nodePort"), port("/spec/ports/1/nodePort"));
    assert!(a != b && [a, b].iter().all(|port| (30_000..=32_767).contains(port)), "{a} {b}");
    let patch = json!({"spec": {"ports": [{"name": "b", "port": 82}, {"name": "c", "port": 80}]}});
    let patched = play.keeping(&PLACES).patch(format!("{path}/a"), MERGE, &patch).is(200);
    patched.has("/spec/ports/0/nodePort", b).some("/spec/ports/1/nodePort");
    let patch = json!({"spec": {"type": "ClusterIP"}});
    play.keeping(&PLACES).patch(format!("{path}/a"), MERGE, &patch).is(200).lacks("/spec/ports/0/nodePort");
}

fn a_port_of_nodes_that_cannot_be(play: &mut Play) {
    let path = play.core("services");
    let at = |port: i64| json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": port}]});
    play.post(&path, &service("a", at(80))).refused(422, "Invalid").says("30000-32767");
    let made = play.keeping(&PLACES).post(&path, &service("a", json!({"type": "NodePort"}))).is(201);
    let taken = made.body.pointer("/spec/ports/0/nodePort").and_then(Value::as_i64).unwrap();
    let again = play.ask(&super::play::Ask::new("POST", &path).json(&service("b", at(taken))));
    again.refused(422, "Invalid").says("provided port is already allocated");
}
