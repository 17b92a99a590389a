//! Generates hundreds of pods and the annotations of namespaces, the same on every run.

use super::register::plain_pod;
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy};
use proptest::sample::select;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use proptest::{option, prop_oneof};
use serde_json::{Map, Value, json};
use taintward_core::admission::pod_toleration_restriction::{DEFAULTS, WHITELIST};

/// A change of a pod after its creation.
#[derive(Clone, Debug)]
pub(crate) enum Update {
    /// It gets a label.
    Label,
    /// It gets a further toleration.
    Toleration(Value),
    /// Its first toleration is removed, which no server allows (VAL-6).
    Taken,
    /// The seconds of its first toleration change.
    Seconds(i64),
}

/// One pod.
#[derive(Clone, Debug)]
pub(crate) struct PodCase {
    /// The index in [`LISTS`] of its namespace's annotations.
    pub(crate) lists: usize,
    pub(crate) pod: Value,
    pub(crate) update: Option<Update>,
}

/// Every kind of annotations that a namespace may have (AD-8): a name, defaults, whitelist.
pub(crate) const LISTS: [(&str, Option<&str>, Option<&str>); 16] = [
    ("none", None, None),
    ("empty", Some(""), Some("")),
    ("brackets", Some("[]"), Some("[]")),
    (
        "defaults",
        Some(r#"[{"key":"a","operator":"Exists"},{"key":"b","value":"x","effect":"NoSchedule"}]"#),
        None,
    ),
    (
        "one-value",
        Some(r#"[{"key":"a","operator":"Equal","value":"x","effect":"NoExecute","tolerationSeconds":120}]"#),
        Some(""),
    ),
    ("all", Some(r#"[{"operator":"Exists"}]"#), Some("[]")),
    (
        "twice",
        Some(
            r#"[{"key":"b","operator":"Exists"},{"key":"b","operator":"Exists","effect":"NoSchedule"},{"key":"b","operator":"Exists"}]"#,
        ),
        Some(""),
    ),
    (
        "not-ready",
        Some(
            r#"[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":30}]"#,
        ),
        Some(""),
    ),
    (
        "wide",
        None,
        Some(
            r#"[{"key":"a","operator":"Exists"},{"operator":"Exists","effect":"NoExecute","tolerationSeconds":300},{"operator":"Exists","effect":"NoSchedule"}]"#,
        ),
    ),
    (
        "narrow",
        Some("[]"),
        Some(
            r#"[{"key":"a","operator":"Equal","value":"x"},{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300},{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300},{"key":"node.kubernetes.io/memory-pressure","operator":"Exists"}]"#,
        ),
    ),
    ("at-odds", Some(r#"[{"key":"b","operator":"Exists"}]"#), Some(r#"[{"key":"a","operator":"Exists"}]"#)),
    ("anything", Some(""), Some(r#"[{"operator":"Exists"}]"#)),
    ("bad-defaults", Some("[{"), Some("")),
    ("bad-whitelist", Some(""), Some(r#"{"key":"a"}"#)),
    ("odd-types", Some(r#"[{"key":"a","operator":"Exists","tolerationSeconds":"60"}]"#), Some("")),
    ("odd-words", Some(r#"[{"Key":"a","OPERATOR":"Exists","more":1}]"#), Some("null")),
];

/// The annotations of such a namespace.
pub(crate) fn annotations((_, defaults, whitelist): (&str, Option<&str>, Option<&str>)) -> Value {
    let both = [(DEFAULTS, defaults), (WHITELIST, whitelist)];
    let there = both.into_iter().filter_map(|(name, text)| Some((name.to_owned(), json!(text?))));
    Value::Object(there.collect())
}

const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
const MEMORY: &str = "node.kubernetes.io/memory-pressure";
const KEYS: [&str; 7] = ["a", "b", "example.com/gpu", "c", NOT_READY, UNREACHABLE, MEMORY];
const EFFECTS: [&str; 4] = ["", "NoSchedule", "PreferNoSchedule", "NoExecute"];
const SECONDS: [i64; 8] = [0, -5, 30, 60, 120, 300, 301, i64::MAX];

fn object(fields: &[(&str, Option<Value>)]) -> Value {
    let there = fields.iter().filter_map(|(name, value)| Some(((*name).to_owned(), value.clone()?)));
    Value::Object(there.collect::<Map<_, _>>())
}

/// A valid toleration.
fn valid() -> impl Strategy<Value = Value> {
    let operator = select(vec![Some("Exists"), Some("Exists"), Some("Equal"), None]);
    let effect = select(&EFFECTS[..]);
    let value = option::of(select(&["x", "y", "5", ""][..]));
    (option::weighted(0.9, select(&KEYS[..])), operator, value, effect, option::of(select(&SECONDS[..])))
        .prop_map(|(key, operator, value, effect, seconds)| {
            let operator = if key.is_none() { Some("Exists") } else { operator };
            let value = if operator == Some("Exists") { None } else { value };
            let seconds = seconds.filter(|_| effect == "NoExecute");
            object(&[
                ("key", key.map(Value::from)),
                ("operator", operator.map(Value::from)),
                ("value", value.map(Value::from)),
                ("effect", (!effect.is_empty()).then(|| effect.into())),
                ("tolerationSeconds", seconds.map(Value::from)),
            ])
        })
}

/// A toleration that is mostly invalid (VAL-1 to VAL-5).
fn wild() -> impl Strategy<Value = Value> {
    let key = option::of(select(vec!["", "a", "not a key", "a/b/c", NOT_READY]));
    let operator = option::of(select(vec!["", "Exists", "Equal", "Lt", "Gt", "exists"]));
    let value = option::of(select(vec!["", "x", "5", "05", "not a value"]));
    let effect = option::of(select(vec!["", "NoSchedule", "NoExecute", "Noexecute"]));
    (key, operator, value, effect, option::of(select(&SECONDS[..]))).prop_map(
        |(key, operator, value, effect, seconds)| {
            object(&[
                ("key", key.map(Value::from)),
                ("operator", operator.map(Value::from)),
                ("value", value.map(Value::from)),
                ("effect", effect.map(Value::from)),
                ("tolerationSeconds", seconds.map(Value::from)),
            ])
        },
    )
}

/// A toleration that the plugins add themselves, as a user may write it.
fn known() -> impl Strategy<Value = Value> {
    let defaults = (select(&[NOT_READY, UNREACHABLE][..]), select(&[300, 30][..])).prop_map(|(key, seconds)| {
        json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds})
    });
    let hardware = select(&[MEMORY, "example.com/gpu", "example.com/fpga"][..])
        .prop_map(|key| json!({"key": key, "operator": "Exists", "effect": "NoSchedule"}));
    prop_oneof![defaults, hardware]
}

fn tolerations() -> impl Strategy<Value = Vec<Value>> {
    let mostly = prop_oneof![8 => valid(), 3 => known()];
    prop_oneof![
        2 => Just(Vec::new()),
        9 => vec(mostly, 1..6),
        1 => vec(prop_oneof![2 => valid(), 1 => wild()], 1..4),
    ]
}

/// The resources of a container.
fn resources() -> impl Strategy<Value = Value> {
    let special =
        ["example.com/gpu", "example.com/fpga", "nvidia.com/gpu", "hugepages-2Mi", "kubernetes.io/odd"];
    let special = (select(special.to_vec()), select(vec!["0", "1", "2Mi"]))
        .prop_map(|(name, amount)| json!({"requests": {name: amount}, "limits": {name: amount}}));
    let limits_only = Just(json!({"limits": {"example.com/gpu": "1", "cpu": "1"}}));
    prop_oneof![
        4 => Just(json!({})),
        1 => Just(json!({"requests": {"cpu": "0"}})),
        1 => Just(json!({"requests": {"ephemeral-storage": "1Gi"}})),
        1 => Just(json!({"requests": {"cpu": "100m", "memory": "10Mi"}})),
        1 => Just(json!({"limits": {"memory": "10Mi", "cpu": "1"}})),
        1 => limits_only,
        3 => special,
    ]
}

fn container(name: &str, resources: &Value) -> Value {
    json!({"name": name, "image": "registry.invalid/main", "resources": resources})
}

fn update() -> impl Strategy<Value = Option<Update>> {
    option::weighted(
        0.4,
        prop_oneof![
            2 => Just(Update::Label),
            3 => valid().prop_map(Update::Toleration),
            1 => wild().prop_map(Update::Toleration),
            1 => Just(Update::Taken),
            2 => select(&SECONDS[..]).prop_map(Update::Seconds),
        ],
    )
}

fn case() -> impl Strategy<Value = PodCase> {
    let listed = prop_oneof![2 => 0..4_usize, 5 => 0..LISTS.len()];
    let whole = option::weighted(0.1, Just(json!({"requests": {"cpu": "100m"}, "limits": {"cpu": "100m"}})));
    (listed, tolerations(), vec(resources(), 1..3), vec(resources(), 0..2), whole, update()).prop_map(
        |(lists, tolerations, main, first, whole, update)| {
            let mut pod = plain_pod("");
            let named = |kind: &str, all: &[Value]| -> Vec<Value> {
                all.iter().enumerate().map(|(at, one)| container(&format!("{kind}{at}"), one)).collect()
            };
            pod["spec"]["containers"] = named("main", &main).into();
            if !first.is_empty() {
                pod["spec"]["initContainers"] = named("first", &first).into();
            }
            if !tolerations.is_empty() {
                pod["spec"]["tolerations"] = tolerations.into();
            }
            if let Some(whole) = whole {
                pod["spec"]["resources"] = whole;
            }
            PodCase { lists, pod, update }
        },
    )
}

/// Generates this many pods.
pub(crate) fn cases(number: usize) -> Vec<PodCase> {
    let mut runner = TestRunner::deterministic();
    let strategy = case();
    let one = |at: usize| {
        let mut case = strategy.new_tree(&mut runner).unwrap().current();
        case.pod["metadata"]["name"] = json!(format!("pod-{at}"));
        case
    };
    (0..number).map(one).collect()
}
