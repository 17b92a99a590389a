//! Tests the `--controllers` values of docs/switch-off.md with a real kube-controller-manager: taint eviction is off,
//! everything else stays on.

use crate::turn;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;
use taintward_envtest::fixtures::{create_node, find_pod, no_execute, pod, set_taints};
use taintward_envtest::{Account, Audit, ChildProcess, Cluster, ClusterConfig, TestApi, TestApiError, wait};

const STARTUP_TIMEOUT: Duration = Duration::from_secs(60);
const EVICTION: &str = "-taint-eviction-controller";
const NODES: &str = "-node-lifecycle-controller";
const KUBEADM: &str = "*,bootstrapsigner,tokencleaner";
const TOKENS: &str = "/api/v1/namespaces/kube-system/secrets";

fn page() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/switch-off.md");
    std::fs::read_to_string(path).unwrap()
}

/// A distribution's own value, and the value that the page recommends to its users.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    before: String,
    write: String,
}

fn rows(page: &str) -> Vec<Row> {
    let row = |line: &str| {
        let [_, _, before, write, _, _] = line.split('|').map(str::trim).collect::<Vec<_>>()[..] else {
            return None;
        };
        let code = |cell: &str| Some(cell.strip_prefix('`')?.strip_suffix('`')?.to_owned());
        Some(Row { before: code(before)?, write: code(write)? })
    };
    page.lines().filter_map(row).collect()
}

impl Row {
    /// The values of `--controllers`, in order: k3s and RKE2 repeat the flag with what `+=` adds, Talos appends the
    /// written value to its own with a comma, kOps takes a list, and all others use the written value alone.
    fn values(&self) -> Vec<String> {
        if let Some(added) = self.write.strip_prefix("controllers+=") {
            return vec![self.before.clone(), added.to_owned()];
        }
        if let Ok(list) = serde_json::from_str::<Vec<String>>(&self.write) {
            return vec![list.join(",")];
        }
        match self.write.starts_with('-') {
            true => vec![format!("{},{}", self.before, self.write)],
            false => vec![self.write.clone()],
        }
    }

    /// Whether the distribution's own value enables a controller that is off unless it is named.
    fn had(&self, name: &str) -> bool {
        self.before.split(',').any(|entry| entry == name)
    }
}

/// Values that users copy from further down the page were tested, too.
#[test]
fn the_page_shows_only_what_its_table_has() {
    let page = page();
    let rows = rows(&page);
    assert!(rows.len() >= 7, "{rows:?}");
    for row in &rows {
        assert!(row.write.contains(EVICTION), "{row:?}");
    }
    let blocks = page.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    for block in blocks {
        let line = block.lines().find(|line| line.contains(EVICTION)).unwrap();
        let shown = line.trim().trim_start_matches("- ");
        let shown =
            ["value: ", "controllers: "].iter().find_map(|key| shown.strip_prefix(key)).unwrap_or(shown);
        let known = |row: &Row| row.write == shown || format!("\"{}\"", row.write) == shown;
        assert!(rows.iter().any(known), "{shown} is in no row");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn what_the_page_says_switches_nothing_else_off() {
    let Some(tools) = turn::for_test("what_the_page_says_switches_nothing_else_off") else { return };
    let options = ClusterConfig { audit: Audit::Off, ..ClusterConfig::default() };
    let cluster = Cluster::start(&tools, options).await.unwrap();
    let harness = SwitchOffHarness::set(&cluster).await;

    // The page's warning: without the signer, no token is signed.
    let bare = harness.start(&[format!("*,{EVICTION}")]).await;
    let unsigned = harness.token("aaaaaa", "2999-01-01T00:00:00Z").await;
    harness.is_off(&bare, "bootstrap-signer-controller").await;
    harness.is_off(&bare, "token-cleaner-controller").await;
    harness.lives().await;
    assert!(!harness.is_signed(&unsigned).await);
    drop(bare);

    let distinct: BTreeSet<Row> = rows(&page())
        .into_iter()
        .filter(|row| row.before.starts_with('*') && known(row, cluster.minor()))
        .collect();
    for (number, row) in distinct.iter().enumerate() {
        harness.keeps(row, &row.values(), number).await;
        if row.before == KUBEADM {
            let both: Vec<String> = row.values().iter().map(|value| format!("{value},{NODES}")).collect();
            let manager = harness.keeps(row, &both, 100).await;
            harness.is_off(&manager, "node-lifecycle-controller").await;
        }
    }
    assert!(harness.is_signed(&unsigned).await, "once there is a signer");

    // The pod that stayed all the while leaves as soon as kubeadm's own value is back.
    let _original = harness.start(&[KUBEADM.to_owned()]).await;
    harness
        .until("the pod to be evicted", async || Ok(find_pod(&harness.admin, "tainted").await?.is_none()))
        .await;
}

/// Since 1.37 kube-controller-manager has no cloud controllers, and does not start with a list that names them.
fn known(row: &Row, minor: u32) -> bool {
    minor < 37 || !row.before.contains("cloud-node-lifecycle")
}

/// A cluster with a pod that does not tolerate its node's taint, and the ConfigMap by which nodes join.
struct SwitchOffHarness<'c> {
    cluster: &'c Cluster,
    admin: TestApi,
}

impl<'c> SwitchOffHarness<'c> {
    async fn set(cluster: &'c Cluster) -> Self {
        let admin = cluster.api(Account::Admin).await.unwrap();
        create_node(&admin, "n1", &[]).await.unwrap();
        set_taints(&admin, "n1", &[no_execute("example.com/gone", "")]).await.unwrap();
        pod("tainted", "n1").create(&admin).await.unwrap();
        let info = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cluster-info"},
            "data": {"kubeconfig": "apiVersion: v1\nkind: Config\n"},
        });
        admin.create("/api/v1/namespaces/kube-public/configmaps", &info).await.unwrap();
        Self { cluster, admin }
    }

    /// Starts kube-controller-manager with one flag for each value.
    async fn start(&self, values: &[String]) -> ChildProcess {
        let more: Vec<String> = values[1..].iter().map(|value| format!("--controllers={value}")).collect();
        self.cluster.controller_manager(&values[0], &more).await.unwrap()
    }

    /// Checks that everything enabled by the distribution's own value works, except eviction.
    async fn keeps(&self, row: &Row, values: &[String], number: usize) -> ChildProcess {
        let manager = self.start(values).await;
        self.is_off(&manager, "taint-eviction-controller").await;
        if row.had("tokencleaner") {
            let expired = self.token(&format!("ee{number:04}"), "2001-01-01T00:00:00Z").await;
            let path = format!("{TOKENS}/bootstrap-token-{expired}");
            self.until("the expired token to go", async || Ok(self.admin.find(&path).await?.is_none())).await;
        }
        if row.had("bootstrapsigner") {
            let token = self.token(&format!("cc{number:04}"), "2999-01-01T00:00:00Z").await;
            self.until("the token's signature", async || Ok(self.is_signed(&token).await)).await;
        }
        self.lives().await;
        let pod = find_pod(&self.admin, "tainted").await.unwrap();
        assert!(
            pod.is_some_and(|pod| pod["metadata"]["deletionTimestamp"].is_null()),
            "evicted with {values:?}"
        );
        manager
    }

    /// Creates a bootstrap token as `kubeadm token create` does. Returns its id.
    async fn token(&self, id: &str, expiration: &str) -> String {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "bootstrap.kubernetes.io/token",
            "metadata": {"name": format!("bootstrap-token-{id}")},
            "stringData": {
                "token-id": id, "token-secret": "0123456789abcdef", "expiration": expiration,
                "usage-bootstrap-signing": "true", "usage-bootstrap-authentication": "true",
            },
        });
        self.admin.create(TOKENS, &secret).await.unwrap();
        id.to_owned()
    }

    async fn is_signed(&self, id: &str) -> bool {
        let info = self.admin.get("/api/v1/namespaces/kube-public/configmaps/cluster-info").await.unwrap();
        info["data"][format!("jws-kubeconfig-{id}")].is_string()
    }

    async fn is_off(&self, manager: &ChildProcess, controller: &str) {
        let reported = format!("controller is disabled\" controller=\"{controller}\"");
        self.until(&reported, async || Ok(manager.output().contains(&reported))).await;
    }

    /// Waits until its controllers work: pods of a new ReplicaSet are created.
    async fn lives(&self) {
        let labels = json!({"app": "sign-of-life"});
        let set: Value = json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"generateName": "life-"},
            "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": "registry.invalid/main"}]},
            }},
        });
        let made = self.admin.create("/apis/apps/v1/namespaces/default/replicasets", &set).await.unwrap();
        let path = format!(
            "/apis/apps/v1/namespaces/default/replicasets/{}",
            made["metadata"]["name"].as_str().unwrap()
        );
        self.until("a pod to be made", async || Ok(self.admin.get(&path).await?["status"]["replicas"] == 1))
            .await;
    }

    async fn until(&self, what: &str, mut question: impl AsyncFnMut() -> Result<bool, TestApiError>) {
        wait::until(what, STARTUP_TIMEOUT, async || Ok(question().await?.then_some(()))).await.unwrap();
    }
}
