//! Checks item 14: all webhooks of a cluster stop and come back.

use super::harness::{ChecklistHarness, ItemResult, Shown, demand};
use crate::admission::hook::{Hook, HookFiles, all};
use crate::admission::register::{
    Registered, namespace, plain_pod, pods, register_as, requests, tolerations,
};
use serde_json::json;
use std::time::{Duration, Instant};

/// As written by `taintward install`.
const SECONDS: u32 = 2;

pub(crate) async fn two_replicas_die(harness: &ChecklistHarness) -> ItemResult {
    let flags = HookFiles::new(&harness.cluster, "spiral", &harness.authority).flags();
    let start = || Hook::start(&harness.cluster, &harness.account, &all(&flags, &[]));
    let mut replicas = [start().ready().await, start().ready().await];
    let reported = |hook: &Hook, requested: &'static str| Registered {
        policy: "Ignore",
        seconds: SECONDS,
        requested,
        nodes: false,
        port: hook.port,
        authorities: &harness.authority.certificate,
    };
    namespace(&harness.api, "spiral", "spiral", json!({})).await;
    // Both are called for every pod; behind a Service it would be one or the other.
    register_as(&harness.api, "spiral-a", &[reported(&replicas[0], "spiral")]).await;
    register_as(&harness.api, "spiral-b", &[reported(&replicas[1], "spiral")]).await;
    for replica in &replicas {
        requests(&harness.api, replica, "spiral").await;
    }
    let create = async |name: &str| {
        let pod = harness.api.create(&pods("spiral"), &plain_pod(name)).await;
        pod.map(|pod| tolerations(&pod).len()).map_err(|why| format!("{name} was refused: {why}"))
    };
    demand(create("before").await? == 2, "default tolerations are missing")?;
    let ports = [replicas[0].port, replicas[1].port];
    replicas.iter_mut().for_each(Hook::kill);
    let began = Instant::now();
    demand(create("meanwhile").await? == 0, "a webhook still answers")?;
    let took = began.elapsed();
    // Two configurations, both webhooks, each of which may time out.
    demand(took < Duration::from_secs(u64::from(SECONDS) * 4 + 20), format!("a pod took {took:?}"))?;
    for port in ports {
        let again = Hook::on(&harness.cluster, &harness.account, port, &all(&flags, &[])).ready().await;
        requests(&harness.api, &again, "spiral").await;
        if port == ports[1] {
            demand(create("after").await? == 2, "no webhook answers again")?;
        }
    }
    Ok(Shown::with(
        "with both replicas killed, the API server still creates a pod, without tolerations; after a restart, it calls both \
         replicas again",
        format!("{} ms", took.as_millis()),
    ))
}
