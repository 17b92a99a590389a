//! Tests a paused replica whose connections stay open, while pods are created.

use super::super::admission::hook::{Hook, HookFiles, all, free_port};
use super::super::admission::load::{CLIENTS, Load};
use super::super::admission::register::{Registered, namespace, register_as, requests};
use super::super::real::proxy::ScenarioProxy;
use super::WebhookHarness;
use serde_json::json;
use std::time::{Duration, Instant};

/// The API server's timeout, as in an installation.
const RESPONSE: u32 = 2;
/// With HTTP/2 it took 26 s: API servers keep such a connection for long.
const SOON: Duration = Duration::from_secs(15);

/// The Service leads new connections to the other replica; an API server must give up the open ones by itself.
pub(crate) async fn requests_go_to_the_other_replica(harness: &WebhookHarness) {
    let flags = HookFiles::new(&harness.cluster, "silent", &harness.authority).flags();
    namespace(&harness.api, "silent", "silent", json!({})).await;
    let start = async || Hook::start(&harness.cluster, &harness.account, &all(&flags, &[])).ready().await;
    let (first, second) = (start().await, start().await);
    let port = free_port();
    let service = ScenarioProxy::on(port, first.port);
    let authority = &harness.authority.certificate;
    let lenient = Registered {
        port,
        policy: "Ignore",
        seconds: RESPONSE,
        ..Registered::strict(&first, "silent", authority)
    };
    register_as(&harness.api, "silent", &[lenient]).await;
    requests(&harness.api, &first, "silent").await;
    let load = Load::default();
    let end = async {
        load.goes_on(100).await;
        assert_eq!(load.without(), 0);
        first.pause();
        service.lead_to(second.port);
        let began = Instant::now();
        load.goes_on(200).await;
        let (took, without) = (began.elapsed(), load.without());
        load.stop();
        assert!(took < SOON, "it took {took:?}");
        // As many requests as are sent concurrently may time out; some in the other webhook, which shows nowhere.
        assert!(without <= 2 * CLIENTS, "{without} pods without the webhook");
        assert!(
            second.metric("taintward_webhook_reviews_total", "") > 0.0,
            "the other replica is not called"
        );
        println!(
            "    {without} of 200 pods without the webhook, all of them within {:.1} s",
            took.as_secs_f64()
        );
    };
    let ((), ()) = futures::join!(load.run(&harness.api, "silent"), end);
    load.expect_none_rejected();
}
