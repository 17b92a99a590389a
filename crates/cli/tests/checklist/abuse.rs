//! Checks item 16: bodies of the largest size and above.

use super::harness::{ChecklistHarness, ItemResult, Shown, demand};
use crate::admission::client::question;
use crate::admission::register::plain_pod;
use serde_json::json;

/// The limit for growth of the memory, in KiB: less than one of the bodies.
const GROWTH: u64 = 8 << 10;
const BODIES: usize = 10;

pub(crate) async fn bodies(harness: &ChecklistHarness) -> ItemResult {
    let mut pod = plain_pod("big");
    pod["metadata"]["annotations"] = json!({"example.com/big": "x".repeat(3 << 20)});
    let big = question("u", "main", &pod).to_string();
    // Two objects of 3 MiB with every character escaped to six, and an input that no API server sends.
    let escaped = question("u", "main", &plain_pod("big")).to_string();
    let escaped =
        escaped.replacen("\"spec\":{", &format!("\"spec\":{{\"x\":\"{}\",", "\\u003c".repeat(6 << 20)), 1);
    let huge = format!("[{}", " ".repeat(40 << 20));
    let request = async |body: &str| {
        let response = harness.client().await.post("/mutate", body.to_owned()).await;
        response.map(|(status, _)| status).map_err(|why| why.to_string())
    };
    let idle = harness.resident();
    for _ in 0..BODIES {
        let status = request(&big).await?;
        demand(status == 200, format!("a pod of 3 MiB: {status}"))?;
    }
    let before = harness.resident();
    for _ in 0..BODIES {
        let status = request(&escaped).await?;
        demand(status == 200, format!("36 MiB: {status}"))?;
        let status = request(&huge).await?;
        demand(status == 413, format!("40 MiB: {status}"))?;
    }
    let after = harness.resident();
    demand(after < before + GROWTH, format!("40 MiB took memory: {before} KiB before, {after} KiB after"))?;
    Ok(Shown::with(
        "the webhook answers two objects of 3 MiB with every character written as six (36 MiB), and rejects 40 MiB with 413; \
         its memory grows by less than one of the bodies",
        format!(
            "{idle} KiB resident, {before} after {BODIES} pods of 3 MiB, {after} after {BODIES} of 36 and 40 MiB each"
        ),
    ))
}
