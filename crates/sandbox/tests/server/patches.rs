//! Compares patches with a real kube-apiserver.

mod cases;

use cases::{CASES, OBJECTS, PatchCase, PatchKind};
use fakekube::patch::{self, FieldWriter};
use fakekube::schema::{Schema, TypeId};
use serde_json::{Map, Value, json};
use std::time::Duration;
use taintward_envtest::api::PatchType;
use taintward_envtest::{Account, Cluster, ClusterConfig, TestApi, TestApiError, binaries, wait};

/// A time that no server has: it stands for a changed time.
const NOW: &str = "9999-01-01T00:00:00Z";

/// The fields that the server adds after it has computed managedFields.
const ADDED_LATER: [(&str, &str, &str); 8] = [
    ("Service", "/spec", "clusterIPs"),
    ("Service", "/spec", "ipFamilies"),
    ("Service", "/spec", "ipFamilyPolicy"),
    ("Pod", "/spec", "preemptionPolicy"),
    ("Pod", "/spec", "priority"),
    ("Pod", "/spec", "tolerations"),
    ("PersistentVolume", "/metadata", "finalizers"),
    ("Namespace", "/spec", "finalizers"),
];

#[tokio::test]
async fn a_real_server_does_the_same() {
    let Some(tools) = binaries::for_test("a_real_server_does_the_same") else { return };
    let cluster = Cluster::start(&tools, ClusterConfig::default()).await.unwrap();
    let api = cluster.api(Account::Admin).await.unwrap();
    let mut wrong = String::new();
    for (path, object) in OBJECTS.iter().copied() {
        let object: Value = serde_json::from_str(object).unwrap();
        let (collection, _) = path.rsplit_once('/').unwrap();
        let made = created(&api, &format!("{collection}?fieldManager=maker"), &object).await;
        let of = type_of(&made);
        let writer =
            FieldWriter { manager: "maker", subresource: "", version: text(&made, "/apiVersion"), now: NOW };
        let mut sent = unmanaged(&made);
        for (_, parent, name) in ADDED_LATER.iter().filter(|(kind, ..)| *kind == text(&made, "/kind")) {
            sent.pointer_mut(parent).and_then(Value::as_object_mut).unwrap().remove(*name);
        }
        let managed = patch::track(None, &sent, of, &writer);
        wrong += &compare_owners(&format!("creating {path}"), &json!({}), &made, &managed);
    }
    for (number, case) in CASES.iter().enumerate() {
        let name = format!("case {number}: {:?} {} {}", case.how, case.path, case.body);
        wrong += &run(&api, case)
            .await
            .into_iter()
            .map(|fault| format!("{name}\n    {fault}\n"))
            .collect::<String>();
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

async fn created(api: &TestApi, path: &str, object: &Value) -> Value {
    wait::until("the object to be accepted", Duration::from_secs(20), async || {
        match api.create(path, object).await {
            Ok(made) => Ok(Some(made)),
            // A controller creates the default service account.
            Err(error) if error.code() == Some(403) => Ok(None),
            Err(error) => Err(error.into()),
        }
    })
    .await
    .unwrap()
}

fn type_of(object: &Value) -> TypeId {
    Schema::get().kind(text(object, "/apiVersion"), text(object, "/kind")).unwrap()
}

fn text<'v>(object: &'v Value, path: &str) -> &'v str {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

fn unmanaged(object: &Value) -> Value {
    let mut object = object.clone();
    object["metadata"].as_object_mut().unwrap().remove("managedFields");
    object
}

/// Waits until a time written now would differ from all times in the object.
async fn next_second(object: &Value) {
    let times =
        object.pointer("/metadata/managedFields").and_then(Value::as_array).cloned().unwrap_or_default();
    let newest = times.iter().map(|line| text(line, "/time").to_owned()).max().unwrap_or_default();
    wait::until("the clock to move on", Duration::from_secs(5), async || {
        let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        Ok((now > newest).then_some(()))
    })
    .await
    .unwrap();
}

/// Sends the case to both servers. Returns the differences.
async fn run(api: &TestApi, case: &PatchCase) -> Vec<String> {
    let object = case.path.trim_end_matches("/status");
    let subresource = if object == case.path { "" } else { "status" };
    let before = api.find(object).await.unwrap();
    if let Some(before) = &before {
        next_second(before).await;
    }
    let (how, query) = match case.how {
        PatchKind::Json => (PatchType::Json, ""),
        PatchKind::Merge => (PatchType::Merge, ""),
        PatchKind::Strategic => (PatchType::Strategic, ""),
        PatchKind::Apply => (PatchType::Apply, ""),
        PatchKind::Force => (PatchType::Apply, "&force=true"),
    };
    let path = format!("{}?fieldManager={}{query}", case.path, case.manager);
    let theirs = api.patch(&path, how, case.body).await;
    let body: Value = serde_json::from_str(case.body).unwrap();
    let like = before.as_ref().unwrap_or(&body);
    let (of, version) = (type_of(like), text(like, "/apiVersion").to_owned());
    let writer = FieldWriter { manager: case.manager, subresource, version: &version, now: NOW };
    let ours = match case.how {
        PatchKind::Json => patch::json_patch(before.as_ref().unwrap(), &body).map_err(|error| error.status()),
        PatchKind::Merge => {
            patch::merge_patch(before.as_ref().unwrap(), &body).map_err(|error| error.status())
        }
        PatchKind::Strategic => {
            patch::strategic(before.as_ref().unwrap(), &body, of).map_err(|error| error.status())
        }
        PatchKind::Apply | PatchKind::Force => {
            let force = matches!(case.how, PatchKind::Force);
            patch::apply(before.as_ref(), &body, of, &writer, force).map_err(|error| error.status())
        }
    };
    let theirs = match (theirs, &ours) {
        (Ok(theirs), Ok(_)) => theirs,
        (Err(TestApiError::Rejected { code, reason, message }), Err(ours)) => {
            // For conflicts, each word is compared; other messages of a real server come from Go.
            let comparable = |message: &str| if code == 409 { sorted(message) } else { String::new() };
            let theirs = json!([code, reason, comparable(&message)]);
            let reason = ours.get("reason").cloned().unwrap_or_else(|| json!(""));
            let ours = json!([ours["code"], reason, comparable(text(ours, "/message"))]);
            return Vec::from_iter((theirs != ours).then(|| format!("real: {theirs}\n    fake: {ours}")));
        }
        (theirs, ours) => return vec![format!("real: {theirs:?}\n    fake: {ours:?}")],
    };
    let ours = ours.unwrap();
    let mut faults = Vec::new();
    let blank = json!({});
    let before = before.unwrap_or(blank);
    compare(&before, &unmanaged(&theirs), &unmanaged(&ours), "", &mut faults);
    let managed = match case.how {
        PatchKind::Apply | PatchKind::Force => ours["metadata"]["managedFields"].clone(),
        _ => {
            let mut after = theirs.clone();
            after["metadata"]["managedFields"] = ours["metadata"]["managedFields"].clone();
            patch::track(Some(&before), &after, of, &writer)
        }
    };
    faults
        .extend(Some(compare_owners("owners", &before, &theirs, &managed)).filter(|fault| !fault.is_empty()));
    faults
}

/// The message with its list sorted: the real server checks fields in the random order of a Go map.
fn sorted(message: &str) -> String {
    let mut lines: Vec<&str> = message.lines().collect();
    if let [_, listed @ ..] = &mut lines[..] {
        listed.sort_unstable();
    }
    lines.join("\n")
}

/// The differences between two objects. The fake server's may lack defaults of new fields, and nothing else.
fn compare(before: &Value, theirs: &Value, ours: &Value, path: &str, faults: &mut Vec<String>) {
    const NOT_OURS: [&str; 4] =
        ["/metadata/resourceVersion", "/metadata/generation", "/metadata/uid", "/metadata/creationTimestamp"];
    if NOT_OURS.contains(&path) {
        return;
    }
    let hollow = |value: &Value| match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    };
    match (theirs, ours) {
        (Value::Object(theirs), Value::Object(ours)) => {
            let names: std::collections::BTreeSet<_> = theirs.keys().chain(ours.keys()).collect();
            for name in names {
                let (there, here) = (&theirs.get(name), &ours.get(name));
                let was = before.get(name);
                let path = format!("{path}/{name}");
                match (there, here) {
                    (Some(there), Some(here)) => {
                        compare(was.unwrap_or(&Value::Null), there, here, &path, faults);
                    }
                    (Some(there), None) if was.is_some() && !hollow(there) => {
                        faults.push(format!("{path}: the real server still has {there}"));
                    }
                    (None, Some(here)) if !hollow(here) && !is_hollow_deep(here) => {
                        faults.push(format!("{path}: the fake server has {here}"));
                    }
                    _ => {}
                }
            }
        }
        (Value::Array(theirs), Value::Array(ours)) if theirs.len() == ours.len() => {
            for (place, (theirs, ours)) in theirs.iter().zip(ours).enumerate() {
                compare(&Value::Null, theirs, ours, &format!("{path}/{place}"), faults);
            }
        }
        (theirs, ours) if theirs == ours || (hollow(theirs) && hollow(ours)) => {}
        (theirs, ours) => faults.push(format!("{path}: real {theirs}, fake {ours}")),
    }
}

fn is_hollow_deep(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.values().all(is_hollow_deep),
        Value::Array(items) => items.iter().all(is_hollow_deep),
        _ => false,
    }
}

/// The differences between owners. The fake server's time must be the previous one, or changed where the real
/// server's changed.
fn compare_owners(what: &str, before: &Value, theirs: &Value, ours: &Value) -> String {
    let lines = |managed: &Value| -> Vec<Map<String, Value>> {
        managed.as_array().into_iter().flatten().filter_map(Value::as_object).cloned().collect()
    };
    let before = lines(&before["metadata"]["managedFields"]);
    let mut theirs = lines(&theirs["metadata"]["managedFields"]);
    for line in &mut theirs {
        let known = before.iter().any(|was| was.get("time") == line.get("time"));
        if !known && line.contains_key("time") {
            line.insert("time".into(), json!(NOW));
        }
    }
    let ours = lines(ours);
    if theirs == ours {
        return String::new();
    }
    let show = |lines: &[Map<String, Value>]| {
        lines.iter().map(|line| format!("\n        {}", json!(line))).collect::<String>()
    };
    format!("{what}\n    real:{}\n    fake:{}\n", show(&theirs), show(&ours))
}
