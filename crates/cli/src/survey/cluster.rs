//! # Cluster: a running cluster's state
//! Room:     nodes, disruption budgets and pods, page by page.
//! Comes in: [`Cluster`].
//! Goes out: a [`Survey`]; what may not be read is a gap, and the rest is read.
//! Keeps:    one page is in memory.
//! Not here: connecting, pages (the client).

use super::{Gap, Survey, SurveyError, lost, moment};
use crate::kube_args::Cluster;
use crate::manifest::Mark;
use crate::progress::Progress;
use crate::runtime::Runtime;
use jiff::Timestamp;
use std::collections::BTreeSet;
use taintward_client::act::Refusal;
use taintward_client::connect::{Connected, connect, probe};
use taintward_client::pages::{Listing, pages};
use taintward_client::snapshot;
use taintward_core::matching::NumericOperators;
use taintward_core::snapshot::Builder;

/// A cluster that answers.
pub(crate) struct Reach<'c> {
    pub(crate) cluster: &'c Cluster,
    pub(crate) connected: Connected,
}

/// What is read besides nodes.
struct Extent<'e> {
    /// Of pods; all if empty.
    namespace: &'e str,
    /// Pods that one of these field selectors chooses; none is chosen by two.
    fields: &'e [String],
    budgets: bool,
}

impl<'c> Reach<'c> {
    /// Connects, and waits for a first answer.
    pub(crate) async fn of(cluster: &'c Cluster) -> Result<Self, SurveyError> {
        let connected = connect(&cluster.settings).await?;
        let place = connected.where_from.clone();
        let unreachable = |why| SurveyError::Unreachable { place, why };
        probe(&connected.client, cluster.patience).await.map_err(unreachable)?;
        Ok(Self { cluster, connected })
    }

    /// Tells each object of a list.
    pub(crate) async fn each(
        &self,
        listing: Listing<'_>,
        tell: &mut dyn FnMut(&[u8]) -> Result<(), String>,
    ) -> Result<(), Refusal> {
        pages(&self.connected.streams, listing, self.cluster.patience, tell).await
    }

    /// The state, as far as it may be read. Pods of all namespaces are, unless one was named: a taint asks no namespace.
    pub(crate) async fn survey(&self, as_of: Option<Timestamp>, numeric: NumericOperators) -> Survey {
        let fields = [self.cluster.fields.clone()];
        let extent = Extent { namespace: self.cluster.named_namespace(), fields: &fields, budgets: true };
        self.survey_of(extent, as_of, numeric).await
    }

    /// The nodes, and the pods that kubectl would list: those of the context's namespace, unless others are asked for.
    pub(crate) async fn listed(&self, as_of: Option<Timestamp>, numeric: NumericOperators) -> Survey {
        let (namespace, fields) = (self.cluster.namespace(&self.connected), [self.cluster.fields.clone()]);
        self.survey_of(Extent { namespace, fields: &fields, budgets: false }, as_of, numeric).await
    }

    async fn survey_of(
        &self,
        extent: Extent<'_>,
        as_of: Option<Timestamp>,
        numeric: NumericOperators,
    ) -> Survey {
        let mut builder = Builder::new(moment(as_of), numeric, false);
        let (mut gaps, mut progress) = (Vec::new(), Progress::default());
        let mut lacking = |why: Refusal, what: &str| {
            gaps.push(Gap { file: String::new(), at: Mark::default(), why: format!("{why}; {what}") });
        };
        let listing = |group, plural| Listing { group, plural, namespace: "", selector: "", fields: "" };
        let mut node = |json: &[u8]| {
            builder.node(snapshot::node(json)?);
            progress.at(builder.nodes_told(), "nodes");
            Ok(())
        };
        if let Err(why) = self.each(listing("", "nodes"), &mut node).await {
            lacking(why, "nodes are left out or incomplete");
        }
        let mut budget = |json: &[u8]| {
            builder.budget(snapshot::budget(json, "")?);
            Ok(())
        };
        if extent.budgets
            && let Err(why) = self.each(listing("policy", "poddisruptionbudgets"), &mut budget).await
        {
            lacking(why, "disruption budgets are left out");
        }
        let mut pod = |json: &[u8]| {
            snapshot::pod(json, "", &mut builder)?;
            progress.at(builder.pods_told(), "pods");
            Ok(())
        };
        let (namespace, selector) = (extent.namespace, self.cluster.selector.as_str());
        for fields in extent.fields {
            let pods = Listing { namespace, selector, fields, ..listing("", "pods") };
            if let Err(why) = self.each(pods, &mut pod).await {
                lacking(why, "pods are left out or incomplete");
            }
        }
        drop(progress);
        let snapshot = builder.finish();
        gaps.extend(lost(snapshot.lost()));
        Survey { snapshot, from: self.connected.where_from.clone(), gaps }
    }
}

pub(super) fn survey(
    cluster: &Cluster,
    as_of: Option<Timestamp>,
    numeric: NumericOperators,
) -> Result<Survey, SurveyError> {
    let runtime = Runtime::new()?;
    runtime.block_on(async { Ok(Reach::of(cluster).await?.survey(as_of, numeric).await) })
}

/// Nodes whose pods are listed node by node; for more of them all pods are listed at once.
const NODE_BY_NODE: usize = 8;

/// All nodes, and the pods on some of them.
pub(crate) fn of_nodes(cluster: &Cluster, names: &[&str]) -> Result<Survey, SurveyError> {
    // Who is named twice has his pods once.
    let names: BTreeSet<&str> = names.iter().copied().collect();
    let fields: Vec<String> = match names.len() {
        0..=NODE_BY_NODE => names.iter().map(|name| format!("spec.nodeName={name}")).collect(),
        _ => vec![String::new()],
    };
    // What is chosen with -l are nodes here.
    let cluster = cluster.whole();
    let runtime = Runtime::new()?;
    runtime.block_on(async {
        let reach = Reach::of(&cluster).await?;
        let extent = Extent { namespace: "", fields: &fields, budgets: true };
        Ok(reach.survey_of(extent, None, NumericOperators::Off).await)
    })
}
