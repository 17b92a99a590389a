//! Tests holds while an API server rejects or throttles patches, and while other writers undo or forge what a hold has
//! written.

use crate::admission::review_server;
use crate::harness::{
    HELD, ManagedHarness, NOT_READY, STARTUP_TIMEOUT, UNREACHABLE, is_held, name, record, seconds,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::future::join_all;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::cell::Cell;
use std::net::TcpListener;
use std::rc::Rc;
use std::time::{Duration, Instant};
use taintward_envtest::api::{PatchType, TestApiError};
use taintward_envtest::certificates::TestAuthority;
use taintward_envtest::fixtures::{create_node, delete_pod, pod, set_taints};
use taintward_envtest::{TestApi, binaries, wait};

/// Longer than the whole test.
const OWN: i64 = 300;
/// Shorter than a rejection lasts.
const SHORT: i64 = 5;
/// Enough for many concurrent patches.
const THROTTLED: usize = 60;
const WEBHOOKS: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
const FLOW: &str = "/apis/flowcontrol.apiserver.k8s.io/v1";

#[tokio::test(flavor = "current_thread")]
async fn holds_outlast_refusals_throttling_and_other_writers() {
    let Some(tools) = binaries::for_test("holds_outlast_refusals_throttling_and_other_writers") else {
        return;
    };
    let all = async {
        let harness = ManagedHarness::set(&tools, "toleration-hold-controller", &["--hold-limit=off"]).await;
        rejected(&harness).await;
        throttled(&harness).await;
        reconciled(&harness).await;
        forged(&harness).await;
    };
    tokio::task::LocalSet::new().run_until(all).await;
}

fn path(pod: &str) -> String {
    format!("/api/v1/namespaces/default/pods/{pod}")
}

async fn create(harness: &ManagedHarness, name: &str, node: &str, own: i64) {
    let fixture = pod(name, node).bearing(NOT_READY, Some(own)).bearing(UNREACHABLE, Some(own));
    fixture.create(&harness.admin).await.unwrap();
}

/// Holds a node and silences it. Returns the exit code of the command, and its output.
async fn hold(harness: &ManagedHarness, node: &str, timeout: &str) -> (Option<i32>, String) {
    let response = harness.command(&["hold", node, "--for", "2h", "--timeout", timeout]).await;
    harness.silence(node).await;
    response
}

async fn are_held(harness: &ManagedHarness, node: &str) -> bool {
    harness.on(node).await.iter().all(is_held)
}

fn output(harness: &ManagedHarness) -> String {
    harness.ours.as_ref().unwrap().output()
}

/// A webhook rejects changes of pods. A pod whose seconds end meanwhile leaves; each other one is held once it can be.
async fn rejected(harness: &ManagedHarness) {
    create_node(&harness.admin, "refused", &[]).await.unwrap();
    for name in ["first", "second", "gone"] {
        create(harness, name, "refused", OWN).await;
    }
    create(harness, "short", "refused", SHORT).await;
    let (rejects, requested) = (Rc::new(Cell::new(true)), Rc::new(Cell::new(0)));
    open_webhook(harness, Rc::clone(&rejects), Rc::clone(&requested)).await;
    requested.set(0);
    let (code, message) = hold(harness, "refused", "1s").await;
    assert!(code == Some(1) && message.contains("0 of 4 pods held after 1s"), "{code:?}: {message}");
    delete_pod(&harness.admin, "gone").await.unwrap();
    create(harness, "gone", "refused", OWN + 7).await;
    harness
        .until("the pod to leave that cannot wait", async |harness| harness.on("refused").await.len() == 3)
        .await;
    let pods = harness.on("refused").await;
    assert!(pods.iter().all(|pod| record(pod).is_none() && seconds(pod) >= Some(OWN)), "{pods:?}");
    let message = output(harness);
    assert!(
        message.contains("cannot change tolerationSeconds, retrying") && message.contains("no change today"),
        "{message}"
    );
    // Eight tries of a pod take at least 12 s.
    assert!((8..80).contains(&requested.get()), "{} requests", requested.get());

    rejects.set(false);
    harness.until("the others to be held", async |harness| are_held(harness, "refused").await).await;
    let pods = harness.on("refused").await;
    let again = pods.iter().find(|pod| name(pod) == "gone").and_then(record).unwrap();
    assert_eq!(again["held"][0]["tolerationSeconds"], OWN + 7, "another pod's seconds");
    harness.admin.delete(&format!("{WEBHOOKS}/refuses"), &json!({})).await.unwrap();
    set_taints(&harness.admin, "refused", &[]).await.unwrap();
    let (code, message) = harness.command(&["release", "refused"]).await;
    assert_eq!(code, Some(0), "{message}");
    harness
        .until("all to be as they were", async |harness| {
            let pods = harness.on("refused").await;
            let own = |pod: &Value| if name(pod) == "gone" { OWN + 7 } else { OWN };
            pods.iter().all(|pod| record(pod).is_none() && seconds(pod) == Some(own(pod)))
        })
        .await;
}

/// Returns once it rejects.
async fn open_webhook(harness: &ManagedHarness, rejects: Rc<Cell<bool>>, requested: Rc<Cell<usize>>) {
    let authority = TestAuthority::new().unwrap();
    let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    review_server::listen(port, &authority, async move |_: &str, _: &Value| {
        requested.set(requested.get() + 1);
        json!({"allowed": !rejects.get(), "status": {"message": "no change today"}})
    })
    .await;
    let webhook = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "refuses"},
        "webhooks": [{
            "name": "refuses.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "clientConfig": {
                "url": format!("https://127.0.0.1:{port}/validate"),
                "caBundle": STANDARD.encode(&authority.certificate),
            },
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["pods"]}],
        }],
    });
    harness.admin.create(WEBHOOKS, &webhook).await.unwrap();
    wait::until("the webhook to refuse", STARTUP_TIMEOUT, async || {
        let label = json!({"metadata": {"labels": {"a": "b"}}}).to_string();
        Ok(harness.admin.patch(&path("first"), PatchType::Merge, &label).await.is_err().then_some(()))
    })
    .await
    .unwrap();
}

/// API priority and fairness allows one patch of a pod at a time for the account, and answers all others with 429.
async fn throttled(harness: &ManagedHarness) {
    create_node(&harness.admin, "throttled", &[]).await.unwrap();
    for at in 0..THROTTLED {
        create(harness, &format!("throttled-{at}"), "throttled", OWN).await;
    }
    let level = json!({
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "PriorityLevelConfiguration",
        "metadata": {"name": "none"},
        "spec": {"type": "Limited", "limited": {
            "nominalConcurrencyShares": 0, "borrowingLimitPercent": 0, "limitResponse": {"type": "Reject"},
        }},
    });
    let account = json!({"namespace": "taintward-system", "name": "taintward"});
    let schema = json!({
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "FlowSchema", "metadata": {"name": "none"},
        "spec": {
            "matchingPrecedence": 2, "priorityLevelConfiguration": {"name": "none"},
            "rules": [{
                "subjects": [{"kind": "ServiceAccount", "serviceAccount": account}],
                "resourceRules": [{
                    "verbs": ["patch"], "apiGroups": [""], "resources": ["pods"], "namespaces": ["*"],
                }],
            }],
        },
    });
    harness.admin.create(&format!("{FLOW}/prioritylevelconfigurations"), &level).await.unwrap();
    harness.admin.create(&format!("{FLOW}/flowschemas"), &schema).await.unwrap();
    let ours = TestApi::from_kubeconfig(&harness.account).await.unwrap();
    let probe = path("throttled-0");
    wait::until("patches to be throttled", STARTUP_TIMEOUT, async || {
        let all = join_all((0..8).map(|_| ours.patch(&probe, PatchType::Merge, "{}"))).await;
        let is_throttled = |error: &TestApiError| error.code() == Some(429);
        Ok(all.iter().any(|response| response.as_ref().is_err_and(is_throttled)).then_some(()))
    })
    .await
    .unwrap();
    let (code, message) = hold(harness, "throttled", "60s").await;
    assert_eq!(code, Some(0), "{message}");
    assert!(are_held(harness, "throttled").await && harness.on("throttled").await.len() == THROTTLED);
    let message = output(harness);
    assert!(message.contains("429"), "{message}");
    harness.admin.delete(&format!("{FLOW}/flowschemas/none"), &json!({})).await.unwrap();
}

/// An operator gives a pod its seconds back as soon as they are cleared, until the operator is stopped.
async fn reconciled(harness: &ManagedHarness) {
    /// The first write is answered immediately, each other one 5 s after the previous answer.
    const WRITES: u32 = 3;
    const PAUSE: Duration = Duration::from_secs(5);
    create_node(&harness.admin, "reconciled", &[]).await.unwrap();
    create(harness, "reconciled", "reconciled", OWN).await;
    let (code, message) = hold(harness, "reconciled", "30s").await;
    assert_eq!(code, Some(0), "{message}");
    let mut responses = Vec::new();
    for _ in 0..WRITES {
        let back = |at| json!({"op": "add", "path": format!("/spec/tolerations/{at}/tolerationSeconds"), "value": OWN});
        let back = json!([back(0), back(1)]).to_string();
        let written = Instant::now();
        harness.admin.patch(&path("reconciled"), PatchType::Json, &back).await.unwrap();
        harness
            .until("the pod to be held again", async |harness| are_held(harness, "reconciled").await)
            .await;
        responses.push(written.elapsed());
    }
    let paused: Duration = responses[1..].iter().sum();
    assert!(
        responses[0] < PAUSE && paused > (WRITES - 1) * (PAUSE - Duration::from_secs(1)),
        "{responses:?}"
    );
    let message = output(harness);
    assert!(
        message.contains("another writer changed") && message.contains("default/reconciled"),
        "{message}"
    );
}

/// The order in the annotation of a held pod.
fn order(record: &Value) -> Value {
    let record = record.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    record.unwrap_or_default()["order"].take()
}

/// Annotations are removed and, where no admission policy rejects that, corrupted and forged.
async fn forged(harness: &ManagedHarness) {
    create_node(&harness.admin, "forged", &[]).await.unwrap();
    for name in ["absent", "garbled", "fewer", "old"] {
        create(harness, name, "forged", OWN).await;
    }
    let (code, message) = hold(harness, "forged", "30s").await;
    assert_eq!(code, Some(0), "{message}");
    let annotation = async |name: &str| -> Value {
        harness.admin.get(&path(name)).await.unwrap()["metadata"]["annotations"][HELD].clone()
    };
    let odd = json!({"metadata": {"annotations": {HELD: "odd"}}}).to_string();
    let rejected = harness.admin.patch(&path("garbled"), PatchType::Merge, &odd).await.unwrap_err();
    assert!(rejected.to_string().contains("only Taintward writes the annotations"), "{rejected}");
    let binding =
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/taintward-pod-records";
    harness.admin.delete(binding, &json!({})).await.unwrap();
    harness
        .until("the policy to be gone", async |harness| {
            let tried = format!("{}?dryRun=All", path("garbled"));
            harness.admin.patch(&tried, PatchType::Merge, &odd).await.is_ok()
        })
        .await;
    let day_ago = Timestamp::now() - SignedDuration::from_hours(25);
    for name in ["absent", "garbled", "fewer", "old"] {
        let before = annotation(name).await;
        let mut record: Value = serde_json::from_str(before.as_str().unwrap()).unwrap();
        let forged = match name {
            "absent" => Value::Null,
            "garbled" => json!("odd"),
            "fewer" => {
                record["held"][1]["tolerationSeconds"] = json!(1);
                json!(record.to_string())
            }
            _ => {
                record["order"]["since"] = json!(day_ago.to_string());
                json!(record.to_string())
            }
        };
        let change = json!({"metadata": {"annotations": {HELD: forged}}}).to_string();
        harness.admin.patch(&path(name), PatchType::Merge, &change).await.unwrap();
        // The node may have become silent meanwhile, which the record then says, too.
        let is_back = |text: &Value| match name {
            "old" => order(text) == order(&before),
            _ => *text == before,
        };
        harness.until("the record to be put back", async |_| is_back(&annotation(name).await)).await;
    }
    // What counts is the order of the node, not the copy in the pod: a forged one ends no hold.
    let of = async |name: &str| harness.admin.get(&path(name)).await.unwrap();
    for name in ["absent", "garbled", "fewer", "old"] {
        assert!(is_held(&of(name).await), "{name} is held no longer");
    }
    let (code, message) = harness.command(&["release", "forged", "--full"]).await;
    assert_eq!(code, Some(0), "{message}");
    for name in ["absent", "garbled", "fewer", "old"] {
        assert_eq!(seconds(&of(name).await), Some(OWN), "{name}");
    }
}
