use serde_json::Value;
pub fn to_yaml(v: &Value) -> Vec<u8> {
    v.to_string().into_bytes()
}
pub fn yaml_to_json(b: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(b).map_err(|e| e.to_string())
}
pub fn duplicates(_: &[u8]) -> Vec<String> {
    Vec::new()
}
pub fn zero(api_version: &str, kind: &str, mut v: Value) -> Value {
    v["apiVersion"] = api_version.into();
    v["kind"] = kind.into();
    v
}
