//! Compares the validation of taints (VAL-8 to VAL-10).

use super::cases;
use super::play::{JSON_PATCH, MERGE, Play, STRATEGIC};
use serde_json::{Value, json};

cases![
    val_8_keys,
    val_8_values,
    val_8_effects,
    val_8_unique_by_key_and_effect,
    val_8_on_update_too,
    val_9_taints_come_and_go,
    val_9_time_added_may_change,
    val_10_the_list_is_one,
    by_the_status,
    a_thousand_taints,
];

fn tainted(play: &mut Play, taints: Value) -> super::play::Response {
    let name = play.named("n");
    let node = json!({"metadata": {"name": name}, "spec": {"taints": taints}});
    play.keeping(&["/spec"]).post("/api/v1/nodes?dryRun=All", &node)
}

fn val_8_keys(play: &mut Play) {
    for key in ["", "a b", "/a", "x/y/z", "-"] {
        let rejected = tainted(play, json!([{"key": key, "effect": "NoExecute"}])).rejected(422, "Invalid");
        rejected.some("/details/causes/0");
    }
    tainted(play, json!([{"key": "k".repeat(64), "effect": "NoExecute"}])).rejected(422, "Invalid");
    tainted(play, json!([{"key": "a.b/c", "effect": "NoExecute"}])).is(201);
}

fn val_8_values(play: &mut Play) {
    for value in ["a b", "-", "é"] {
        tainted(play, json!([{"key": "k", "value": value, "effect": "NoExecute"}])).rejected(422, "Invalid");
    }
    tainted(play, json!([{"key": "k", "value": "v".repeat(64), "effect": "NoExecute"}]))
        .rejected(422, "Invalid");
    tainted(play, json!([{"key": "k", "value": "", "effect": "NoExecute"}])).is(201);
}

fn val_8_effects(play: &mut Play) {
    let required = tainted(play, json!([{"key": "k"}])).rejected(422, "Invalid");
    required.has("/details/causes/0/reason", "FieldValueRequired");
    let unknown = tainted(play, json!([{"key": "k", "effect": "Evict"}])).rejected(422, "Invalid");
    unknown.has("/details/causes/0/reason", "FieldValueNotSupported");
    for effect in ["NoSchedule", "PreferNoSchedule", "NoExecute"] {
        tainted(play, json!([{"key": "k", "effect": effect}])).is(201);
    }
}

fn val_8_unique_by_key_and_effect(play: &mut Play) {
    let twice = json!([{"key": "k", "value": "a", "effect": "NoExecute"},
        {"key": "k", "value": "b", "effect": "NoExecute"}]);
    tainted(play, twice).rejected(422, "Invalid").contains("taints must be unique by key and effect pair");
    let differ = json!([{"key": "k", "effect": "NoExecute"}, {"key": "k", "effect": "NoSchedule"}]);
    tainted(play, differ).is(201);
}

fn val_8_on_update_too(play: &mut Play) {
    let node = play.create_node("n", &json!({}));
    let path = format!("/api/v1/nodes/{node}");
    let taints = json!({"spec": {"taints": [{"key": "a b", "effect": "Evict"}]}});
    play.patch(&path, MERGE, &taints).rejected(422, "Invalid").some("/details/causes/1");
    let mut whole = play.check(&["/kind"], &path).is(200).body;
    whole["spec"] = taints["spec"].clone();
    play.put(&path, &whole).rejected(422, "Invalid");
}

fn val_9_taints_come_and_go(play: &mut Play) {
    let node = play.create_node("n", &json!({"taints": [{"key": "a", "value": "1", "effect": "NoExecute"}]}));
    let path = format!("/api/v1/nodes/{node}");
    let add = json!([{"op": "add", "path": "/spec/taints/-", "value": {"key": "b", "effect": "NoSchedule"}}]);
    play.patch(&path, JSON_PATCH, &add).is(200).some("/spec/taints/1");
    let change = json!([{"op": "replace", "path": "/spec/taints/0/value", "value": "2"}]);
    play.patch(&path, JSON_PATCH, &change).is(200).has("/spec/taints/0/value", "2");
    let remove = json!([{"op": "remove", "path": "/spec/taints"}]);
    play.patch(&path, JSON_PATCH, &remove).is(200).lacks("/spec/taints");
}

fn val_9_time_added_may_change(play: &mut Play) {
    let then = "2001-01-01T00:00:00Z";
    let taints = json!([{"key": "k", "effect": "NoExecute", "timeAdded": then}]);
    tainted(play, taints).is(201).has("/spec/taints/0/timeAdded", then);
    let plain = tainted(play, json!([{"key": "k", "effect": "NoExecute"}])).is(201);
    plain.lacks("/spec/taints/0/timeAdded");
    tainted(play, json!([{"key": "k", "effect": "NoSchedule", "timeAdded": then}])).is(201);
    tainted(play, json!([{"key": "k", "effect": "NoExecute", "timeAdded": "soon"}])).is(400);
    let fraction = "2001-01-01T02:00:00.5+02:00";
    let kept = tainted(play, json!([{"key": "k", "effect": "NoExecute", "timeAdded": fraction}])).is(201);
    kept.has("/spec/taints/0/timeAdded", then);
}

fn val_10_the_list_is_one(play: &mut Play) {
    let node = play.create_node("n", &json!({"taints": [{"key": "a", "effect": "NoExecute"}]}));
    let path = format!("/api/v1/nodes/{node}");
    let patch = json!({"spec": {"taints": [{"key": "b", "effect": "NoExecute"}]}});
    let replaced = play.patch(path, STRATEGIC, &patch).is(200);
    replaced.has("/spec/taints/0/key", "b").lacks("/spec/taints/1");
}

fn by_the_status(play: &mut Play) {
    let node = play.create_node("n", &json!({}));
    let patch = json!({"spec": {"taints": [{"key": "b", "effect": "NoExecute"}]}});
    play.patch(format!("/api/v1/nodes/{node}/status"), STRATEGIC, &patch).is(200).lacks("/spec/taints");
}

fn a_thousand_taints(play: &mut Play) {
    let many: Vec<Value> =
        (0..1000).map(|at| json!({"key": format!("k{at}"), "effect": "NoExecute"})).collect();
    tainted(play, many.into()).is(201).some("/spec/taints/999");
}
