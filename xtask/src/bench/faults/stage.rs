//! Creates the nodes and pods of a run, taints nodes, and remembers when.

use super::fault::Fault;
use super::verdict::{PodHistory, TaintHistory, WriteSpan};
use crate::bench::load::{PODS, in_parallel};
use anyhow::{Context as _, Result};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::Duration;
use taintward_envtest::audit::AuditTail;
use taintward_envtest::fixtures::{create_node, no_execute, pod, set_taints};
use taintward_envtest::{Account, Cluster, TestApi};

const KEY: &str = "faults.example.com/down";
pub(crate) const BINDINGS: &str = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
pub(crate) const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/taintward";
pub(crate) const IN_FLIGHT: usize = 16;

/// Nodes that are tainted before the fault; their pods become due before, during and after it.
pub(crate) const WAITING: Range<usize> = 0..6;
/// Nodes that are tainted right after the fault.
pub(crate) const PROBES: Range<usize> = 6..8;
/// The node whose taint is removed before its pods are due.
pub(crate) const SPARED: usize = 8;
/// The last of them has no taint.
pub(crate) const NODES: usize = 10;

/// From the taints to the fault.
pub(crate) const LEAD: Duration = Duration::from_secs(2);
/// How long a start of the API server is expected to take, so that pods become due while it starts.
const STARTUP: u32 = 10;
/// From the expected end of the fault to the last countdown.
const AFTER: u32 = 6;
/// One contender in one fault.
pub(crate) struct Stage<'c> {
    pub(crate) cluster: &'c mut Cluster,
    pub(crate) fault: &'c Fault,
    pub(crate) audit: &'c mut AuditTail,
    /// Distinguishes the objects of runs.
    pub(crate) run: usize,
    pub(crate) pods_per_node: usize,
    start: Timestamp,
    pub(crate) taints: [TaintHistory; NODES],
}

impl<'c> Stage<'c> {
    pub(crate) fn new(
        cluster: &'c mut Cluster,
        fault: &'c Fault,
        audit: &'c mut AuditTail,
        run: usize,
        pods_per_node: usize,
    ) -> Self {
        let (start, taints) = (Timestamp::now(), [TaintHistory::default(); NODES]);
        Self { cluster, fault, audit, run, pods_per_node, start, taints }
    }

    pub(crate) fn now(&self) -> f64 {
        self.seconds(Timestamp::now())
    }

    pub(crate) fn seconds(&self, at: Timestamp) -> f64 {
        at.duration_since(self.start).as_secs_f64()
    }

    pub(crate) fn node(&self, node: usize) -> String {
        format!("run-{}-{node}", self.run)
    }

    /// The seconds from the taint to the expected end of the fault.
    fn expected_end(&self) -> u32 {
        let startup = if self.fault.kind.restarts() { STARTUP } else { 0 };
        u32::try_from((LEAD + self.fault.lasts).as_secs()).unwrap_or(u32::MAX) + startup
    }

    /// All pods: name, node, seconds.
    fn pods(&self) -> Vec<(String, usize, Option<u32>)> {
        let end = self.expected_end();
        let all = (0..NODES * self.pods_per_node).map(|index| {
            let (node, number) = (index % NODES, index / NODES);
            let seconds = match node {
                // One pod of each node tolerates the taint without a limit.
                _ if number == 0 => None,
                node if WAITING.contains(&node) => {
                    let step = number * WAITING.len() + node;
                    let steps = self.pods_per_node * WAITING.len();
                    Some(1 + (step * (end + AFTER) as usize / steps) as u32)
                }
                // Some of them are evicted before the store that lacks the taint is restored.
                SPARED if self.fault.kind.restores() => {
                    Some(1 + (number * (end + AFTER) as usize / self.pods_per_node) as u32)
                }
                SPARED => Some(end + AFTER + (number % 3) as u32),
                _ => Some(0),
            };
            (format!("run-{}-pod-{index}", self.run), node, seconds)
        });
        all.collect()
    }

    pub(crate) async fn furnish(&self, admin: &TestApi) -> Result<()> {
        for node in 0..NODES {
            create_node(admin, &self.node(node), &[]).await?;
        }
        in_parallel(self.pods(), IN_FLIGHT, async |(name, node, seconds)| {
            let pod = pod(&name, &self.node(node));
            let pod = if seconds == Some(0) { pod } else { pod.bearing(KEY, seconds.map(i64::from)) };
            pod.create(admin).await
        })
        .await
    }

    pub(crate) async fn taint(
        &mut self,
        admin: &TestApi,
        nodes: impl IntoIterator<Item = usize>,
    ) -> Result<()> {
        self.write(admin, nodes, &[no_execute(KEY, "")], |taint, span| taint.added = Some(span)).await
    }

    pub(crate) async fn write(
        &mut self,
        admin: &TestApi,
        nodes: impl IntoIterator<Item = usize>,
        taints: &[Value],
        record: impl Fn(&mut TaintHistory, WriteSpan),
    ) -> Result<()> {
        let this = &*self;
        let writes = stream::iter(nodes).map(async |node| {
            let begin = this.now();
            set_taints(admin, &this.node(node), taints).await?;
            anyhow::Ok((node, WriteSpan { begin, end: this.now() }))
        });
        let spans: Vec<_> = writes.buffer_unordered(IN_FLIGHT).try_collect().await?;
        spans.into_iter().for_each(|(node, span)| record(&mut self.taints[node], span));
        Ok(())
    }

    pub(crate) fn histories(
        &self,
        deleted: &BTreeMap<String, Vec<WriteSpan>>,
        left: &BTreeSet<String>,
    ) -> Vec<(String, PodHistory)> {
        let history = |(name, node, seconds): (String, usize, Option<u32>)| {
            let deleted = deleted.get(&name).cloned().unwrap_or_default();
            let (taint, is_probe, is_left) =
                (self.taints[node], PROBES.contains(&node), left.contains(&name));
            (name, PodHistory { seconds, taint, is_probe, deleted, is_left })
        };
        self.pods().into_iter().map(history).collect()
    }

    pub(crate) async fn clear(&self, admin: &TestApi) -> Result<()> {
        admin.delete(PODS, &json!({"gracePeriodSeconds": 0})).await?;
        admin.delete("/api/v1/nodes", &json!({})).await?;
        // The leader was killed: another one would wait until its lease has expired.
        match admin.delete(LEASE, &json!({})).await {
            Err(error) if error.code() != Some(404) => Err(error)?,
            _ => {}
        }
        Ok(())
    }
}

/// The ClusterRoleBinding that grants a contender its permissions.
pub(crate) fn binding_name(account: Account) -> &'static str {
    match account {
        Account::Taintward => "taintward",
        Account::Admin | Account::ControllerManager => "controller-manager",
    }
}

/// Grants everything to kube-controller-manager's account, by RBAC.
pub(crate) async fn bind_controller_manager(admin: &TestApi) -> Result<()> {
    let account = Account::ControllerManager;
    let binding = json!({
        "metadata": {"name": binding_name(account)},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "User", "name": account.user(), "apiGroup": "rbac.authorization.k8s.io"}],
    });
    admin
        .create(BINDINGS, &binding)
        .await
        .map(drop)
        .context("granting permissions to kube-controller-manager")
}
