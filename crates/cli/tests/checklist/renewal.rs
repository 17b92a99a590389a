//! Checks items 11 and 12: renewed and malformed certificate files under load.

use super::ground::{Found, Ground, Shown, demand};
use crate::admission::client::{Client, believing, question};
use crate::admission::hook::STARTUP_TIMEOUT;
use crate::admission::register::plain_pod;
use std::cell::{Cell, RefCell};
use taintward_envtest::wait;

const QUESTIONS: usize = 10_000;
const CLIENTS: usize = 8;
/// The number of requests on one connection.
const ON_ONE: usize = 50;

pub(crate) async fn under_load(ground: &mut Ground) -> Found {
    let (pid, before) = (ground.hook.pid(), ground.client().await.shown);
    let (stops, requested, failed) = (Cell::new(false), Cell::new(0_usize), RefCell::new(Vec::new()));
    let body = question("u", "main", &plain_pod("p")).to_string();
    let connector = believing(&ground.authority.certificate, None);
    let port = ground.hook.port;
    let on_one = async || -> std::io::Result<()> {
        let mut client = Client::connect(port, &connector).await?;
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
        ground.files.renew(&ground.authority);
        let renewed = async || {
            let shown = ground.client().await.shown;
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
    demand(ground.hook.is_running() && ground.hook.pid() == pid, "it is not the same process")?;
    Ok(Shown::with(
        "renewed during 10,000 requests: 0 failures, the webhook serves the new certificate, in the same process",
        format!("{} questions", requested.get()),
    ))
}

pub(crate) async fn garbage(ground: &mut Ground) -> Found {
    let failures = "taintward_webhook_certificate_reload_failures_total";
    let (before, shown) = (ground.hook.metric(failures, ""), ground.client().await.shown);
    ground.files.write("garbage", "-----BEGIN GARBAGE-----");
    ground.hook.reaches(failures, "", before + 1.0).await;
    let mut client = ground.client().await;
    demand(client.shown == shown, "another certificate is shown")?;
    let response = client.request("mutate", &question("u", "main", &plain_pod("p"))).await;
    demand(response["allowed"] == true, &response)?;
    ground.files.renew(&ground.authority);
    Ok("with garbage in both files, the webhook serves the last good certificate; the metric of failures rises".into())
}
