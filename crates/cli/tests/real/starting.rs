//! Tests failures at start: a clear message and exit code, or a visible wait.

use super::accounts::{account, leading_to};
use super::harness::{ScenarioHarness, let_seconds_pass};
use super::program::{STARTUP_TIMEOUT, Taintward, free_port};
use super::proxy::ScenarioProxy;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use taintward_envtest::{Account, wait};

const OBSERVE: &str = "--mode=observe";

/// Errors that end it immediately: exit code 1, and the last line says what failed, why, and what to do.
pub(crate) async fn what_waiting_cannot_heal_ends_it_with_one_sentence(harness: &ScenarioHarness<'_>) {
    let folder = harness.cluster.folder();
    let good = fs::read_to_string(harness.cluster.kubeconfig(Account::Taintward, 0)).unwrap();
    let write = |name: &str, text: &str| -> PathBuf {
        let file = folder.join(format!("start-{name}.kubeconfig"));
        fs::write(&file, text).unwrap();
        file
    };
    let ca = folder.join("ca.crt");
    let no_ca = good.replace(&ca.display().to_string(), "/nonexistent/ca.crt");
    for (file, flags, expected) in [
        (folder.join("start-missing"), vec![], "cannot read kubeconfig"),
        (write("nonsense", "{{"), vec![], "cannot read kubeconfig"),
        (write("empty", ""), vec![], "is empty"),
        (write("good", &good), vec!["--context=elsewhere"], r#"has no context "elsewhere""#),
        (write("no-ca", &no_ca), vec![], "cannot use a certificate or key in"),
    ] {
        let flags: Vec<&str> = flags.into_iter().chain([OBSERVE]).collect();
        let mut taintward = Taintward::start(harness.cluster, &file, &flags);
        assert_eq!(taintward.ended().await.code(), Some(1), "{expected}");
        let log = taintward.log();
        let last = log.last().unwrap();
        assert_eq!(last["level"], "error", "{last}");
        let sentence = last["err"].as_str().unwrap();
        assert!(sentence.contains(expected), "{sentence}");
        assert!(!sentence.contains('\n') && sentence.len() < 400, "{sentence}");
    }
}

fn status(taintward: &Taintward, path: &str) -> Option<u16> {
    taintward.get(path).map(|(status, _)| status)
}

/// It waits, visibly, for an unreachable server: alive, not ready; ready as soon as it has listed everything.
pub(crate) async fn an_unreachable_server_is_waited_for(harness: &ScenarioHarness<'_>) {
    let port = free_port();
    let mut taintward =
        Taintward::start(harness.cluster, &leading_to(harness.cluster, Account::Taintward, port), &[OBSERVE]);
    taintward.contains("waiting for the API server").await;
    taintward.contains("cannot be reached").await;
    let statuses = ["/livez", "/healthz", "/readyz"].map(|path| status(&taintward, path));
    assert_eq!(statuses, [Some(200), Some(200), Some(500)]);
    let (_, why) = taintward.get("/readyz").unwrap();
    assert!(why.contains("not"), "{why}");
    let_seconds_pass(4.0, "it tries again every 3 s").await;
    let waits = taintward.message("waiting for the API server").len();
    assert!((2..=3).contains(&waits), "logged at each try, every 3 s: {waits}");

    let _proxy = ScenarioProxy::on(port, harness.cluster.port(0));
    taintward.ready().await;
    let statuses = ["/livez", "/healthz", "/readyz"].map(|path| status(&taintward, path));
    assert_eq!(statuses, [Some(200); 3]);
    assert!(taintward.metric("taintward_nodes") > 0.0, "ready means that it has listed the nodes");
    assert_eq!(taintward.stop().code(), Some(0));
}

/// It also waits for a server with an invalid certificate, because a clock that is not set yet at boot looks the same.
/// It continues as soon as the CA file is the right one.
pub(crate) async fn a_certificate_that_does_not_fit_is_waited_for(harness: &ScenarioHarness<'_>) {
    let folder = harness.cluster.folder();
    let good = fs::read_to_string(harness.cluster.kubeconfig(Account::Taintward, 0)).unwrap();
    let (ca, other) = (folder.join("ca.crt"), folder.join("start-other-ca.crt"));
    fs::copy(folder.join("taintward-0.crt"), &other).unwrap();
    let file = folder.join("start-other-ca.kubeconfig");
    fs::write(&file, good.replace(&ca.display().to_string(), &other.display().to_string())).unwrap();
    let mut taintward = Taintward::start(harness.cluster, &file, &[OBSERVE]);
    taintward.contains("rejected the other's certificate").await;
    let_seconds_pass(4.0, "it must go on waiting").await;
    assert_eq!(status(&taintward, "/livez"), Some(200));
    assert_eq!(status(&taintward, "/readyz"), Some(500));
    fs::copy(&ca, folder.join("start-new-ca.crt")).unwrap();
    fs::rename(folder.join("start-new-ca.crt"), &other).unwrap();
    taintward.ready().await;
    assert_eq!(taintward.stop().code(), Some(0));
}

/// SIGTERM also ends the wait for a server.
pub(crate) async fn a_wait_for_the_server_can_be_ended(harness: &ScenarioHarness<'_>) {
    let kubeconfig = leading_to(harness.cluster, Account::Taintward, free_port());
    let mut taintward = Taintward::start(harness.cluster, &kubeconfig, &[OBSERVE]);
    taintward.contains("waiting for the API server").await;
    assert_eq!(taintward.stop().code(), Some(0));
}

/// TE-2: each missing permission is named with the rule that grants it; once it is granted, the controller continues
/// without a restart.
pub(crate) async fn a_missing_permission_is_named_with_its_rule(harness: &ScenarioHarness<'_>) {
    let beggar = account(harness.cluster, "beggar", json!([])).await;
    let mut enforcing = Taintward::start(harness.cluster, &beggar.kubeconfig, &[]);
    for rule in [
        r#"may not list nodes; add to its ClusterRole: {apiGroups: [""], resources: ["nodes"], verbs: ["list"]}"#,
        r#"may not watch pods; add to its ClusterRole: {apiGroups: [""], resources: ["pods"], verbs: ["watch"]}"#,
        r#"may not get nodes; "#,
        r#"may not delete pods; "#,
        r#"may not patch pods/status; "#,
        r#"may not create events; add to its ClusterRole: {apiGroups: ["events.k8s.io"]"#,
        r#"may not update leases in namespace kube-system; add to its Role: {apiGroups: ["coordination.k8s.io"], "#,
    ] {
        let message = async || Ok(names(&enforcing.log(), rule).then_some(()));
        wait::until(rule, STARTUP_TIMEOUT, message).await.unwrap();
    }
    assert!(!names(&enforcing.log(), "may not patch nodes"), "it is not needed");
    assert_eq!(status(&enforcing, "/readyz"), Some(500));
    assert_eq!(enforcing.stop().code(), Some(0));

    let mut observing = Taintward::start(harness.cluster, &beggar.kubeconfig, &[OBSERVE]);
    observing.contains("may not list nodes").await;
    assert!(!names(&observing.log(), "may not delete pods"), "observing needs permission to read only");
    assert_eq!(status(&observing, "/readyz"), Some(500));
    let path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/beggar";
    let mut role = harness.admin.get(path).await.unwrap();
    role["rules"] = json!([{"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["list", "watch"]}]);
    harness.admin.replace(path, &role).await.unwrap();
    observing.ready().await;
    assert!(
        harness
            .witness
            .all(|entry| entry.user == beggar.user && entry.is_write() && entry.code < 300)
            .is_empty()
    );
}

/// Whether an error record names this permission.
fn names(log: &[Value], rule: &str) -> bool {
    log.iter().any(|record| record["missing"].as_str().is_some_and(|missing| missing.contains(rule)))
}
