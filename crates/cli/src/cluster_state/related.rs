//! Reads the objects that `explain` needs: from a cluster only those related to the named pods and nodes, from files
//! all.
//!
//! - Invariant: explaining a pod needs permissions in its namespace only, and to read its node; what the user cannot
//!   read is a gap, what does not exist is known to be absent.

use super::cluster::ClusterReader;
use super::details::{EVICTED, EventDetails, NODE_REASONS, ObjectNames, RelatedDetails, WorkloadOwner};
use super::selected_pods::SelectedPods;
use super::{ClusterState, ReadError, files, moment};
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use taintward_core::cluster_snapshot::SnapshotBuilder;
use taintward_core::toleration_matching::NumericOperators;
use taintward_kube::api::RequestError;
use taintward_kube::api::paged_list::{self, ListRequest};
use taintward_kube::snapshot;
use taintward_kube::wire::{MetaJson, ObjectJson, object_from_slice};

/// The named objects and those that influence them.
#[derive(Debug)]
pub(crate) struct RelatedObjects {
    pub(crate) state: ClusterState,
    pub(crate) details: RelatedDetails,
    /// Pods that are known not to exist.
    pub(crate) gone: BTreeSet<String>,
    /// Nodes that are known not to exist.
    pub(crate) absent: BTreeSet<String>,
    /// Workloads that are known to exist, with or without pods.
    pub(crate) present: BTreeSet<(WorkloadOwner, String)>,
    /// For pods that are missing in the named namespace: other namespaces with a pod of that name, or events about one.
    pub(crate) elsewhere: BTreeMap<String, BTreeSet<String>>,
    /// Whether the events of the pods are known.
    pub(crate) knows_events: bool,
}

/// Reads them from files.
pub(crate) fn in_files(
    paths: &[PathBuf],
    wanted: ObjectNames,
    as_of: Option<Timestamp>,
    numeric: NumericOperators,
) -> RelatedObjects {
    let names = wanted.pods.clone();
    let (state, details) =
        files::read(paths, SelectedPods::default(), RelatedDetails::of(wanted), as_of, numeric);
    let is_there = |name: &String| details.pods.iter().any(|pod| pod.name == *name);
    let gone = names.into_iter().filter(|name| !is_there(name)).collect();
    let (absent, present, elsewhere) = (BTreeSet::new(), BTreeSet::new(), BTreeMap::new());
    RelatedObjects { state, details, gone, absent, present, elsewhere, knows_events: true }
}

/// Reads them from a running cluster.
pub(crate) async fn in_cluster(
    reader: &ClusterReader<'_>,
    wanted: ObjectNames,
    as_of: Option<Timestamp>,
    numeric: NumericOperators,
) -> RelatedObjects {
    let mut related = RelatedReader::new(reader, wanted.clone(), as_of, numeric);
    let namespace = wanted.namespace.as_deref().unwrap_or_default();
    for name in &wanted.pods {
        related.pod(namespace, name).await;
    }
    related.workloads(namespace, &wanted).await;
    related.nodes(&wanted).await;
    if !related.absent.is_empty() {
        // For similar names.
        related.all_nodes().await;
    }
    for name in &wanted.nodes {
        related.pods("", &format!("spec.nodeName={name}"), "its pods are missing or incomplete").await;
    }
    let mut elsewhere = BTreeMap::new();
    for name in &related.gone {
        elsewhere.insert(name.clone(), namespaces_with(reader, name).await);
    }
    if !related.gone.is_empty() {
        related.pods(namespace, "", "other pods of the same workload are missing").await;
    }
    let mut knows_events = true;
    for name in &wanted.pods {
        knows_events &= related.events(namespace, name).await;
    }
    // A node's pods are of any namespace.
    let place = if wanted.nodes.is_empty() { namespace } else { "" };
    let exists = !(wanted.nodes.is_empty() && related.present.is_empty() && related.details.made.is_empty());
    let past = if wanted.past && exists { related.past_evictions(place).await } else { Ok(()) };
    related.nodes_of_gone().await;
    let mut objects = related.finish(as_of, elsewhere, knows_events);
    // The explanation of the present is complete without them.
    objects.state.notes.extend(past.err().map(|why| format!("past evictions are unknown: {why}")));
    objects
}

/// Reads the nodes, and the events about evictions in a namespace; in all if it is empty.
pub(crate) async fn past_evictions(
    reader: &ClusterReader<'_>,
    namespace: &str,
    as_of: Option<Timestamp>,
) -> RelatedObjects {
    let wanted = ObjectNames { past: true, ..ObjectNames::default() };
    let mut related = RelatedReader::new(reader, wanted, as_of, NumericOperators::Off);
    related.all_nodes().await;
    let past = related.past_evictions(namespace).await;
    if let Err(why) = &past {
        related.lacks(&why.to_string(), "evictions are missing or incomplete");
    }
    related.finish(as_of, BTreeMap::new(), past.is_ok())
}

/// The namespaces with a pod of that name, or with events about one, as far as the user may know.
async fn namespaces_with(reader: &ClusterReader<'_>, name: &str) -> BTreeSet<String> {
    let of_pods = ("pods", format!("metadata.name={name}"));
    let of_events = ("events", format!("involvedObject.kind=Pod,involvedObject.name={name}"));
    let mut found = BTreeSet::new();
    for (plural, fields) in [of_pods, of_events] {
        let listing = ListRequest { group: "", plural, namespace: "", selector: "", fields: &fields };
        let mut add = |json: &[u8]| {
            let object: Option<ObjectJson<MetaJson<'_>>> = object_from_slice(json).ok();
            found.extend(object.map(|object| object.metadata.namespace.to_string()));
            Ok(())
        };
        // Without access to other namespaces, the hint is omitted.
        let _ = reader.each(listing, &mut add).await;
    }
    found
}

/// Reads the objects that are related to the named ones.
struct RelatedReader<'r, 'c> {
    reader: &'r ClusterReader<'c>,
    builder: SnapshotBuilder,
    details: RelatedDetails,
    gaps: Vec<ReadError>,
    gone: BTreeSet<String>,
    absent: BTreeSet<String>,
    present: BTreeSet<(WorkloadOwner, String)>,
}

/// A workload's pods can be on so many nodes that one list of all nodes is cheaper.
const NODES_READ_MAX: usize = 20;

impl<'r, 'c> RelatedReader<'r, 'c> {
    fn new(
        reader: &'r ClusterReader<'c>,
        wanted: ObjectNames,
        as_of: Option<Timestamp>,
        numeric: NumericOperators,
    ) -> Self {
        let builder = SnapshotBuilder::new(moment(as_of, &reader.clock), numeric, true);
        let details = RelatedDetails::of(wanted);
        let (gaps, gone, absent, present) = (Vec::new(), BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        Self { reader, builder, details, gaps, gone, absent, present }
    }

    fn finish(
        self,
        as_of: Option<Timestamp>,
        elsewhere: BTreeMap<String, BTreeSet<String>>,
        knows_events: bool,
    ) -> RelatedObjects {
        let Self { reader, builder, details, gaps, gone, absent, present } = self;
        let notes = reader.clock.remark().filter(|_| as_of.is_none()).into_iter().collect();
        let (about, objects) = (Vec::new(), None);
        let from = reader.place();
        let state = ClusterState { snapshot: builder.finish(), from, gaps, notes, about, objects };
        RelatedObjects { state, details, gone, absent, present, elsewhere, knows_events }
    }

    fn lacks(&mut self, why: &str, what: &str) {
        self.gaps.push(ReadError::of(&why, what));
    }

    async fn object(
        &self,
        (group, plural): (&'static str, &'static str),
        namespace: &str,
        name: &str,
    ) -> Result<Option<Vec<u8>>, RequestError> {
        let (client, limit) = (&self.reader.connected.client, self.reader.cluster.server.timeout);
        let body = paged_list::object(client, (group, plural), namespace, name, limit).await?;
        Ok(body.map(|body| body.to_vec()))
    }

    async fn pod(&mut self, namespace: &str, name: &str) {
        match self.object(("", "pods"), namespace, name).await {
            Ok(Some(json)) => {
                self.details.pod(&json, namespace);
                if let Err(why) = snapshot::pod(&json, namespace, &mut self.builder) {
                    self.lacks(&format!("pod {namespace}/{name}: {why}"), "its deadline is unknown");
                }
            }
            Ok(None) => drop(self.gone.insert(name.to_owned())),
            Err(why) => self.lacks(&why.to_string(), &format!("pod {namespace}/{name} is missing")),
        }
    }

    /// Reads the existing workloads, and the namespace's pods, which include theirs. A workload that the user cannot
    /// read may nevertheless have pods.
    async fn workloads(&mut self, namespace: &str, wanted: &ObjectNames) {
        if wanted.workloads.is_empty() {
            return;
        }
        for (maker, name) in &wanted.workloads {
            let (kind, group, plural) = maker.of_api();
            match self.object((group, plural), namespace, name).await {
                Ok(Some(_)) => drop(self.present.insert((*maker, name.clone()))),
                Ok(None) => {}
                Err(why) => {
                    let what = format!("it is unknown whether {kind} {namespace}/{name} exists");
                    self.lacks(&why.to_string(), &what);
                }
            }
        }
        self.pods(namespace, "", "pods of workloads are missing or incomplete").await;
    }

    /// Reads the named nodes and those of the pods; for an unscheduled pod all nodes with all their pods.
    async fn nodes(&mut self, wanted: &ObjectNames) {
        let has_unscheduled_pod = self.details.pods.iter().any(|pod| pod.node.is_empty() && !pod.is_over());
        if has_unscheduled_pod {
            self.all_nodes().await;
            self.pods("", "", "the free resources of nodes are unknown").await;
        }
        let of_pods = self.details.pods.iter().chain(self.details.made.values());
        let of_pods = of_pods.map(|pod| pod.node.clone()).filter(|node| !node.is_empty());
        let names: BTreeSet<String> = wanted.nodes.iter().cloned().chain(of_pods).collect();
        if !has_unscheduled_pod && !wanted.workloads.is_empty() && names.len() > NODES_READ_MAX {
            self.all_nodes().await;
        }
        for name in names {
            if !self.details.nodes.contains_key(&name) {
                self.node(name).await;
            }
        }
    }

    /// Reads the nodes on which deleted pods ran, as far as events name them.
    async fn nodes_of_gone(&mut self) {
        let about_gone = self.details.events.iter().filter(|event| self.gone.contains(&event.about));
        let past = &self.details.past_events;
        let evicted: BTreeSet<&str> =
            past.iter().filter(|event| event.is_eviction()).map(|event| &*event.uid).collect();
        let past = past.iter().filter(|event| evicted.contains(&*event.uid));
        let names: BTreeSet<String> =
            about_gone.chain(past).filter_map(EventDetails::node).map(str::to_owned).collect();
        if names.len() > NODES_READ_MAX {
            return self.all_nodes().await;
        }
        for name in names {
            if !self.details.nodes.contains_key(&name) {
                self.node(name).await;
            }
        }
    }

    async fn node(&mut self, name: String) {
        match self.object(("", "nodes"), "", &name).await {
            Ok(Some(json)) => {
                self.details.node(&json);
                match snapshot::node(&json) {
                    Ok(node) => drop(self.builder.node(node)),
                    Err(why) => self.lacks(&format!("node {name}: {why}"), "its taints are unknown"),
                }
            }
            Ok(None) => drop(self.absent.insert(name)),
            Err(why) => self.lacks(&why.to_string(), &format!("the taints of node {name} are unknown")),
        }
    }

    async fn all_nodes(&mut self) {
        let listing = ListRequest::all("", "nodes");
        let Self { reader, builder, details, .. } = self;
        let mut add = |json: &[u8]| {
            details.node(json);
            builder.node(snapshot::node(json)?);
            Ok(())
        };
        if let Err(why) = reader.each(listing, &mut add).await {
            self.lacks(&why.to_string(), "nodes are missing or incomplete");
        }
    }

    async fn pods(&mut self, namespace: &str, fields: &str, lacking: &str) {
        let listing = ListRequest { group: "", plural: "pods", namespace, selector: "", fields };
        let Self { reader, builder, details, .. } = self;
        let mut add = |json: &[u8]| {
            details.pod(json, "");
            snapshot::pod(json, "", builder).map(drop)
        };
        if let Err(why) = reader.each(listing, &mut add).await {
            self.lacks(&why.to_string(), lacking);
        }
    }

    /// Reads the events about evictions and, if some do not name the node, those that do.
    async fn past_evictions(&mut self, namespace: &str) -> Result<(), RequestError> {
        let mut reasons = vec![EVICTED];
        while let Some(reason) = reasons.pop() {
            self.selected_events(namespace, &format!("reason={reason}")).await?;
            if reason == EVICTED && self.details.past_events.iter().any(|event| event.node().is_none()) {
                reasons.extend(NODE_REASONS);
            }
        }
        Ok(())
    }

    /// Events of `events.k8s.io` are stored as the same objects and are in this list.
    async fn selected_events(&mut self, namespace: &str, fields: &str) -> Result<(), RequestError> {
        let listing = ListRequest { group: "", plural: "events", namespace, selector: "", fields };
        let Self { reader, details, .. } = self;
        let mut add = |json: &[u8]| {
            details.event(json);
            Ok(())
        };
        reader.each(listing, &mut add).await
    }

    /// Reads the events about a pod and returns whether that succeeded.
    async fn events(&mut self, namespace: &str, name: &str) -> bool {
        let fields = format!("involvedObject.kind=Pod,involvedObject.name={name}");
        let read = self.selected_events(namespace, &fields).await;
        if let Err(why) = &read {
            self.lacks(&why.to_string(), &format!("events about pod {namespace}/{name} are missing"));
        }
        read.is_ok()
    }
}
