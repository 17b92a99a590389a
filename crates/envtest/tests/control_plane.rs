//! Tests that a control plane starts, is real, and leaves nothing behind.

#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]

use serde_json::json;
use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use taintward_envtest::api::PatchType;
use taintward_envtest::fixtures::{
    create_node, delete_pod, find_pod, finish, no_execute, pod, pods_on, set_taints,
};
use taintward_envtest::{Account, Cluster, ClusterConfig, TestApi, access, binaries, wait};

#[tokio::test]
async fn objects_accounts_and_audit_log_are_real() {
    let Some(tools) = binaries::for_test("objects_accounts_and_audit_log_are_real") else { return };
    let start = Instant::now();
    let cluster = Cluster::start(&tools, ClusterConfig::default()).await.unwrap();
    eprintln!("ready after {:?}", start.elapsed());
    let admin = cluster.api(Account::Admin).await.unwrap();
    create_node(&admin, "n1", &[]).await.unwrap();
    let uid = pod("web", "n1").bearing("k", Some(60)).create(&admin).await.unwrap();
    pod("slow", "n1").grace(30).create(&admin).await.unwrap();
    set_taints(&admin, "n1", &[no_execute("k", "v")]).await.unwrap();
    let node = admin.get("/api/v1/nodes/n1").await.unwrap();
    assert_eq!(node["spec"]["taints"], json!([{"key": "k", "value": "v", "effect": "NoExecute"}]));

    // The account may do what deploy/rbac.yaml grants …
    let ours = cluster.api(Account::Taintward).await.unwrap();
    let found = find_pod(&ours, "web").await.unwrap().unwrap();
    assert_eq!((&found["metadata"]["uid"], &found["spec"]["nodeName"]), (&json!(uid), &json!("n1")));
    assert_eq!(found["spec"]["tolerations"][0]["tolerationSeconds"], 60);
    delete_pod(&ours, "web").await.unwrap();
    assert!(
        find_pod(&ours, "web").await.unwrap().is_none(),
        "a pod without grace period is gone immediately"
    );
    delete_pod(&ours, "slow").await.unwrap();
    assert!(find_pod(&ours, "slow").await.unwrap().unwrap()["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(pods_on(&ours, "n1").await.unwrap(), Vec::<String>::new());
    finish(&admin, "slow").await.unwrap();
    assert!(find_pod(&ours, "slow").await.unwrap().is_none());

    // … and no more.
    let rejected = ours.patch("/api/v1/nodes/n1", PatchType::Merge, "{}").await.unwrap_err();
    assert_eq!(rejected.code(), Some(403));
    assert_eq!(pod("x", "n1").create(&ours).await.unwrap_err().to_string().split(' ').next(), Some("403"));
    access::revoke(&admin, "delete", "pods").await.unwrap();
    wait::until("the permission to be removed", Duration::from_secs(10), async || {
        Ok(delete_pod(&ours, "none").await.is_err_and(|error| error.code() == Some(403)).then_some(()))
    })
    .await
    .unwrap();
    access::grant(&admin).await.unwrap();
    wait::until("the permission to be restored", Duration::from_secs(10), async || {
        Ok(delete_pod(&ours, "none").await.is_err_and(|error| error.code() == Some(404)).then_some(()))
    })
    .await
    .unwrap();

    let audit = cluster.audit().unwrap();
    let deletion = audit
        .iter()
        .find(|entry| {
            entry.user == Account::Taintward.user() && entry.verb == "delete" && entry.name == "web"
        })
        .unwrap();
    assert_eq!((deletion.code, deletion.resource.as_str(), deletion.is_write()), (200, "pods", true));
    let creation = audit.iter().find(|entry| entry.verb == "create" && entry.resource == "nodes").unwrap();
    assert_eq!((creation.user.as_str(), &creation.request["metadata"]["name"]), ("admin", &json!("n1")));
    assert!(cluster.kubectl(["get", "nodes"]).unwrap().contains("n1"));
}

#[tokio::test]
async fn two_servers_share_one_truth_and_one_can_fall() {
    let Some(tools) = binaries::for_test("two_servers_share_one_truth_and_one_can_fall") else { return };
    let mut cluster =
        Cluster::start(&tools, ClusterConfig { servers: 2, ..ClusterConfig::default() }).await.unwrap();
    let first = cluster.api(Account::Admin).await.unwrap();
    let second = TestApi::from_kubeconfig(&cluster.kubeconfig(Account::Admin, 1)).await.unwrap();
    create_node(&first, "n1", &[]).await.unwrap();
    assert!(second.find("/api/v1/nodes/n1").await.unwrap().is_some());

    cluster.server(0).pause().unwrap();
    let requested = tokio::time::timeout(Duration::from_secs(1), first.get("/api/v1/nodes/n1")).await;
    assert!(requested.is_err(), "a paused server answers nothing");
    assert!(second.get("/api/v1/nodes/n1").await.is_ok());
    cluster.server(0).resume().unwrap();
    assert!(first.get("/api/v1/nodes/n1").await.is_ok());

    cluster.server(0).kill().unwrap();
    assert_eq!(first.get("/api/v1/nodes/n1").await.unwrap_err().code(), None);
    cluster.restart(0).await.unwrap();
    assert!(first.get("/api/v1/nodes/n1").await.is_ok());

    let (folder, pid) = (cluster.folder().to_owned(), cluster.server(0).pid());
    drop(cluster);
    assert!(!folder.exists() && !std::path::Path::new(&format!("/proc/{pid}")).exists());
}

/// The owner prints the cluster's folder and is then killed.
#[tokio::test]
async fn nothing_survives_a_killed_owner() {
    const ROLE: &str = "TAINTWARD_TEST_OWNER";
    let Some(tools) = binaries::for_test("nothing_survives_a_killed_owner") else { return };
    if std::env::var_os(ROLE).is_some() {
        let mut cluster = Cluster::start(&tools, ClusterConfig::default()).await.unwrap();
        println!("\nOWNED {} {}", cluster.server(0).pid(), cluster.folder().display());
        wait::let_time_pass(Duration::from_secs(600), "the owner lives until it is killed").await;
    }
    let mut owner = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "nothing_survives_a_killed_owner", "--nocapture"])
        .env(ROLE, "yes")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(owner.stdout.take().unwrap());
    let line = output.lines().map_while(Result::ok).find(|line| line.starts_with("OWNED ")).unwrap();
    let mut words = line.split(' ').skip(1);
    let process = PathBuf::from(format!("/proc/{}", words.next().unwrap()));
    let folder = PathBuf::from(words.next().unwrap());
    assert!(process.exists() && folder.exists());
    owner.kill().unwrap();
    owner.wait().unwrap();
    wait::until("everything to vanish", Duration::from_secs(10), async || {
        Ok((!process.exists() && !folder.exists()).then_some(()))
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn what_is_shipped_is_accepted_and_grants_this_and_no_more() {
    let Some(tools) = binaries::for_test("what_is_shipped_is_accepted_and_grants_this_and_no_more") else {
        return;
    };
    let cluster = Cluster::start(&tools, ClusterConfig::default()).await.unwrap();
    let deploy = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy");
    // A dry run creates neither the namespace nor the kinds that later objects need.
    cluster.kubectl(["create", "namespace", "taintward-system"]).unwrap();
    cluster.kubectl(["apply", "-f", &format!("{deploy}/crds")]).unwrap();
    cluster.kubectl(["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"]).unwrap();
    let applied = cluster.kubectl(["apply", "--dry-run=server", "-f", deploy]).unwrap();
    assert!(applied.contains("deployment.apps/taintward created (server dry run)"), "{applied}");

    // The rights of every service account, which Taintward does not grant and which differ by version.
    let other = cluster.kubeconfig_as("system:serviceaccount:default:other", &[]).unwrap();
    let every_account = rules(&TestApi::from_kubeconfig(&other).await.unwrap()).await;
    let ours = rules(&cluster.api(Account::Taintward).await.unwrap()).await;
    assert_eq!(
        ours.difference(&every_account).collect::<Vec<_>>(),
        [
            "events : create",
            "leases : create",
            "leases taintward: get update",
            "nodes : get list watch",
            "pods : get list watch delete",
            "pods/status : patch",
        ]
    );
}

/// The rights of an account in kube-system, according to the API server.
async fn rules(api: &TestApi) -> BTreeSet<String> {
    let question = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": "kube-system"},
    });
    let response =
        api.create("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", &question).await.unwrap();
    let words = |list: &serde_json::Value| -> String {
        list.as_array().into_iter().flatten().map(|word| word.as_str().unwrap()).collect::<Vec<_>>().join(" ")
    };
    let all = response["status"]["resourceRules"].as_array().unwrap().iter();
    let line = |rule: &serde_json::Value| {
        let parts = ["resources", "resourceNames", "verbs"].map(|part| words(&rule[part]));
        format!("{} {}: {}", parts[0], parts[1], parts[2])
    };
    all.map(line).collect()
}
