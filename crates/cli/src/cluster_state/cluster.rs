//! Reads the state of a running cluster page by page; what cannot be read becomes a gap.

use super::selected_pods::SelectedPods;
use super::{ClusterState, ClusterStateError, ObjectLists, ReadError, ServerClock, gone, moment};
use crate::args::controllers::TAINT_EVICTION;
use crate::args::kube_args::ClusterOptions;
use crate::controller_presence;
use crate::progress::Progress;
use crate::runtime::Runtime;
use jiff::Timestamp;
use std::collections::BTreeSet;
use taintward_core::api_error::ApiFailure;
use taintward_core::cluster_snapshot::{ClusterSnapshot, SnapshotBuilder};
use taintward_core::toleration_matching::NumericOperators;
use taintward_kube::api::RequestBudget;
use taintward_kube::api::RequestError;
use taintward_kube::api::paged_list::{self, ListRequest, pages};
use taintward_kube::config::{ConnectSettings, Connected, ServerInfo, connect, greet};
use taintward_kube::decode::DecodeError;
use taintward_kube::snapshot;

/// A cluster that responds.
pub(crate) struct ClusterReader<'c> {
    pub(crate) cluster: &'c ClusterOptions,
    pub(crate) connected: Connected,
    /// The API server's version, such as `v1.36.3`.
    pub(crate) version: String,
    /// The server's clock.
    pub(crate) clock: ServerClock,
}

/// Which pods to read.
struct ReadScope<'e> {
    /// The namespace of pods; all if empty.
    namespace: &'e str,
    /// The label selector of pods; all if empty.
    selector: &'e str,
    /// Field selectors of pods, no two of which select the same pod; their union is read.
    fields: &'e [String],
    /// Also what evictions affect: disruption budgets and Jobs.
    affected: bool,
    /// Which of the pods that were read are selected.
    selected: SelectedPods,
}

/// Connects, and waits for the server's version and time.
pub(crate) async fn greeted(
    settings: &ConnectSettings,
    timeout: RequestBudget,
) -> Result<(Connected, ServerInfo), ClusterStateError> {
    let connected = connect(settings).await?;
    let greeting = greet(&connected.client, timeout.next()).await;
    let unreachable = |why| ClusterStateError::Unreachable { place: connected.where_from.clone(), why };
    let greeting = greeting.map_err(unreachable)?;
    Ok((connected, greeting))
}

/// Connects on a new runtime, without a request.
pub(crate) fn open(settings: &ConnectSettings) -> Result<(Runtime, Connected), ClusterStateError> {
    let runtime = Runtime::new()?;
    let connected = runtime.block_on(connect(settings))?;
    Ok((runtime, connected))
}

impl<'c> ClusterReader<'c> {
    /// Connects and waits for a first response.
    pub(crate) async fn of(cluster: &'c ClusterOptions) -> Result<Self, ClusterStateError> {
        let local = ServerClock::local();
        let sent = local.now().wall;
        let (connected, greeting) = greeted(&cluster.server.settings, cluster.server.timeout).await?;
        let clock = ServerClock::of(sent, local.now().wall, greeting.date);
        Ok(Self { cluster, connected, version: greeting.version, clock })
    }

    /// Where its objects are listed.
    pub(crate) const fn lists(&self) -> ObjectLists<'_> {
        ObjectLists::Cluster(&self.connected.streams, self.cluster.server.timeout)
    }

    /// Passes each object of a list to `tell`.
    pub(crate) async fn each(
        &self,
        listing: ListRequest<'_>,
        add: &mut dyn FnMut(&[u8]) -> Result<(), DecodeError>,
    ) -> Result<(), RequestError> {
        pages(&self.connected.streams, listing, self.cluster.server.timeout, add).await
    }

    /// The state, as far as it can be read. Pods of all namespaces are read, whichever are selected, because the
    /// others' requests decide where a pod fits.
    pub(crate) async fn read(
        &self,
        as_of: Option<Timestamp>,
        numeric: NumericOperators,
    ) -> Result<ClusterState, ClusterStateError> {
        let selected = SelectedPods::of(self.cluster)?;
        let fields = [String::new()];
        let scope = ReadScope { namespace: "", selector: "", fields: &fields, affected: true, selected };
        let state = self.read_scope(scope, as_of, numeric).await;
        let selected = SelectedPods::of(self.cluster)?;
        match selected.empty_namespace(&state.snapshot) {
            Some(empty) if self.lacks_namespace(empty).await => {
                Err(ClusterStateError::NoNamespace(empty.to_owned()))
            }
            _ => Ok(state),
        }
    }

    /// The nodes, and the pods that kubectl would list: those of the context's namespace, unless others are selected.
    pub(crate) async fn listed(&self, as_of: Option<Timestamp>, numeric: NumericOperators) -> ClusterState {
        self.listed_in(self.cluster.namespace(&self.connected), as_of, numeric).await
    }

    /// The same for all namespaces.
    pub(crate) async fn listed_everywhere(
        &self,
        as_of: Option<Timestamp>,
        numeric: NumericOperators,
    ) -> ClusterState {
        self.listed_in("", as_of, numeric).await
    }

    async fn listed_in(
        &self,
        namespace: &str,
        as_of: Option<Timestamp>,
        numeric: NumericOperators,
    ) -> ClusterState {
        let fields = [self.cluster.fields().to_owned()];
        let (selector, selected) = (self.cluster.selector(), SelectedPods::default());
        let scope = ReadScope { namespace, selector, fields: &fields, affected: false, selected };
        self.read_scope(scope, as_of, numeric).await
    }

    /// Whether a namespace does not exist, if the user may know.
    pub(crate) async fn lacks_namespace(&self, name: &str) -> bool {
        let (client, limit) = (&self.connected.client, self.cluster.server.timeout);
        matches!(paged_list::object(client, ("", "namespaces"), "", name, limit).await, Ok(None))
    }

    /// Removes holds that nothing honors: Taintward's own eviction is switched off, and toleration-hold-controller changes
    /// the pods that kube-controller-manager would evict.
    pub(super) async fn ignore_idle_holds(&self, snapshot: &mut ClusterSnapshot) {
        let (client, limit) = (&self.connected.client, self.cluster.server.timeout);
        if snapshot.has_ordered_holds()
            && controller_presence::is_switched_off(client, TAINT_EVICTION, limit).await
        {
            snapshot.ignore_ordered_holds();
        }
    }

    /// The cluster, for people.
    pub(crate) fn place(&self) -> String {
        self.connected.where_from.clone()
    }

    async fn read_scope(
        &self,
        scope: ReadScope<'_>,
        as_of: Option<Timestamp>,
        numeric: NumericOperators,
    ) -> ClusterState {
        let ReadScope { namespace, selector, fields, affected, mut selected } = scope;
        let mut builder = SnapshotBuilder::new(moment(as_of, &self.clock), numeric, false);
        let (mut gaps, mut progress) = (Vec::new(), Progress::default());
        let mut node = |json: &[u8]| {
            builder.node(snapshot::node(json)?);
            progress.at(builder.node_count(), "nodes");
            Ok(())
        };
        if let Err(why) = self.each(ListRequest::all("", "nodes"), &mut node).await {
            let lacking = match why.failure {
                ApiFailure::Forbidden => "without its node, no pod can be judged",
                _ => "nodes are missing or incomplete",
            };
            gaps.push(ReadError::of(&why, lacking));
        }
        let mut nodes_are_known = gaps.is_empty();
        let mut budget = |json: &[u8]| {
            builder.budget(snapshot::budget(json, "")?);
            Ok(())
        };
        if affected
            && let Err(why) = self.each(ListRequest::all("policy", "poddisruptionbudgets"), &mut budget).await
        {
            gaps.push(ReadError::of(&why, "disruption budgets are missing"));
        }
        let mut pod = |json: &[u8]| {
            selected.add(json, "");
            snapshot::pod(json, "", &mut builder)?;
            progress.at(builder.pod_count(), "pods");
            Ok(())
        };
        for fields in fields {
            let pods = ListRequest { namespace, selector, fields, ..ListRequest::all("", "pods") };
            let named = self.cluster.named_namespace();
            match self.each(pods, &mut pod).await {
                Ok(()) => {}
                // With access to one namespace only, suggests to name it.
                Err(why)
                    if why.failure == ApiFailure::Forbidden && namespace.is_empty() && !named.is_empty() =>
                {
                    gaps.push(ReadError::of(
                        &why,
                        "the requests of pods in other namespaces are unknown, so next nodes may be wrong",
                    ));
                    if let Err(why) = self.each(ListRequest { namespace: named, ..pods }, &mut pod).await {
                        gaps.push(ReadError::of(&why, "pods are missing or incomplete"));
                    }
                }
                Err(why) => gaps.push(ReadError::of(&why, "pods are missing or incomplete")),
            }
        }
        if affected && builder.has_pods_of_jobs() {
            let mut job = |json: &[u8]| {
                builder.job(snapshot::job(json, "")?);
                Ok(())
            };
            if let Err(why) = self.each(ListRequest::all("batch", "jobs"), &mut job).await {
                gaps.push(ReadError::of(&why, "it is unknown which Jobs fail"));
            }
        }
        if nodes_are_known {
            let known_gaps = gaps.len();
            self.new_nodes(&mut builder, &mut gaps).await;
            nodes_are_known = gaps.len() == known_gaps;
        }
        drop(progress);
        let mut snapshot = builder.finish();
        self.ignore_idle_holds(&mut snapshot).await;
        let about = selected.among(&snapshot);
        let mut notes: Vec<String> = self.clock.remark().filter(|_| as_of.is_none()).into_iter().collect();
        // A node that is known not to exist is not a gap: its pods are about to be deleted.
        if nodes_are_known {
            notes.extend(gone(snapshot.lost()));
        }
        ClusterState { snapshot, from: self.place(), gaps, notes, about, objects: None }
    }

    /// Reads nodes that were created between the list of nodes and that of pods.
    async fn new_nodes(&self, builder: &mut SnapshotBuilder, gaps: &mut Vec<ReadError>) {
        let missing = builder.missing_nodes();
        let mut add = |json: &[u8]| {
            builder.node(snapshot::node(json)?);
            Ok(())
        };
        if missing.len() > NODE_BY_NODE {
            if let Err(why) = self.each(ListRequest::all("", "nodes"), &mut add).await {
                gaps.push(ReadError::of(&why, "nodes may be missing"));
            }
            return;
        }
        let (client, limit) = (&self.connected.client, self.cluster.server.timeout);
        for name in missing {
            let lacking = |why: &dyn std::fmt::Display| {
                ReadError::plain(format!("{why}; the pods of node {name} are not judged"))
            };
            match paged_list::object(client, ("", "nodes"), "", name.as_str(), limit).await {
                Ok(Some(json)) => {
                    if let Err(why) = add(&json) {
                        gaps.push(lacking(&why));
                    }
                }
                Ok(None) => {}
                Err(why) => gaps.push(lacking(&why)),
            }
        }
    }
}

/// The largest number of nodes whose pods are listed node by node; above it, all pods are listed with one request.
const NODE_BY_NODE: usize = 8;

/// Reads all nodes, and the pods on some of them.
pub(crate) fn of_nodes(cluster: &ClusterOptions, names: &[&str]) -> Result<ClusterState, ClusterStateError> {
    // A node listed twice contributes its pods once.
    let names: BTreeSet<&str> = names.iter().copied().collect();
    let fields: Vec<String> = match names.len() {
        0..=NODE_BY_NODE => names.iter().map(|name| format!("spec.nodeName={name}")).collect(),
        _ => vec![String::new()],
    };
    // Here -l selects nodes, not pods.
    let cluster = cluster.whole();
    let runtime = Runtime::new()?;
    runtime.block_on(async {
        let reader = ClusterReader::of(&cluster).await?;
        let selected = SelectedPods::default();
        let scope = ReadScope { namespace: "", selector: "", fields: &fields, affected: true, selected };
        Ok(reader.read_scope(scope, None, NumericOperators::Off).await)
    })
}
