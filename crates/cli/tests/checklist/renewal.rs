//! Checks items 11 and 12: renewed and malformed certificate files under load.

use super::harness::{ChecklistHarness, ItemResult, Shown, demand};
use crate::admission::client::{WebhookClient, believing, question};
use crate::admission::hook::STARTUP_TIMEOUT;
use crate::admission::register::plain_pod;
use std::cell::{Cell, RefCell};
use taintward_envtest::wait;

const QUESTIONS: usize = 10_000;
const CLIENTS: usize = 8;
/// The number of requests on one connection.
const ON_ONE: usize = 50;

pub(crate) async fn under_load(harness: &mut ChecklistHarness) -> ItemResult {
    let (pid, before) = (harness.hook.pid(), harness.client().await.shown);
    let (stops, requested, failed) = (Cell::new(false), Cell::new(0_usize), RefCell::new(Vec::new()));
    let body = question("u", "main", &plain_pod("p")).to_string();
    let connector = believing(&harness.authority.certificate, None);
    let port = harness.hook.port;
    let on_one = async || -> std::io::Result<()> {
        let mut client = WebhookClient::connect(port, &connector).await?;
        for _ in 0..ON_ONE {
            let (status, message) = client.post("/mutate", body.clone()).await?;
            if status != 200 {
                return Err(std::io::Error::other(format!("{status} {message}")));
            }
            requested.set(requested.get() + 1);
        }
        Ok(())
    };
    let one = |_| async {
        while !stops.get() {
            if let Err(why) = on_one().await {
                failed.borrow_mut().push(why.to_string());
            }
        }
    };
    let renewal = async {
        harness.files.renew(&harness.authority);
        let renewed = async || {
            let shown = harness.client().await.shown;
            Ok((shown != before).then_some(()))
        };
        wait::until("the new certificate to be shown", STARTUP_TIMEOUT, renewed).await.unwrap();
        let from = requested.get();
        let enough = async || Ok((requested.get() >= QUESTIONS.max(from + 500)).then_some(()));
        wait::until("enough questions", STARTUP_TIMEOUT * 2, enough).await.unwrap();
        stops.set(true);
    };
    futures::join!(futures::future::join_all((0..CLIENTS).map(one)), renewal);
    let failed = failed.into_inner();
    demand(failed.is_empty(), format!("{} failures, such as {:?}", failed.len(), failed.first()))?;
    demand(harness.hook.is_running() && harness.hook.pid() == pid, "it is not the same process")?;
    Ok(Shown::with(
        "renewed during 10,000 requests: 0 failures, the webhook serves the new certificate, in the same process",
        format!("{} questions", requested.get()),
    ))
}

pub(crate) async fn garbage(harness: &mut ChecklistHarness) -> ItemResult {
    let failures = "taintward_webhook_certificate_reload_failures_total";
    let (before, shown) = (harness.hook.metric(failures, ""), harness.client().await.shown);
    harness.files.write("garbage", "-----BEGIN GARBAGE-----");
    harness.hook.reaches(failures, "", before + 1.0).await;
    let mut client = harness.client().await;
    demand(client.shown == shown, "another certificate is shown")?;
    let response = client.request("mutate", &question("u", "main", &plain_pod("p"))).await;
    demand(response["allowed"] == true, &response)?;
    harness.files.renew(&harness.authority);
    Ok("with garbage in both files, the webhook serves the last good certificate; the metric of failures rises".into())
}
