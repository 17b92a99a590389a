//! Tests that pods are created while the webhook is killed, with `failurePolicy: Ignore`.

use super::super::admission::hook::{Hook, HookFiles, all};
use super::super::admission::load::Load;
use super::super::admission::register::{Registered, namespace, register_as, requests};
use super::WebhookHarness;
use serde_json::json;

pub(crate) async fn pods_still_come(harness: &WebhookHarness) {
    let flags = HookFiles::new(&harness.cluster, "killed", &harness.authority).flags();
    namespace(&harness.api, "killed", "killed", json!({})).await;
    let mut hook = Hook::start(&harness.cluster, &harness.account, &all(&flags, &[])).ready().await;
    let authority = &harness.authority.certificate;
    let lenient =
        Registered { policy: "Ignore", seconds: 2, ..Registered::strict(&hook, "killed", authority) };
    register_as(&harness.api, "killed", &[lenient]).await;
    requests(&harness.api, &hook, "killed").await;
    let (load, port) = (Load::default(), hook.port);
    let end = async {
        load.goes_on(200).await;
        let before = load.without();
        hook.kill();
        load.goes_on(200).await;
        assert!(load.without() > before, "there is no webhook to add tolerations");
        let again = Hook::on(&harness.cluster, &harness.account, port, &all(&flags, &[])).ready().await;
        requests(&harness.api, &again, "killed").await;
        load.goes_on(100).await;
        load.stop();
        again
    };
    let ((), again) = futures::join!(load.run(&harness.api, "killed"), end);
    load.expect_none_rejected();
    drop(again);
    println!("    {} pods, none refused, {} without the webhook", load.created(), load.without());
}
