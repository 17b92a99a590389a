//! Tests that patches, applied as an API server does, give exactly the requested result.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use taintward_admission::review::{
    AdmissionRequest, AffinityShapeOfPod, InvalidReview, JsonPatchBuilder, PatchedRequirement,
    PatchedToleration, ReviewPhase, ReviewVerdict, Reviewer, TermExpressions, judge,
};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

/// Reads the existing fields, and adds more.
#[derive(Debug)]
struct Adds {
    tolerations: Vec<(String, Option<i64>)>,
    replaced: Option<usize>,
    label: Option<(String, Vec<String>)>,
}

fn affinity_of(spec: &Value) -> (usize, Vec<TermExpressions>) {
    let affinity = &spec["affinity"];
    let nodes = &affinity["nodeAffinity"];
    let required = &nodes[REQUIRED];
    let depth = [affinity, nodes, required].iter().take_while(|value| !value.is_null()).count();
    let terms = required["nodeSelectorTerms"].as_array().cloned().unwrap_or_default();
    let has = |term: &Value| match (term.get("matchExpressions"), term.get("matchFields")) {
        (Some(_), _) => TermExpressions::Present,
        (None, Some(_)) => TermExpressions::Absent,
        (None, None) => TermExpressions::Left,
    };
    (depth, terms.iter().map(has).collect())
}

impl Adds {
    fn patch(&self, object: &RawValue) -> JsonPatchBuilder {
        let pod: Value = serde_json::from_str(object.get()).unwrap();
        let mut patch = JsonPatchBuilder::default();
        let had = pod["spec"]["tolerations"].as_array();
        if let (Some(index), Some(had)) = (self.replaced, had)
            && let Some(was) = had.get(index)
        {
            let was = RawValue::from_string(was.to_string()).unwrap();
            patch.replace_toleration(index, &was, &self.wanted()[0]);
        }
        patch.add_tolerations(had.map(Vec::len), &self.wanted());
        if let Some((key, values)) = &self.label {
            let values: Vec<&str> = values.iter().map(String::as_str).collect();
            let more = [PatchedRequirement { key, operator: "In", values }];
            let (depth, terms) = affinity_of(&pod["spec"]);
            let have = match depth {
                0 => AffinityShapeOfPod::Absent,
                1 => AffinityShapeOfPod::WithoutNodes,
                2 => AffinityShapeOfPod::WithoutRequired,
                _ => AffinityShapeOfPod::Required(&terms),
            };
            patch.require_nodes(have, &more);
        }
        patch
    }

    fn wanted(&self) -> Vec<PatchedToleration<'_>> {
        self.tolerations
            .iter()
            .map(|(key, seconds)| PatchedToleration {
                key,
                operator: "Exists",
                effect: "NoExecute",
                seconds: *seconds,
                ..PatchedToleration::default()
            })
            .collect()
    }

    /// The expected pod, computed without patches.
    fn expected(&self, mut pod: Value) -> Value {
        let written = |(key, seconds): &(String, Option<i64>)| {
            let mut toleration = json!({"operator": "Exists", "effect": "NoExecute"});
            if !key.is_empty() {
                toleration["key"] = json!(key);
            }
            if let Some(seconds) = seconds {
                toleration["tolerationSeconds"] = json!(seconds);
            }
            toleration
        };
        let spec = &mut pod["spec"];
        if let (Some(index), Some(had)) =
            (self.replaced, spec.get_mut("tolerations").and_then(Value::as_array_mut))
            && let Some(place) = had.get_mut(index)
        {
            *place = written(&self.tolerations[0]);
        }
        if !self.tolerations.is_empty() {
            let mut list = spec["tolerations"].as_array().cloned().unwrap_or_default();
            list.extend(self.tolerations.iter().map(written));
            spec["tolerations"] = list.into();
        }
        let Some((key, values)) = &self.label else { return pod };
        let mut requirement = json!({"key": key, "operator": "In"});
        if !values.is_empty() {
            requirement["values"] = json!(values);
        }
        let (depth, terms) = affinity_of(spec);
        if depth < 3 {
            spec["affinity"]["nodeAffinity"][REQUIRED] =
                json!({"nodeSelectorTerms": [{"matchExpressions": [requirement]}]});
            return pod;
        }
        for (term, has) in terms.iter().enumerate().filter(|(_, has)| **has != TermExpressions::Left) {
            let place = &mut spec["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"][term]["matchExpressions"];
            match has {
                TermExpressions::Present => place.as_array_mut().unwrap().push(requirement.clone()),
                _ => *place = json!([requirement]),
            }
        }
        pod
    }
}

impl Reviewer for Adds {
    fn mutate(&self, request: &AdmissionRequest<'_>) -> Result<ReviewVerdict, InvalidReview> {
        Ok(ReviewVerdict { patch: self.patch(request.object.unwrap()), ..ReviewVerdict::default() })
    }

    fn validate(&self, _: &AdmissionRequest<'_>) -> Result<ReviewVerdict, InvalidReview> {
        Ok(ReviewVerdict::allow())
    }
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        "[a-z./]{1,12}",
        any::<String>().prop_map(|text| text.chars().take(20).collect())
    ]
}

fn tolerations() -> impl Strategy<Value = Value> {
    let one =
        (text(), any::<i64>()).prop_map(|(key, seconds)| json!({"key": key, "tolerationSeconds": seconds}));
    prop_oneof![Just(Value::Null), prop::collection::vec(one, 0..4).prop_map(Value::from)]
}

fn affinity() -> impl Strategy<Value = Value> {
    let term = prop_oneof![
        Just(json!({})),
        Just(json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]})),
        Just(json!({"matchExpressions": []})),
        text().prop_map(|key| json!({"matchExpressions": [{"key": key, "operator": "Exists"}]})),
    ];
    let required = prop_oneof![
        Just(Value::Null),
        prop::collection::vec(term, 0..4).prop_map(|terms| json!({"nodeSelectorTerms": terms})),
    ];
    let nodes = prop_oneof![
        Just(Value::Null),
        (required, any::<bool>()).prop_map(|(required, also)| {
            let mut nodes = json!({REQUIRED: required});
            if also {
                nodes["preferredDuringSchedulingIgnoredDuringExecution"] = json!([{"weight": 1}]);
            }
            nodes
        }),
    ];
    prop_oneof![
        Just(Value::Null),
        nodes.prop_map(|nodes| json!({"nodeAffinity": nodes, "podAffinity": {"x": []}})),
    ]
}

/// A pod with or without the fields that are `null`.
fn any_pod() -> impl Strategy<Value = Value> {
    (tolerations(), affinity(), any::<bool>()).prop_map(|(tolerations, affinity, nulls)| {
        let mut pod =
            json!({"metadata": {"labels": {"a/b~c": "d"}}, "spec": {"containers": [{"name": "é\n"}]}});
        for (name, value) in [("tolerations", tolerations), ("affinity", affinity)] {
            if nulls || !value.is_null() {
                pod["spec"][name] = value;
            }
        }
        pod
    })
}

fn adds() -> impl Strategy<Value = Adds> {
    let toleration = (text(), prop::option::of(any::<i64>()));
    let label = prop::option::of((text(), prop::collection::vec(text(), 0..3)));
    (prop::collection::vec(toleration, 0..4), prop::option::of(0..4_usize), label).prop_map(
        |(tolerations, replaced, label)| {
            let replaced = replaced.filter(|_| !tolerations.is_empty());
            Adds { tolerations, replaced, label }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_patch_gives_the_requested_result_and_the_uid_is_echoed(pod in any_pod(), adds in adds(), uid in "\\PC{1,40}") {
        let question = json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {
                "uid": uid, "operation": "CREATE", "object": pod,
                "kind": {"group": "", "version": "v1", "kind": "Pod"},
                "resource": {"group": "", "version": "v1", "resource": "pods"},
            },
        });
        let judged = judge(ReviewPhase::Mutate, question.to_string().as_bytes(), &adds).unwrap();
        let response: Value = serde_json::from_slice(&judged.body).unwrap();
        let response = &response["response"];
        prop_assert_eq!(&response["uid"], &json!(uid));
        prop_assert_eq!(&response["allowed"], &json!(true));
        let mut patched = pod.clone();
        if let Some(patch) = response["patch"].as_str() {
            let patch: Value = serde_json::from_slice(&STANDARD.decode(patch).unwrap()).unwrap();
            for operation in patch.as_array().unwrap() {
                let path = operation["path"].as_str().unwrap();
                let below = |root: &str| path == root || path.starts_with(&format!("{root}/"));
                prop_assert!(below("/spec/tolerations") || below("/spec/affinity"), "{}", path);
            }
            let patch: json_patch::Patch = serde_json::from_value(patch).unwrap();
            json_patch::patch(&mut patched, &patch).unwrap();
        }
        prop_assert_eq!(patched, adds.expected(pod));
    }
}
