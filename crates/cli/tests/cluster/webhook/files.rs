//! Tests certificate files that are renewed or corrupted under load.

use super::super::admission::client::{WebhookClient, believing};
use super::super::admission::hook::{Hook, HookFiles, STARTUP_TIMEOUT, all};
use super::super::admission::load::Load;
use super::super::admission::register::{Registered, namespace, register_as, requests};
use super::WebhookHarness;
use serde_json::json;
use taintward_envtest::certificates::TestAuthority;
use taintward_envtest::wait;

/// The minimum number of pods created meanwhile.
const PODS: usize = 2_000;
const FAILURES: &str = "taintward_webhook_certificate_reload_failures_total";

pub(crate) async fn renewed_and_spoilt_under_load(harness: &WebhookHarness) {
    let (first, second) = (&harness.authority, TestAuthority::new().unwrap());
    let files = HookFiles::new(&harness.cluster, "files", first);
    let flags = files.flags();
    namespace(&harness.api, "files", "files", json!({})).await;
    let mut hook = Hook::start(&harness.cluster, &harness.account, &all(&flags, &[])).ready().await;
    let trusting = async |authorities: &str| {
        register_as(&harness.api, "files", &[Registered::strict(&hook, "files", authorities)]).await;
    };
    trusting(&first.certificate).await;
    requests(&harness.api, &hook, "files").await;
    let (pid, idle) = (hook.pid(), hook.usage().resident);
    let both = format!("{}{}", first.certificate, second.certificate);
    let before = shown(&hook, &both).await.unwrap();
    let load = Load::default();
    let renewal = async {
        load.goes_on(100).await;
        trusting(&both).await;
        load.goes_on(100).await;
        files.renew(&second);
        let renewed = async || Ok(shown(&hook, &second.certificate).await);
        let after = wait::until("the new certificate to be shown", STARTUP_TIMEOUT, renewed).await.unwrap();
        assert_ne!(before, after);
        // A client that trusts only the old authority cannot connect any more: the old certificate is not served.
        assert_eq!(shown(&hook, &first.certificate).await, None);
        trusting(&second.certificate).await;
        load.goes_on(100).await;
        files.write("garbage", "garbage");
        hook.reaches(FAILURES, "", 1.0).await;
        assert_eq!(shown(&hook, &second.certificate).await, Some(after), "the last good one stays");
        load.goes_on(PODS.saturating_sub(load.created()).max(100)).await;
        load.stop();
    };
    futures::join!(load.run(&harness.api, "files"), renewal);
    load.expect_none_rejected();
    assert_eq!(load.without(), 0, "every pod got its tolerations");
    let after = hook.usage();
    println!(
        "    {} pods, none refused; resident {} KiB idle, {} KiB after, {} KiB at most",
        load.created(),
        idle >> 10,
        after.resident >> 10,
        after.peak >> 10
    );
    assert!(hook.is_running() && hook.pid() == pid);
    assert!(hook.stop().success());
}

/// The certificate presented to a client that trusts these authorities; `None` if the client rejects it.
async fn shown(hook: &Hook, authorities: &str) -> Option<Vec<u8>> {
    let client = WebhookClient::connect(hook.port, &believing(authorities, None)).await;
    client.ok().map(|client| client.shown)
}
