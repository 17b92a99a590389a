//! Applies the patch of a response with a library, independently of the code under test.

use super::reviews::{question, response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use taintward_admission::review::ReviewPhase;
use taintward_admission::rules::RuleReviewer;

/// The only paths that a patch may change.
const ALLOWED: [&str; 3] =
    ["/spec/tolerations", "/spec/affinity", "/metadata/annotations/taintward.io~1made-for"];

/// The object with the response's patch applied.
pub(crate) fn patched(object: &Value, response: &Value) -> Value {
    let mut object = object.clone();
    let Some(patch) = response["patch"].as_str() else { return object };
    let patch: Value = serde_json::from_slice(&STANDARD.decode(patch).unwrap()).unwrap();
    for operation in patch.as_array().unwrap() {
        let path = operation["path"].as_str().unwrap();
        let below = |root: &&str| {
            path.strip_prefix(*root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        // Without any annotations, the map is added with this one alone.
        let first = json!({"taintward.io/made-for": operation["value"]["taintward.io/made-for"]});
        let annotations = path == "/metadata/annotations"
            && object["metadata"]["annotations"].is_null()
            && operation["value"] == first;
        assert!(annotations || ALLOWED.iter().any(below), "{path}");
    }
    json_patch::patch(&mut object, &serde_json::from_value::<json_patch::Patch>(patch).unwrap()).unwrap();
    object
}

/// The pod after the patches of its creation.
pub(crate) fn created(namespace: &str, pod: &Value, rules: &RuleReviewer) -> Value {
    patched(pod, &response(ReviewPhase::Mutate, &question("CREATE", namespace, pod, None), rules))
}
