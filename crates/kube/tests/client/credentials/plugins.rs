//! Tests exec plugins.

use super::server::{CredentialServer, ServerState};
use super::setting::{REQUEST, Setting, believed, request};
use std::path::Path;
use std::time::{Duration, Instant};
use taintward_kube::config::{ProbeError, probe};
use testkit::wait::{let_time_pass, until_true};

/// A script that prints a credential with this status.
fn gives(status: &str) -> String {
    format!(
        r#"echo '{{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{{{status}}}}}'"#
    )
}

/// A cloud's command line on a slow day: it takes longer than a request or a lease's renewal may take.
#[tokio::test]
async fn a_plugin_slower_than_a_request_runs_once_and_is_waited_for() {
    let server =
        CredentialServer::start(ServerState { tokens: vec!["first"], ..ServerState::default() }).await;
    let setting = Setting::new();
    let user = setting.plugin(&format!("sleep 4; {}", gives(r#""token":"first""#)));
    let connected = setting.connect(&format!("http://{}", server.address), "", &user).await;
    assert_eq!(setting.runs(), 0, "no plugin runs before the first request");
    let took = believed(&connected, Duration::from_secs(8)).await;
    assert!(took < Duration::from_millis(7500), "{took:?}");
    for client in [&connected.client, &connected.streams, &connected.heartbeats, &connected.lease] {
        assert!(probe(client, REQUEST).await.is_ok());
    }
    assert_eq!(setting.runs(), 1, "one run, for all requests and all connections");
}

#[tokio::test]
async fn a_token_is_renewed_before_its_end_without_waiting_requests() {
    let server = CredentialServer::start(ServerState { tokens: vec!["t"], ..ServerState::default() }).await;
    let setting = Setting::new();
    let soon = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(6);
    let first = gives(&format!(r#""token":"t","expirationTimestamp":"{soon}""#));
    let next = gives(r#""token":"u","expirationTimestamp":"2999-01-01T00:00:00Z""#);
    let user = setting.plugin(&format!("if [ $(wc -l < runs) = 1 ]; then {first}; else sleep 4; {next}; fi"));
    let connected = setting.connect(&format!("http://{}", server.address), "", &user).await;
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(7) {
        assert!(request(&connected).await.is_ok(), "the current token is valid until the server refuses it");
        let_time_pass(Duration::from_millis(300), "requests that do not wait for the renewal").await;
    }
    server.with(|state| state.tokens = vec!["u"]);
    believed(&connected, Duration::from_secs(4)).await;
    assert_eq!(setting.runs(), 2);
}

/// A token without an expiry is revoked: client-go runs the plugin at the first 401.
#[tokio::test]
async fn a_401_runs_the_plugin_again_but_not_all_the_time() {
    let server =
        CredentialServer::start(ServerState { tokens: vec!["first"], ..ServerState::default() }).await;
    let setting = Setting::new();
    setting.write("now", "first");
    let user = setting.plugin(&gives(r#""token":"'$(cat now)'""#));
    let connected = setting.connect(&format!("http://{}", server.address), "", &user).await;
    assert!(request(&connected).await.is_ok());
    setting.write("now", "second");
    server.with(|state| state.tokens = vec!["second"]);
    assert!(request(&connected).await.is_err());
    let took = believed(&connected, Duration::from_secs(5)).await;
    assert!(took < Duration::from_secs(3), "{took:?}");
    assert_eq!(setting.runs(), 2);
    // Its credentials are rejected permanently: hundreds of requests, a few runs.
    server.with(|state| state.tokens.clear());
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(6) {
        assert!(request(&connected).await.is_err());
        let_time_pass(Duration::from_millis(10), "hundreds of requests, and not thousands").await;
    }
    assert!((3..=5).contains(&setting.runs()), "{}", setting.runs());
    assert!(server.with(|state| state.rejected) > 100);
}

/// However it fails, a request's error is one line that quotes nothing of it.
#[tokio::test]
async fn a_plugin_that_fails_is_named_and_never_quoted() {
    for (script, words) in [
        ("echo hunter2; echo hunter2 >&2; exit 1", "exit status: 1"),
        ("kill -9 $$", "signal: 9"),
        ("echo hunter2", "not written an ExecCredential"),
        ("head -c 4096 /dev/urandom", "not written an ExecCredential"),
        ("yes hunter2 | head -c 3000000", "more than 1 MiB"),
        ("true", "not written an ExecCredential"),
        (&gives(""), "neither a token nor a certificate"),
        (&gives(r#""clientKeyData":"hunter2""#), "only one of certificate and key"),
        (&gives(r#""token":"hunter2","expirationTimestamp":"hunter2""#), "not a time"),
        (&gives(r#""token":"hunter2\u0007x""#), "no header can carry"),
        (&gives(r#""clientCertificateData":"hunter2","clientKeyData":"hunter2""#), "no certificate in PEM"),
        (&gives(r#""token":"hunter2""#).replace("v1", "v1beta1"), "ExecCredential of client.auth"),
    ] {
        let setting = Setting::new();
        let user = setting.plugin(script);
        let environment = "env: [{name: AWS_SECRET_ACCESS_KEY, value: hunter2}], args: [hunter2], command:";
        let user = user.replace("command:", environment);
        let connected = setting.connect("http://127.0.0.1:1", "", &user).await;
        let error = request(&connected).await.unwrap_err();
        assert!(matches!(error, ProbeError::Credentials(_)), "{script}: {error:?}");
        let text = format!("{error} {error:?}");
        assert!(text.contains(words), "{script}: {text}");
        assert!(!text.contains("hunter2") && !error.to_string().contains('\n'), "{script}: {text}");
        assert!(text.contains("plugin.sh") || words.contains("header") || words.contains("PEM"), "{text}");
    }
}

#[tokio::test]
async fn a_missing_plugin_is_reported_with_its_install_hint() {
    let setting = Setting::new();
    let user = setting.plugin("true").replace("./plugin.sh", "./none, installHint: 'Get it\n from there'");
    let error =
        request(&setting.connect("http://127.0.0.1:1", "", &user).await).await.unwrap_err().to_string();
    let remedy =
        "none does not exist; install it, or correct the command in the kubeconfig; Get it from there";
    assert!(error.contains(remedy), "{error}");
}

/// Its credentials are used as soon as it returns any, whatever it did before.
#[tokio::test]
async fn a_plugin_that_failed_and_recovers_is_used() {
    let server =
        CredentialServer::start(ServerState { tokens: vec!["first"], ..ServerState::default() }).await;
    let setting = Setting::new();
    let user = setting.plugin(&format!("[ -e well ] || exit 1; {}", gives(r#""token":"first""#)));
    let connected = setting.connect(&format!("http://{}", server.address), "", &user).await;
    for _ in 0..40 {
        assert!(matches!(request(&connected).await, Err(ProbeError::Credentials(_))));
        let_time_pass(Duration::from_millis(100), "requests for four seconds, in which the plugin fails")
            .await;
    }
    assert!((2..=4).contains(&setting.runs()), "{}", setting.runs());
    setting.write("well", "");
    believed(&connected, Duration::from_secs(5)).await;
}

/// Without a user to prompt: a plugin that runs without one gets that information, a plugin that needs one is not run.
#[tokio::test]
async fn without_a_terminal_no_user_is_prompted() {
    let server =
        CredentialServer::start(ServerState { tokens: vec!["false"], ..ServerState::default() }).await;
    let setting = Setting::new();
    let message = r#"echo "$KUBERNETES_EXEC_INFO" > info; [ -t 0 ] && exit 1"#;
    let user = setting.plugin(&format!("{message}; {}", gives(r#""token":"false""#)));
    let cluster = "extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: a}}]";
    let user =
        user.replace("interactiveMode: Never", "interactiveMode: IfAvailable, provideClusterInfo: true");
    let place = format!("http://{}", server.address);
    assert!(request(&setting.connect(&place, cluster, &user).await).await.is_ok());
    let info: serde_json::Value = serde_json::from_str(&setting.read("info")).unwrap();
    assert_eq!(info["kind"], "ExecCredential");
    assert_eq!(info["spec"]["interactive"], false);
    assert_eq!(info["spec"]["cluster"]["server"], place.as_str());
    assert_eq!(info["spec"]["cluster"]["config"]["audience"], "a");
    let user = user.replace("IfAvailable", "Always");
    let error = request(&setting.connect(&place, "", &user).await).await.unwrap_err().to_string();
    assert!(error.contains("needs a terminal"), "{error}");
    assert_eq!(setting.runs(), 1);
}

/// A plugin that hangs delays one request for its timeout, and is killed with the clients, together with its children.
#[tokio::test]
async fn a_plugin_that_hangs_is_killed_with_the_clients() {
    let setting = Setting::new();
    let user = setting.plugin("sleep 1000 & echo $! > child; echo $$ > own; wait");
    let connected = setting.connect("http://127.0.0.1:1", "", &user).await;
    let began = Instant::now();
    let error = request(&connected).await.unwrap_err();
    assert!(matches!(error, ProbeError::Unreachable(_)), "{error}");
    assert!(began.elapsed() < REQUEST + Duration::from_secs(1));
    let alive = |name: &str| {
        let state = std::fs::read_to_string(Path::new("/proc").join(setting.read(name).trim()).join("stat"));
        state.is_ok_and(|text| !text.contains(") Z "))
    };
    assert!(alive("child") && alive("own"));
    drop(connected);
    until_true("both to be killed", Duration::from_secs(5), async || !alive("child") && !alive("own")).await;
}
