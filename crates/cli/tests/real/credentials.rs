//! Tests credentials that expire, are revoked or come late: evictions continue within seconds of valid ones.

use super::harness::{
    AuditExceptions, LATE_MAX, RealPod, ScenarioHarness, let_controllers_observe, let_seconds_pass,
    let_time_pass_until, seconds,
};
use super::program::Taintward;
use super::witness::Witness;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;
use taintward_envtest::fixtures::{no_execute, pod};
use taintward_envtest::{Account, Cluster, wait};

/// From the return of the credentials to the DELETE.
const BACK: f64 = 5.0;

/// How long API servers may accept a token after it was revoked.
const BELIEVED: Duration = Duration::from_secs(30);

/// A kubeconfig of Taintward's account with these credentials.
fn kubeconfig(cluster: &Cluster, name: &str, user: &str) -> PathBuf {
    let text = format!(
        "{{clusters: [{{name: c, cluster: {{server: 'https://127.0.0.1:{}', certificate-authority: ca.crt}}}}], \
         users: [{{name: u, user: {{{user}}}}}], \
         contexts: [{{name: x, context: {{cluster: c, user: u}}}}], current-context: x}}",
        cluster.port(0),
    );
    let file = cluster.folder().join(format!("{name}.kubeconfig"));
    fs::write(&file, text).unwrap();
    file
}

/// Replaces a file atomically, as tools that renew credentials do.
fn replace(cluster: &Cluster, name: &str, text: &str) {
    let new = cluster.folder().join("new");
    fs::write(&new, text).unwrap();
    fs::rename(new, cluster.folder().join(name)).unwrap();
}

/// A token of Taintward's account that ends with the Secret of this name.
async fn token(harness: &ScenarioHarness<'_>, name: &str) -> String {
    let secrets = "/api/v1/namespaces/kube-system/secrets";
    let secret = json!({"metadata": {"name": name}});
    let secret = harness.admin.create(secrets, &secret).await.unwrap();
    let bound = json!({"kind": "Secret", "apiVersion": "v1", "name": name, "uid": secret["metadata"]["uid"]});
    let requested = json!({"spec": {"expirationSeconds": 3600, "boundObjectRef": bound}});
    let path = "/api/v1/namespaces/kube-system/serviceaccounts/taintward/token";
    let given = harness.admin.create(path, &requested).await.unwrap();
    given["status"]["token"].as_str().unwrap().to_owned()
}

async fn revoke(harness: &ScenarioHarness<'_>, name: &str) {
    harness
        .admin
        .delete(&format!("/api/v1/namespaces/kube-system/secrets/{name}"), &json!({}))
        .await
        .unwrap();
}

/// A pod that is due, on a node of its own, and one that is not for long.
async fn due(harness: &ScenarioHarness<'_>, name: &str) -> (RealPod, RealPod) {
    harness.create_node(name).await;
    let due = harness.create_pod(pod(name, name)).await;
    let long = harness.create_pod(pod(&format!("{name}-long"), name).bearing("k", Some(300))).await;
    let_controllers_observe().await;
    harness.set_taints(name, &[no_execute("k", "v")]).await;
    (due, long)
}

/// Checks that all due pods leave within seconds of this time, and no others.
async fn goes_on(harness: &ScenarioHarness<'_>, pods: &[(RealPod, RealPod)], name: &str, back: Timestamp) {
    for (due, long) in pods {
        harness.goes_within(due, back, back + seconds(BACK)).await;
        harness.stays_until(long, Timestamp::now()).await;
    }
    let (next, long) = due(harness, name).await;
    let begun = Timestamp::now() - SignedDuration::from_secs(1);
    harness.goes_within(&next, begun, Timestamp::now() + LATE_MAX).await;
    harness.stays_until(&long, Timestamp::now()).await;
}

async fn started(cluster: &Cluster, kubeconfig: &std::path::Path) -> Taintward {
    let mut taintward = Taintward::start(cluster, kubeconfig, &[]);
    taintward.ready().await;
    taintward.leads().await;
    taintward
}

/// Waits until it is rejected.
async fn is_rejected(taintward: &Taintward) {
    wait::until(
        "a 401",
        BELIEVED,
        async || Ok((!taintward.message("Unauthorized").is_empty()).then_some(())),
    )
    .await
    .unwrap();
}

/// A client certificate that expired twenty seconds ago is replaced on disk.
pub(crate) async fn an_expired_certificate_that_is_replaced_is_used(
    cluster: &mut Cluster,
    witness: &Witness,
) -> AuditExceptions {
    let harness = ScenarioHarness::of(cluster, witness).await;
    let put = |good_for: u64| {
        let identity = cluster.identity(Account::Taintward, Duration::from_secs(good_for)).unwrap();
        replace(cluster, "own.crt", &identity.certificate);
        replace(cluster, "own.key", &identity.key);
    };
    put(15);
    let end = Timestamp::now() + seconds(15.0);
    let file = kubeconfig(cluster, "certificate", "client-certificate: own.crt, client-key: own.key");
    let mut taintward = started(cluster, &file).await;
    let_time_pass_until(end + seconds(1.0), "the certificate expires").await;
    let pods = [due(&harness, "certificate-a").await];
    is_rejected(&taintward).await;
    let_time_pass_until(end + seconds(20.0), "the pod must stay without valid credentials").await;
    assert_eq!(witness.deleted(&pods[0].0.uid), None);
    let back = Timestamp::now();
    put(3600);
    goes_on(&harness, &pods, "certificate-b", back).await;
    assert_eq!(taintward.stop().code(), Some(0));
    AuditExceptions::default()
}

/// A token is revoked, and its file replaced before, immediately, or twenty seconds later.
pub(crate) async fn a_revoked_token_whose_file_is_replaced_is_used(
    cluster: &mut Cluster,
    witness: &Witness,
) -> AuditExceptions {
    let harness = ScenarioHarness::of(cluster, witness).await;
    let first = token(&harness, "first").await;
    replace(cluster, "token", &format!("{first}\n"));
    let mut taintward = started(cluster, &kubeconfig(cluster, "token", "tokenFile: token")).await;
    // Replaced in time: there is no interruption.
    let second = token(&harness, "second").await;
    replace(cluster, "token", &format!("{second}\n"));
    let_seconds_pass(12.0, "the file is read again before the first token ends").await;
    revoke(&harness, "first").await;
    for round in 0..4 {
        let begun = Timestamp::now();
        let (next, long) = due(&harness, &format!("token-{round}")).await;
        harness.goes_within(&next, begun, Timestamp::now() + LATE_MAX).await;
        harness.stays_until(&long, Timestamp::now()).await;
        let_seconds_pass(3.0, "evictions go on past the time for which servers cache a token").await;
    }
    assert!(taintward.message("Unauthorized").is_empty(), "it was replaced in time");
    // Revoked first.
    revoke(&harness, "second").await;
    let_seconds_pass(11.0, "API servers cache a revoked token for 10 s").await;
    let pods = [due(&harness, "token-away").await];
    is_rejected(&taintward).await;
    let_seconds_pass(20.0, "the pod must stay without valid credentials").await;
    assert_eq!(witness.deleted(&pods[0].0.uid), None);
    let third = token(&harness, "third").await;
    let back = Timestamp::now();
    replace(cluster, "token", &format!("{third}\n"));
    goes_on(&harness, &pods, "token-back", back).await;
    let log = taintward.program().output();
    assert!([&first, &second, &third].iter().all(|token| !log.contains(*token)), "no token is logged");
    assert_eq!(taintward.stop().code(), Some(0));
    AuditExceptions::default()
}

/// A plugin takes 4 s, longer than the timeout of any request. Before its credentials expire there is no interruption;
/// after a 401, evictions continue within seconds of its result.
pub(crate) async fn a_plugin_of_four_seconds_is_waited_for(
    cluster: &mut Cluster,
    witness: &Witness,
) -> AuditExceptions {
    let harness = ScenarioHarness::of(cluster, witness).await;
    let script = r#"#!/bin/sh
cd "$(dirname "$0")"
echo run >> runs
sleep 4
echo secret-of-the-plugin >&2
end=$(date -u -d "+$(cat seconds) seconds" +%Y-%m-%dT%H:%M:%SZ)
echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"'$(cat issued)'","expirationTimestamp":"'$end'"}}'
date +%s.%N >> answers
"#;
    replace(cluster, "plugin.sh", script);
    let plugin = cluster.folder().join("plugin.sh");
    fs::set_permissions(plugin, fs::Permissions::from_mode(0o755)).unwrap();
    let lines =
        |name: &str| fs::read_to_string(cluster.folder().join(name)).unwrap_or_default().lines().count();
    replace(cluster, "seconds", "16");
    replace(cluster, "issued", &token(&harness, "issued-1").await);
    let user =
        "exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin.sh, interactiveMode: Never}";
    let file = kubeconfig(cluster, "plugin", user);
    // The program's environment is empty except for what the script needs.
    let mut taintward = started(cluster, &file).await;
    assert_eq!(lines("runs"), 1, "one run for all connections");
    let began = Timestamp::now();
    for round in 0..6 {
        let begun = Timestamp::now();
        let (next, long) = due(&harness, &format!("plugin-{round}")).await;
        harness.goes_within(&next, begun, Timestamp::now() + LATE_MAX).await;
        harness.stays_until(&long, Timestamp::now()).await;
        let_time_pass_until(
            began + seconds(f64::from(round + 1) * 5.0),
            "a round every 5 s, over two renewals",
        )
        .await;
    }
    assert!((3..=4).contains(&lines("runs")), "renewed when three quarters are over: {}", lines("runs"));
    assert!(taintward.message("Unauthorized").is_empty());

    // Valid for long by its own statement, and revoked.
    replace(cluster, "seconds", "3600");
    let before = lines("answers");
    wait::until("the last short one to be renewed", Duration::from_secs(30), async || {
        Ok((lines("answers") > before).then_some(()))
    })
    .await
    .unwrap();
    let_seconds_pass(1.0, "the renewed token is in use").await;
    let before = lines("answers");
    replace(cluster, "issued", &token(&harness, "issued-2").await);
    revoke(&harness, "issued-1").await;
    let_seconds_pass(11.0, "API servers cache a revoked token for 10 s").await;
    let pods = [due(&harness, "plugin-revoked").await];
    wait::until("the plugin to answer", BELIEVED, async || Ok((lines("answers") > before).then_some(())))
        .await
        .unwrap();
    goes_on(&harness, &pods, "plugin-back", Timestamp::now() - SignedDuration::from_secs(1)).await;
    assert!(lines("runs") <= 6, "{} runs", lines("runs"));
    assert!(!taintward.program().output().contains("secret-of-the-plugin"));
    assert_eq!(taintward.stop().code(), Some(0));
    AuditExceptions::default()
}
