//! Tests which accounts may read the metrics and the record, on a real API server with TokenReviews and
//! SubjectAccessReviews.

use crate::cli::running::{RunningSandbox, TestFolder, text};
use crate::cli::timeout::{Lines, STARTUP_TIMEOUT};
use crate::turn;
use http::Request;
use kube::client::Body;
use kube::{Client, Config};
use serde_json::json;
use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;
use taintward_envtest::{Account, Audit, Cluster, ClusterConfig, TestApi, access};
use testkit::wait::until_true;

/// A port that is free at the moment.
fn free() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

/// Sends a GET, with a token if there is one. Returns the status code; `None` while the port is closed.
async fn get(url: &str, path: &str, token: &str) -> Option<u16> {
    let mut config = Config::new(url.parse().unwrap());
    // The port's certificate is self-signed; this test is about authorization.
    config.accept_invalid_certs = true;
    let mut request = Request::get(path);
    if !token.is_empty() {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let request = request.body(Body::empty()).unwrap();
    let response = Client::try_from(config).unwrap().send(request).await;
    response.ok().map(|response| response.status().as_u16())
}

async fn token(admin: &TestApi, account: &str) -> String {
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    let object = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account}});
    admin.create(accounts, &object).await.unwrap();
    let requested = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let made = admin.create(&format!("{accounts}/{account}/token"), &requested).await.unwrap();
    made["status"]["token"].as_str().unwrap().to_owned()
}

/// Binds a ClusterRole to a service account.
async fn bind(admin: &TestApi, role: &str, (namespace, account): (&str, &str)) {
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": format!("{account}-{}", role.replace(':', "-"))},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "namespace": namespace, "name": account}],
    });
    admin.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", &binding).await.unwrap();
}

/// The permission to read the metrics is not one to read the record; the commands read it with a token alone.
async fn record_is_for_its_readers(admin: &TestApi, (https, http): (&str, &str), scraper: &str) {
    let auditor = token(admin, "auditor").await;
    assert_eq!(get(https, "/record", scraper).await, Some(403));
    assert_eq!(get(https, "/record", "").await, Some(401));
    let folder = TestFolder::named("record-reader");
    let kubeconfig = |token: &str| {
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": "https://192.0.2.1:6443"}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "users": [{"name": "u", "user": {"token": token}}],
        });
        folder.write("kubeconfig", &config.to_string())
    };
    let outcome = |arguments: &[&str], token: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
        command.args(arguments).args(["--url", https, "--kubeconfig", &kubeconfig(token)]);
        let done = command.env("TZ", "UTC").output().unwrap();
        (done.status.code().unwrap(), text(&done.stdout), text(&done.stderr))
    };
    let out = folder.file("fetched.record");
    let fetch = ["record", "--out", &out];
    let (code, _, message) = outcome(&fetch, &auditor);
    let rule = "403 Forbidden): Forbidden: the rule is {nonResourceURLs: [\"/record\"], verbs: [\"get\"]}";
    assert!(code == 1 && message.contains(rule), "{message}");
    let (code, _, message) = outcome(&fetch, "nonsense");
    assert!(code == 1 && message.contains("does not know your user (401)"), "{message}");

    bind(admin, "record-reader", ("default", "auditor")).await;
    let admitted = async || get(https, "/record", &auditor).await == Some(200);
    until_true("an authorized token to be admitted", STARTUP_TIMEOUT, admitted).await;
    assert_eq!(get(http, "/record", &auditor).await, Some(403), "tokens are not sent in clear text");
    assert_eq!(get(https, "/metrics", &auditor).await, Some(403));
    let (code, _, message) = outcome(&fetch, &auditor);
    assert!(code == 0 && message.starts_with("wrote "), "{message}");
    let (code, _, message) = outcome(&fetch, &auditor);
    assert!(code == 1 && message.contains("File exists"), "{message}");
    let replayed = Command::new(env!("CARGO_BIN_EXE_taintward")).args(["replay", &out]).output().unwrap();
    assert!(text(&replayed.stdout).contains("This program decides the same."), "{replayed:?}");
    let (code, history, message) = outcome(&["history"], &auditor);
    assert!(code == 0 && history.contains("Taintward knows 0 nodes and 0 pods"), "{history} {message}");
}

#[test]
fn metrics_are_for_tokens_that_the_api_server_authorizes() {
    let Some(tools) = turn::for_test("metrics_delegated") else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let options = ClusterConfig { audit: Audit::Full, ..ClusterConfig::default() };
        let mut cluster = Cluster::start(&tools, options).await.unwrap();
        let admin = cluster.api(Account::Admin).await.unwrap();
        access::grant(&admin).await.unwrap();
        for (name, path) in [("metrics-reader", "/metrics"), ("record-reader", "/record")] {
            let role = json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name},
                "rules": [{"nonResourceURLs": [path], "verbs": ["get"]}],
            });
            admin.create("/apis/rbac.authorization.k8s.io/v1/clusterroles", &role).await.unwrap();
        }
        let (scraper, stranger) = (token(&admin, "scraper").await, token(&admin, "stranger").await);
        bind(&admin, "metrics-reader", ("default", "scraper")).await;

        let (secure, plain) = (free(), free());
        let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
        command.args(["run", "--metrics-authentication=delegated"]);
        command.arg(format!("--secure-port={secure}")).arg(format!("--metrics-port={plain}"));
        command.arg("--kubeconfig").arg(cluster.kubeconfig(Account::Taintward, 0));
        let mut taintward = RunningSandbox::of(command);
        let mut log = Lines::of(taintward.child.stderr.take().unwrap());
        let missing: Vec<String> = ["tokenreviews", "subjectaccessreviews"]
            .iter()
            .filter_map(|of| std::iter::from_fn(|| log.next()).find(|line| line.contains(*of)))
            .collect();
        assert!(missing.len() == 2 && missing.iter().all(|line| line.contains("may not create")), "{missing:?}");

        let (https, http) = (format!("https://127.0.0.1:{secure}"), format!("http://127.0.0.1:{plain}"));
        assert_eq!(get(&https, "/livez", "").await, Some(200), "probes have no token");
        assert_eq!(get(&http, "/livez", "").await, Some(200));
        assert_eq!(get(&http, "/metrics", &scraper).await, Some(403), "tokens are not sent in clear text");
        assert_eq!(get(&https, "/metrics", "").await, Some(401));
        // Without permission for reviews, every client is rejected.
        assert_eq!(get(&https, "/metrics", &scraper).await, Some(500));
        bind(&admin, "system:auth-delegator", ("kube-system", "taintward")).await;
        let admitted = async || get(&https, "/metrics", &scraper).await == Some(200);
        until_true("an authorized token to be admitted", STARTUP_TIMEOUT, admitted).await;
        assert_eq!(get(&https, "/metrics", &stranger).await, Some(403));
        assert_eq!(get(&https, "/metrics", "nonsense").await, Some(401));
        assert_eq!(get(&https, "/metrics", "").await, Some(401));

        // Decisions are cached: there were no more reviews for the scraper than necessary.
        for _ in 0..20 {
            assert_eq!(get(&https, "/metrics", &scraper).await, Some(200));
        }
        let requested = cluster.audit().unwrap();
        let requested = requested.iter().filter(|entry| entry.resource == "subjectaccessreviews").count();
        assert!((2..=4).contains(&requested), "{requested}");

        record_is_for_its_readers(&admin, (&https, &http), &scraper).await;

        // No new client is admitted while its token cannot be reviewed.
        let late = token(&admin, "late").await;
        bind(&admin, "metrics-reader", ("default", "late")).await;
        cluster.server(0).pause().unwrap();
        assert_eq!(get(&https, "/metrics", &late).await, Some(500));
        assert_eq!(get(&https, "/livez", "").await, Some(200));
        cluster.server(0).resume().unwrap();
    });
}
