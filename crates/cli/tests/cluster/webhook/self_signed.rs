//! Tests self-signed certificates: two replicas, one Secret, which is lost under load.

use super::super::admission::account::{NAMESPACE, SECRET, make_secret};
use super::super::admission::client::{WebhookClient, believing};
use super::super::admission::hook::{Hook, STARTUP_TIMEOUT, free_port};
use super::super::admission::load::Load;
use super::super::admission::register::{Registered, bundles, namespace, register_as, requests};
use super::WebhookHarness;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use taintward_envtest::wait;

/// How long all configurations must have trusted an authority before it is used, in seconds, and more than that.
const SETTLED: i64 = 120;

pub(crate) async fn two_replicas(harness: &WebhookHarness) {
    let ports = [free_port(), free_port()];
    let reported = |at: usize, requested: &'static str| Registered {
        port: ports[at],
        requested,
        authorities: "",
        policy: "Fail",
        seconds: 20,
        nodes: false,
    };
    for name in ["own-a", "own-b"] {
        namespace(&harness.api, name, name, json!({})).await;
    }
    register_as(&harness.api, "taintward", &[reported(0, "own-a"), reported(1, "own-b")]).await;
    let flags = ["--self-signed", "--certificate-names=127.0.0.1"];
    let start = |port| Hook::on(&harness.cluster, &harness.account, port, &flags);
    let [mut one, mut other] = ports.map(start);
    one = one.ready().await;
    other = other.ready().await;
    requests(&harness.api, &one, "own-a").await;
    requests(&harness.api, &other, "own-b").await;
    let before = StoredCertificates::read(harness).await.expect("the Secret was written");
    for bundle in bundles(&harness.api, "taintward").await {
        assert!(bundle.contains(before.authority.trim()), "caBundle was written");
    }
    let old = shown(&one, &before.authority).await.expect("the Secret's authority has signed it");
    assert_eq!(shown(&other, &before.authority).await.as_ref(), Some(&old), "both show the same");
    let loads = [Load::default(), Load::default()];
    let loss = async {
        loads[0].goes_on(50).await;
        lose(harness, &one).await;
        let after = another(harness, &before).await;
        for bundle in bundles(&harness.api, "taintward").await {
            let both = [&before, &after].map(|kept| bundle.contains(kept.authority.trim()));
            assert_eq!(both, [true, true], "the old and the new authority are trusted");
        }
        assert_eq!(
            shown(&one, &before.authority).await.as_ref(),
            Some(&old),
            "not before all configurations trust it"
        );
        a_while_passes(harness).await;
        for hook in [&one, &other] {
            let new = async || Ok(shown(hook, &after.authority).await);
            let new = wait::until("the new certificate to be shown", STARTUP_TIMEOUT, new).await.unwrap();
            assert_ne!(new, old);
        }
        assert_eq!(shown(&one, &after.authority).await, shown(&other, &after.authority).await);
        for load in &loads {
            load.goes_on(50).await;
            load.stop();
        }
    };
    futures::join!(loads[0].run(&harness.api, "own-a"), loads[1].run(&harness.api, "own-b"), loss);
    for load in &loads {
        load.expect_none_rejected();
        assert_eq!(load.without(), 0);
    }
    assert!(one.is_running() && other.is_running());
    println!("    {} pods, none refused", loads[0].created() + loads[1].created());
}

/// The contents of the Secret.
struct StoredCertificates {
    object: Value,
    /// `ca.crt`
    authority: String,
    /// `rotation.json`
    memory: Value,
}

fn place() -> String {
    format!("/api/v1/namespaces/{NAMESPACE}/secrets/{SECRET}")
}

impl StoredCertificates {
    async fn read(harness: &WebhookHarness) -> Option<Self> {
        let object = harness.api.find(&place()).await.unwrap()?;
        let text = |name: &str| {
            let bytes = STANDARD.decode(object["data"][name].as_str()?).ok()?;
            String::from_utf8(bytes).ok()
        };
        let memory = serde_json::from_str(&text("rotation.json")?).unwrap();
        assert_eq!(object["type"], "Opaque", "as it was installed");
        let authority = text("ca.crt")?;
        Some(Self { object, authority, memory })
    }
}

/// The Secret is deleted. The account may not create one, and the served certificate stays until a new installation.
async fn lose(harness: &WebhookHarness, hook: &Hook) {
    harness.api.delete(&place(), &json!({})).await.unwrap();
    wait::until("the loss to be reported", STARTUP_TIMEOUT, async || {
        Ok(hook.output().contains("create the empty Secret with `taintward install --apply`").then_some(()))
    })
    .await
    .unwrap();
    assert!(harness.api.find(&place()).await.unwrap().is_none());
    make_secret(&harness.api).await;
}

/// Waits for another Secret whose authority all configurations trust.
async fn another(harness: &WebhookHarness, before: &StoredCertificates) -> StoredCertificates {
    wait::until("another authority that is trusted", STARTUP_TIMEOUT, async || {
        let kept = StoredCertificates::read(harness).await;
        Ok(kept.filter(|kept| kept.authority != before.authority && kept.memory["trustedSince"].is_i64()))
    })
    .await
    .unwrap()
}

/// Backdates the trust in the authority, so that no test has to wait for it.
async fn a_while_passes(harness: &WebhookHarness) {
    wait::until("the Secret to be written", STARTUP_TIMEOUT, async || {
        let Some(mut kept) = StoredCertificates::read(harness).await else { return Ok(None) };
        let since = kept.memory["trustedSince"].as_i64().unwrap();
        kept.memory["trustedSince"] = json!(since - SETTLED);
        kept.object["data"]["rotation.json"] = json!(STANDARD.encode(kept.memory.to_string()));
        Ok(harness.api.replace(&place(), &kept.object).await.ok())
    })
    .await
    .unwrap();
}

/// The certificate presented to a client that trusts this authority; `None` if the client rejects it.
async fn shown(hook: &Hook, authority: &str) -> Option<Vec<u8>> {
    let client = WebhookClient::connect(hook.port, &believing(authority, None)).await;
    client.ok().map(|client| client.shown)
}
