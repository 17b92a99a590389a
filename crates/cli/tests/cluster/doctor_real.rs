//! Tests `taintward doctor` on a real control plane, from kubeadm's own flags to a running Taintward, and on servers that
//! respond to little.
//!
//! - No kubelet runs here: a Pod object shows the flags with which kube-controller-manager was started.

use crate::cli::reluctant::{There, serve};
use crate::cli::running::{RunningSandbox, TestFolder, text};
use crate::turn;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use taintward_envtest::api::PatchType;
use taintward_envtest::fixtures::create_node;
use taintward_envtest::{Account, Audit, ChildProcess, Cluster, ClusterConfig, TestApi, wait};

const STARTUP_TIMEOUT: Duration = Duration::from_secs(60);
const KUBEADM: &str = "*,bootstrapsigner,tokencleaner";
const PODS: &str = "/api/v1/namespaces/kube-system/pods";
const CLUSTER_INFO: &str = "/api/v1/namespaces/kube-public/configmaps/cluster-info";

/// Runs doctor. Returns its exit code, and each check by its id.
fn doctor(kubeconfig: &Path, flags: &[&str]) -> (i32, BTreeMap<String, Value>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
    command.args(["doctor", "-o", "json"]).args(flags).arg("--kubeconfig").arg(kubeconfig);
    let done = command.output().unwrap();
    let report: Value = serde_json::from_slice(&done.stdout)
        .unwrap_or_else(|why| panic!("{why}: {}{}", text(&done.stdout), text(&done.stderr)));
    let checks = report["items"].as_array().unwrap();
    let by_id = |check: &Value| (check["id"].as_str().unwrap().to_owned(), check.clone());
    (done.status.code().unwrap(), checks.iter().map(by_id).collect())
}

fn verdicts(checks: &BTreeMap<String, Value>, ids: &[&str]) -> Vec<String> {
    ids.iter().map(|id| checks[*id]["status"].as_str().unwrap().to_owned()).collect()
}

/// The value that doctor recommends.
fn to_write(check: &Value) -> String {
    let steps = check["fix"].as_array().unwrap();
    steps.iter().find_map(|step| step.as_str()?.strip_prefix("write: ")).unwrap().to_owned()
}

struct DoctorHarness<'c> {
    cluster: &'c Cluster,
    admin: TestApi,
}

impl<'c> DoctorHarness<'c> {
    async fn set(cluster: &'c Cluster) -> Self {
        let admin = cluster.api(Account::Admin).await.unwrap();
        create_node(&admin, "cp1", &[]).await.unwrap();
        let marks = json!({"metadata": {
            "labels": {"node-role.kubernetes.io/control-plane": ""},
            "annotations": {"kubeadm.alpha.kubernetes.io/cri-socket": "unix:///run/containerd/containerd.sock"},
        }});
        admin.patch("/api/v1/nodes/cp1", PatchType::Merge, &marks.to_string()).await.unwrap();
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "cp1"},
            "spec": {"holderIdentity": "cp1"},
        });
        admin.create("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", &lease).await.unwrap();
        let info = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cluster-info"},
            "data": {"kubeconfig": "apiVersion: v1\nkind: Config\n"},
        });
        admin.create("/api/v1/namespaces/kube-public/configmaps", &info).await.unwrap();
        Self { cluster, admin }
    }

    fn kubeconfig(&self) -> std::path::PathBuf {
        self.cluster.kubeconfig(Account::Admin, 0)
    }

    /// Starts kube-controller-manager with this value, and creates the pod that a kubelet would report for it.
    async fn manager(&self, value: &str) -> ChildProcess {
        let at_once = json!({"gracePeriodSeconds": 0});
        self.admin.delete(&format!("{PODS}/kube-controller-manager-cp1"), &at_once).await.ok();
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": "kube-controller-manager-cp1", "labels": {"component": "kube-controller-manager"},
                "annotations": {"kubernetes.io/config.mirror": "x"},
            },
            "spec": {
                "nodeName": "cp1", "hostNetwork": true, "tolerations": [{"operator": "Exists"}],
                "containers": [{
                    "name": "kube-controller-manager", "image": "registry.invalid/kube-controller-manager",
                    "command": ["kube-controller-manager", "--leader-elect=true", format!("--controllers={value}")],
                }],
            },
        });
        self.admin.create(PODS, &pod).await.unwrap();
        self.cluster.controller_manager(value, &[]).await.unwrap()
    }

    /// Creates a bootstrap token as `kubeadm token create` does. Returns whether it is signed within the time.
    async fn token_is_signed(&self, id: &str, limit: Duration) -> bool {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "bootstrap.kubernetes.io/token",
            "metadata": {"name": format!("bootstrap-token-{id}")},
            "stringData": {
                "token-id": id, "token-secret": "0123456789abcdef", "expiration": "2999-01-01T00:00:00Z",
                "usage-bootstrap-signing": "true", "usage-bootstrap-authentication": "true",
            },
        });
        self.admin.create("/api/v1/namespaces/kube-system/secrets", &secret).await.unwrap();
        let signature = format!("jws-kubeconfig-{id}");
        wait::until("the signature", limit, async || {
            let info = self.admin.get(CLUSTER_INFO).await?;
            Ok(info["data"][&signature].is_string().then_some(()))
        })
        .await
        .is_ok()
    }
}

const FLAGS: [&str; 4] = ["controllers-flag", "taint-eviction-off", "bootstrap-signer", "token-cleaner"];

#[tokio::test(flavor = "current_thread")]
async fn it_leads_from_kube_controller_manager_to_taintward_and_finds_what_is_wrong() {
    let Some(tools) = turn::for_test("it_leads_from_kube_controller_manager_to_taintward") else {
        return;
    };
    let options = ClusterConfig { audit: Audit::Off, ..ClusterConfig::default() };
    let cluster = Cluster::start(&tools, options).await.unwrap();
    let harness = DoctorHarness::set(&cluster).await;
    let kubeconfig = harness.kubeconfig();

    // kubeadm's own value.
    let original = harness.manager(KUBEADM).await;
    let (code, checks) = doctor(&kubeconfig, &["--pre"]);
    assert_eq!(checks["distribution"]["message"].as_str().unwrap().split(',').next(), Some("kubeadm"));
    assert_eq!(verdicts(&checks, &FLAGS), ["ok", "warning", "ok", "ok"]);
    assert_eq!(verdicts(&checks, &["server-version", "clock", "one-evictor", "permissions"]), ["ok"; 4]);
    assert_eq!(code, 0, "{checks:#?}");
    let write = to_write(&checks["taint-eviction-off"]);
    assert_eq!(write, format!("{KUBEADM},-taint-eviction-controller"));
    assert!(
        doctor(&kubeconfig, &[]).1["installation"]["message"].as_str().unwrap().contains("no Deployment")
    );
    drop(original);

    // The value that an older page recommended: it replaces the distribution's value.
    let old_line = harness.manager("*,-taint-eviction-controller").await;
    let (code, checks) = doctor(&kubeconfig, &["--pre"]);
    assert_eq!(
        (code, verdicts(&checks, &FLAGS)),
        (2, ["ok", "ok", "failed", "failed"].map(str::to_owned).to_vec())
    );
    let signer = &checks["bootstrap-signer"];
    assert!(signer["message"].as_str().unwrap().starts_with("bootstrap signer is off"), "{signer}");
    assert!(!harness.token_is_signed("aaaaaa", Duration::from_secs(3)).await, "nothing signs");
    let repaired = to_write(signer);
    drop(old_line);

    // Each recommended value keeps the signer and disables evictions.
    for (number, value) in [repaired, write].iter().enumerate() {
        let manager = harness.manager(value).await;
        assert!(harness.token_is_signed(&format!("bbbbb{number}"), STARTUP_TIMEOUT).await, "{value}");
        wait::until("kube-controller-manager's taint eviction to be off", STARTUP_TIMEOUT, async || {
            let off = "controller is disabled\" controller=\"taint-eviction-controller\"";
            Ok(manager.output().contains(off).then_some(()))
        })
        .await
        .unwrap();
        let (_, checks) = doctor(&kubeconfig, &["--pre"]);
        assert_eq!(verdicts(&checks, &FLAGS), ["ok"; 4], "{value}");
        assert!(checks["bootstrap-signer"]["message"].as_str().unwrap().contains("is signed"));
        let one = &checks["one-evictor"];
        assert_eq!(one["status"], "failed", "nothing evicts now: {one}");
    }

    let taintward = install(&harness).await;
    let (code, checks) = doctor(&kubeconfig, &[]);
    let ours = ["installation", "permissions", "leader", "one-evictor", "priority-and-fairness"];
    assert_eq!(verdicts(&checks, &ours), ["ok"; 5], "{checks:#?}");
    assert_eq!(code, 0, "{checks:#?}");

    // kube-controller-manager's taint eviction is back.
    let _original = harness.manager(KUBEADM).await;
    let (code, checks) = doctor(&kubeconfig, &[]);
    assert_eq!(
        (code, verdicts(&checks, &["one-evictor", "taint-eviction-off"])),
        (2, vec!["failed".to_owned(); 2])
    );
    drop(taintward);
}

/// Installs Taintward, with a process of this test in place of its pods, which no kubelet runs here.
async fn install(harness: &DoctorHarness<'_>) -> RunningSandbox {
    let kubeconfig = harness.kubeconfig();
    let mut apply = Command::new(env!("CARGO_BIN_EXE_taintward"));
    apply
        .args(["install", "--image", "registry.invalid/taintward:test", "--apply", "--kubeconfig"])
        .arg(&kubeconfig);
    let done = apply.output().unwrap();
    assert!(done.status.success(), "{}", text(&done.stderr));
    let ready = json!({"status": {"replicas": 2, "readyReplicas": 2}});
    let deployment = "/apis/apps/v1/namespaces/taintward-system/deployments/taintward/status";
    harness.admin.patch(deployment, PatchType::Merge, &ready.to_string()).await.unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
    command.args([
        "run",
        "--leader-elect-resource-namespace=taintward-system",
        "--metrics-port=0",
        "--kubeconfig",
    ]);
    let running = RunningSandbox::of({
        command.arg(&kubeconfig);
        command
    });
    let lease = "/apis/coordination.k8s.io/v1/namespaces/taintward-system/leases/taintward";
    wait::until("Taintward to lead", STARTUP_TIMEOUT, async || {
        let found = harness.admin.find(lease).await?;
        Ok(found
            .filter(|lease| !lease["spec"]["holderIdentity"].as_str().unwrap_or_default().is_empty())
            .map(drop))
    })
    .await
    .unwrap();
    running
}

#[tokio::test(flavor = "current_thread")]
async fn without_permissions_it_says_what_it_may_not_read() {
    let Some(tools) = turn::for_test("without_permissions_it_says_what_it_may_not_read") else { return };
    let options = ClusterConfig { audit: Audit::Off, ..ClusterConfig::default() };
    let cluster = Cluster::start(&tools, options).await.unwrap();
    let stranger = cluster.kubeconfig_as("stranger", &[]).unwrap();
    let (code, checks) = doctor(&stranger, &[]);
    assert_eq!(code, 1, "{checks:#?}");
    for (id, check) in &checks {
        let read_without = ["server-version", "clock"].contains(&id.as_str());
        let verdict = check["status"].as_str().unwrap();
        assert_eq!(verdict, if read_without { "ok" } else { "unknown" }, "{check}");
    }
    let finding = checks["distribution"]["message"].as_str().unwrap();
    assert!(
        finding.contains("grant the verb list on nodes") || finding.contains("may not list nodes"),
        "{finding}"
    );
}

/// A server that hides most objects, as one behind a broken aggregation layer does.
#[test]
fn a_server_that_is_half_broken_costs_only_the_checks_it_breaks() {
    let folder = TestFolder::named("doctor-half");
    let node = r#"{"kind": "NodeList", "items": [{"metadata": {"name": "n1"}, "status": {"nodeInfo": {"kubeletVersion": "v1.36.3+k3s1"}}}]}"#;
    let kubeconfig = serve(&folder, move |path| match path.rsplit('/').next() {
        Some("nodes") => There::Object(node),
        _ => There::Hidden,
    });
    let (code, checks) = doctor(Path::new(&kubeconfig), &["--pre"]);
    assert_eq!(code, 1, "{checks:#?}");
    assert_eq!(
        verdicts(&checks, &["distribution", "node-leases", "disruption-budgets"]),
        ["ok", "unknown", "unknown"]
    );
}

/// The sandbox has no kube-controller-manager: its checks are unknown, and the sandbox's Taintward is found.
#[test]
fn the_sandbox_is_a_cluster_without_a_distribution() {
    let folder = TestFolder::named("doctor-sandbox");
    let kubeconfig = folder.file("kubeconfig");
    let mut sandbox = RunningSandbox::start(&["--plain", "--kubeconfig-out", &kubeconfig]);
    sandbox.until("KUBECONFIG");
    let (code, checks) = doctor(Path::new(&kubeconfig), &[]);
    assert_eq!(
        verdicts(&checks, &["server-version", "distribution", "controllers-flag"]),
        ["ok", "note", "unknown"]
    );
    assert_ne!(code, 0, "{checks:#?}");
    let advice = checks["distribution"]["fix"][0].as_str().unwrap();
    assert!(advice.contains("find the source of kube-controller-manager's flags"), "{advice}");
}
