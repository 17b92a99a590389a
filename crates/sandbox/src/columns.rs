use serde_json::{Value, json};
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Include {
    None,
    Metadata,
    Object,
}
pub fn table(_: &str, _: &str, objects: &[&Value], _: jiff::Timestamp, _: Include) -> Value {
    json!({"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{},"columnDefinitions":[{"name":"Name","type":"string","format":"name","description":"","priority":0}],"rows": objects.iter().map(|o| json!({"cells":[o["metadata"]["name"]],"object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":o["metadata"]}})).collect::<Vec<_>>()})
}
