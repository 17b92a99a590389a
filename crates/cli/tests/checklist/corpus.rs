//! Checks items 18, 19 and 20: malformed reviews, contents of responses, and the resulting pods.

use super::harness::{ChecklistHarness, ItemResult, Shown, demand};
use crate::admission::client::question;
use crate::admission::pods::cases;
use crate::admission::register::{namespace, plain_pod, pods, tolerations};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

const PODS: usize = 300;

/// Malformed inputs, each with a name.
fn bad() -> Vec<(&'static str, Vec<u8>)> {
    let good = question("u", "main", &plain_pod("p"));
    let without = |pointer: &str| {
        let mut whole = good.clone();
        let (parent, last) = pointer.rsplit_once('/').unwrap();
        whole.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(last);
        whole.to_string().into_bytes()
    };
    let with = |pointer: &str, value: Value| {
        let mut whole = good.clone();
        *whole.pointer_mut(pointer).unwrap() = value;
        whole.to_string().into_bytes()
    };
    let text = good.to_string();
    let spec = |spec: &str| text.replacen("\"spec\":{", &format!("\"spec\":{{{spec},"), 1).into_bytes();
    let mut broken = text.clone().into_bytes();
    let at = text.find("admission.k8s.io").unwrap();
    broken[at] = 0xff;
    vec![
        ("nothing", Vec::new()),
        ("not JSON", b"garbage".to_vec()),
        ("half of it", text.as_bytes()[..text.len() / 2].to_vec()),
        ("10,000 times [", "[".repeat(10_000).into_bytes()),
        ("the same key twice", text.replacen("\"uid\":\"u\"", "\"uid\":\"u\",\"uid\":\"v\"", 1).into_bytes()),
        ("NaN", spec("\"x\":NaN")),
        ("invalid UTF-8", broken),
        ("another version", with("/apiVersion", json!("admission.k8s.io/v1beta1"))),
        ("another kind", with("/kind", json!("Pod"))),
        ("no request", without("/request")),
        ("no uid", without("/request/uid")),
        ("an empty uid", with("/request/uid", json!(""))),
        ("no object", without("/request/object")),
        ("an unknown operation", with("/request/operation", json!("EAT"))),
        ("another resource", with("/request/resource/resource", json!("secrets"))),
        ("a kind that does not belong to the resource", with("/request/kind/kind", json!("Node"))),
    ]
}

/// Undecodable objects in valid reviews: an error would admit them.
fn odd() -> Vec<(&'static str, Vec<u8>)> {
    let text = question("u", "main", &plain_pod("p")).to_string();
    let spec = |spec: &str| text.replacen("\"spec\":{", &format!("\"spec\":{{{spec},"), 1).into_bytes();
    let deep =
        |open: &str, close: &str| spec(&format!("\"x\":{}1{}", open.repeat(10_000), close.repeat(10_000)));
    let mut foreign = text.clone().into_bytes();
    foreign[text.find("registry").unwrap()] = 0xff;
    vec![
        ("10,000 nested lists in a pod", deep("[", "]")),
        ("10,000 nested objects in a pod", deep("{\"a\":", "}")),
        ("invalid UTF-8 in a skipped field", foreign),
        ("an invalid number", spec("\"tolerations\":[{\"tolerationSeconds\":1e999}]")),
        ("seconds beyond 64 bits", spec("\"tolerations\":[{\"tolerationSeconds\":9223372036854775808}]")),
        ("tolerations that are not a list", spec("\"tolerations\":{\"a\":1}")),
        ("a key that is a number", spec("\"tolerations\":[{\"key\":1}]")),
    ]
}

pub(crate) async fn senseless(harness: &mut ChecklistHarness) -> ItemResult {
    let (all, pid) = (bad(), harness.hook.pid());
    for (what, body) in &all {
        for path in ["/mutate", "/validate"] {
            let (status, message) = harness
                .client()
                .await
                .post(path, body.clone())
                .await
                .map_err(|why| format!("{what}: {why}"))?;
            demand(status == 400, format!("{what} at {path}: {status} {message}"))?;
            let plain = message.lines().count() == 1 && !message.trim_end().chars().any(char::is_control);
            demand(plain, format!("{what}: {message:?}"))?;
        }
    }
    let odd = odd();
    for (what, body) in &odd {
        for path in ["/mutate", "/validate"] {
            let response = harness.client().await.post(path, body.clone()).await;
            let (status, message) = response.map_err(|why| format!("{what}: {why}"))?;
            demand(
                status == 200 && message.contains("\"uid\":\"u\""),
                format!("{what} at {path}: {status} {message}"),
            )?;
        }
    }
    demand(harness.hook.is_running() && harness.hook.pid() == pid, "the process has ended or restarted")?;
    let broke = harness.hook.metric("taintward_webhook_panics_total", "");
    demand(broke == 0.0, format!("{broke} rules panicked"))?;
    Ok(Shown::with(
        "each invalid body (such as no JSON, half of it, the same key twice, NaN, other kinds, no uid) gets 400 with one line, \
         at both paths; each unusual object (such as 10,000 nested lists) gets an answer; the process continues",
        format!("{} and {}", all.len(), odd.len()),
    ))
}

/// The paths that a patch may change.
const WRITTEN: [&str; 3] =
    ["/spec/tolerations", "/spec/affinity", "/metadata/annotations/taintward.io~1made-for"];

pub(crate) async fn responses(harness: &ChecklistHarness) -> ItemResult {
    let (mut client, mut steps) = (harness.client().await, 0);
    for (number, case) in cases(PODS).iter().enumerate() {
        let uid = format!("uid-{number}-\u{fc}\"\\");
        let response = client.request("mutate", &question(&uid, "main", &case.pod)).await;
        demand(
            response["uid"] == uid.as_str(),
            format!("the answer to {uid} has the uid {}", response["uid"]),
        )?;
        let Some(patch) = response["patch"].as_str() else { continue };
        demand(response["patchType"] == "JSONPatch", &response)?;
        let patch: Value = serde_json::from_slice(&STANDARD.decode(patch).unwrap()).unwrap();
        for step in patch.as_array().unwrap() {
            let (op, path) = (step["op"].as_str().unwrap(), step["path"].as_str().unwrap());
            // If there were no annotations, the map is created with its one entry.
            let allowed =
                path == "/metadata/annotations" || WRITTEN.iter().any(|start| path.starts_with(start));
            demand(allowed && ["test", "add", "replace"].contains(&op), format!("{op} {path}"))?;
            steps += 1;
        }
    }
    demand(steps > PODS, format!("only {steps} steps"))?;
    Ok(Shown::with(
        "each answer has the uid of its request; each step of a patch changes tolerations, affinity or the annotation \
         taintward.io/made-for, and removes nothing",
        format!("{PODS} questions, {steps} steps"),
    ))
}

/// A pod without the fields that a server generates.
fn without_own(pod: &Value) -> Value {
    let mut spec = pod["spec"].clone();
    spec.as_object_mut().unwrap().remove("tolerations");
    json!([spec, pod["metadata"]["labels"], pod["metadata"]["annotations"]])
}

pub(crate) async fn nothing_is_lost(harness: &ChecklistHarness) -> ItemResult {
    namespace(&harness.api, "unasked", "", json!({})).await;
    let (mut compared, mut rejected) = (0, 0);
    for case in cases(PODS) {
        let create = async |namespace: &str| {
            let path = format!("{}?dryRun=All", pods(namespace));
            harness.api.create(&path, &case.pod).await
        };
        let (plain, made) = (create("unasked").await, create("main").await);
        match (plain, made) {
            (Ok(plain), Ok(made)) => {
                let after = tolerations(&made);
                let kept = after.starts_with(&tolerations(&plain));
                demand(
                    kept,
                    format!("{} became {}", plain["spec"]["tolerations"], made["spec"]["tolerations"]),
                )?;
                demand(without_own(&plain) == without_own(&made), format!("{plain} became {made}"))?;
                compared += 1;
            }
            (Err(_), Err(_)) => rejected += 1,
            (plain, made) => {
                return Err(format!("{}: {plain:?} without, {made:?} with the webhook", case.pod));
            }
        }
    }
    demand(compared > PODS / 2 && rejected > 5, format!("{compared} and {rejected}"))?;
    Ok(Shown::with(
        "a real API server creates each pod with and without the webhook: all pods keep what they had, in the same place; the \
         webhook admits no pod that the API server rejects without it",
        format!("{compared} kept, {rejected} refused"),
    ))
}
