//! Runs hundreds of simulated nodes with heartbeats, and records their changes.

use super::story::Story;
use jiff::Timestamp;
use serde_json::json;
use std::collections::BTreeSet;
use std::time::Duration;
use taintward_envtest::heartbeats::{FakeNode, Heartbeats};
use taintward_envtest::node_history::{NodeHistory, NodeView};
use taintward_envtest::{Account, Cluster, TestApi, wait};

/// The speed of the scenario.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    /// `--node-monitor-period`.
    pub(crate) monitor: Duration,
    /// `--node-monitor-grace-period` and `--node-startup-grace-period`.
    pub(crate) grace: Duration,
    /// How often a node renews its lease.
    pub(crate) renew: Duration,
    /// `--node-eviction-rate`: nodes per second and zone.
    pub(crate) rate: f64,
}

impl Rate {
    /// The flags, which have the same names in both programs.
    pub(crate) fn flags(&self) -> Vec<String> {
        let grace = self.grace.as_millis();
        vec![
            format!("--node-monitor-period={}ms", self.monitor.as_millis()),
            format!("--node-monitor-grace-period={grace}ms"),
            format!("--node-startup-grace-period={grace}ms"),
            format!("--node-eviction-rate={}", self.rate),
        ]
    }
}

/// The nodes of one cluster.
pub(crate) struct RealFleet {
    pub(crate) admin: TestApi,
    pub(crate) heartbeats: Heartbeats,
    pub(crate) record: NodeHistory,
    pub(crate) story: Story,
    pub(crate) rate: Rate,
}

impl RealFleet {
    /// Creates the nodes and follows them.
    pub(crate) async fn start(cluster: &Cluster, plans: Vec<FakeNode>, rate: Rate) -> Self {
        let admin = cluster.api(Account::Admin).await.unwrap();
        let kubeconfig = cluster.kubeconfig(Account::Admin, 0);
        wait::until("the namespace of leases", Duration::from_secs(30), async || {
            Ok(admin.find("/api/v1/namespaces/kube-node-lease").await?)
        })
        .await
        .unwrap();
        let heartbeats = Heartbeats::start(&kubeconfig, plans, rate.renew).await.unwrap();
        let record = NodeHistory::start(&kubeconfig).await.unwrap();
        // The time to create the nodes does not count as lateness.
        heartbeats.lateness();
        Self { admin, heartbeats, record, story: Story::default(), rate }
    }

    /// Silences these nodes.
    pub(crate) fn silence<N: AsRef<str>>(&self, nodes: &[N]) {
        self.heartbeats.silence(nodes).unwrap();
        self.story.silenced(nodes);
    }

    /// Revives these nodes, with the condition Ready.
    pub(crate) async fn revive<N: AsRef<str>>(&self, nodes: &[N]) {
        self.story.revived(nodes);
        self.heartbeats.revive(&self.admin, nodes).await.unwrap();
    }

    /// Deletes all nodes and leases.
    pub(crate) async fn end(self) {
        let Self { admin, heartbeats, record, .. } = self;
        drop((heartbeats, record));
        for path in ["/api/v1/nodes", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"] {
            admin.delete(path, &json!({})).await.unwrap();
        }
    }

    /// The own taints of a node; `None` if it does not exist.
    pub(crate) fn own(&self, node: &str) -> Option<BTreeSet<String>> {
        self.record.sight(node).map(|sight| sight.own())
    }

    /// The nodes with an own NoExecute taint.
    pub(crate) fn evicting(&self) -> BTreeSet<String> {
        self.record.those(NodeView::is_evicting)
    }

    /// Waits for a fact about the nodes. If it does not come, reports which nodes were late.
    pub(crate) async fn until(
        &self,
        what: &str,
        within: Duration,
        fact: impl Fn(&Self) -> bool,
    ) -> Timestamp {
        let requested = async || Ok(fact(self).then(Timestamp::now));
        match wait::until(what, within, requested).await {
            Ok(at) => at,
            Err(why) => {
                self.expect_punctual();
                panic!("{why:#}; tainted NoExecute: {:?}", self.evicting());
            }
        }
    }

    /// Checks that live nodes renewed as they should; otherwise reports an error of the generator.
    pub(crate) fn expect_punctual(&self) {
        // After a longer gap, a controller may rightly suspect the node.
        let within = self.rate.grace.saturating_sub(self.rate.monitor);
        let lateness = self.heartbeats.expect_punctual(within).unwrap();
        self.record.expect_whole().unwrap();
        println!("heartbeats: {lateness:?}");
    }
}
