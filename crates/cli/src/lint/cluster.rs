//! # Cluster: what of a running cluster the rules look at
//! Room:     nodes, and everything with a pod template; pods that nothing of that makes.
//! Comes in: [`Cluster`].
//! Goes out: [`Gathered`]; what may not be read is a gap, and the rest is read.
//! Keeps:    rules that need what is not known are silent, and the gap says which.
//! Not here: connecting, pages (the client); what of an object counts (`object.rs`).

use super::LintError;
use super::gather::{Basket, Gathered};
use super::object::{self, What};
use crate::kube_args::Cluster;
use crate::manifest::Tree;
use taintward_client::act::Refusal;
use taintward_client::connect::{Connected, connect, probe};
use taintward_client::pages::{Listing, pages};
use taintward_core::lint::Workload;

/// Kinds with pods, what makes before what is made.
const WORKLOADS: [(&str, &str, &str); 7] = [
    ("apps", "deployments", "Deployment"),
    ("apps", "statefulsets", "StatefulSet"),
    ("apps", "daemonsets", "DaemonSet"),
    ("batch", "cronjobs", "CronJob"),
    ("batch", "jobs", "Job"),
    ("apps", "replicasets", "ReplicaSet"),
    ("", "pods", "Pod"),
];

pub(super) fn read(cluster: &Cluster) -> Result<Gathered, LintError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let connected = connect(&cluster.settings).await?;
        let place = connected.where_from.clone();
        let unreachable = |why| LintError::Unreachable { place, why };
        probe(&connected.client, cluster.patience).await.map_err(unreachable)?;
        Ok(Look { cluster, connected: &connected }.all().await)
    })
}

struct Look<'c> {
    cluster: &'c Cluster,
    connected: &'c Connected,
}

impl Look<'_> {
    async fn all(&self) -> Gathered {
        let (mut basket, mut gaps, mut complete) = (Basket::default(), Vec::new(), true);
        if let Err(why) =
            self.each("", "nodes", "Node", "", &mut |tree| complete &= basket.put(None, tree)).await
        {
            gaps.push(format!("{why}; rules about nodes (TL3) are left out or incomplete"));
        }
        let namespace = self.cluster.namespace(self.connected);
        let mut unread = Vec::new();
        for (group, plural, kind) in WORKLOADS {
            let put = &mut |tree: &Tree| complete &= basket.put(None, tree);
            if let Err(why) = self.each(group, plural, kind, namespace, put).await {
                gaps.push(format!("{why}; {plural} are left out or incomplete"));
                unread.push(plural);
            }
        }
        if !complete {
            gaps.push(
                "there is more in this cluster than is looked at; choose a namespace with -n".to_owned(),
            );
        }
        let mut gathered = basket.into_gathered();
        gathered.gaps = gaps;
        if unread.contains(&"daemonsets") {
            gathered.facts.daemons_known = false;
        } else {
            self.other_daemons(namespace, &mut gathered).await;
        }
        gathered
    }

    /// Agents of nodes are mostly in a namespace of their own: to say that none of them bears a taint, all must be known.
    async fn other_daemons(&self, namespace: &str, gathered: &mut Gathered) {
        let looked_at_all = namespace.is_empty() && self.cluster.selector.is_empty();
        let mut others: Vec<Workload> = Vec::new();
        let everything = self.cluster.everything();
        let read = if looked_at_all {
            Ok(())
        } else {
            let put = &mut |tree: &Tree| {
                if let Some(What::Workload(daemon)) = object::read(tree).map(|object| object.what) {
                    others.push(daemon);
                }
            };
            Look { cluster: &everything, connected: self.connected }
                .each("apps", "daemonsets", "DaemonSet", "", put)
                .await
        };
        gathered.facts.daemons_known = read.is_ok();
        gathered.facts.other_daemons = others;
        if let Err(why) = read {
            gathered.gaps.push(format!("{why}; whether agents bear taints (TL302) is left out"));
        }
    }

    async fn each(
        &self,
        group: &'static str,
        plural: &'static str,
        kind: &str,
        namespace: &str,
        put: &mut dyn FnMut(&Tree),
    ) -> Result<(), Refusal> {
        // Nodes of all labels are needed to know which taints there are.
        let selector = if plural == "nodes" { "" } else { &self.cluster.selector };
        let listing = Listing { group, plural, namespace, selector };
        let tell = &mut |page: &[u8]| {
            let page: Tree = serde_json::from_slice(page).map_err(|why| why.to_string())?;
            let version = page.text("apiVersion");
            let items = page.get("items").map(Tree::items).unwrap_or_default();
            items.iter().for_each(|item| put(&item.clone().called(version, kind)));
            Ok(())
        };
        pages(&self.connected.streams, listing, self.cluster.patience, tell).await
    }
}
