//! Reads what the list of pods with a deadline needs: the state of the cluster or of files, leases, and what delays due pods.

use super::delayed_rows::has_due_pods;
use super::{PendingArgs, PendingError};
use crate::active_controllers::ActiveControllers;
use crate::cluster_state::{self, ClusterReader, ClusterState, ClusterStateError, ObjectLists, StateSource};
use crate::eviction_delays::{DueDelays, ignore_forbidden_holds};
use crate::runtime::Runtime;
use std::collections::BTreeMap;
use taintward_core::forecast::{ForecastOptions, forecast};
use taintward_core::time::Mono;

/// The data of the list.
pub(crate) struct PendingSnapshot {
    pub(crate) state: ClusterState,
    pub(crate) enforcers: Option<ActiveControllers>,
    /// The selected namespace; all if empty.
    pub(crate) namespace: String,
    /// The numbers of countdowns in other namespaces, if this one has none.
    pub(crate) elsewhere: BTreeMap<String, usize>,
    /// What delays due pods, if there may be any.
    pub(crate) delays: Option<DueDelays>,
}

impl PendingSnapshot {
    /// Reads the cluster, or the files that the command names.
    pub(crate) fn read(options: &PendingArgs) -> Result<Self, PendingError> {
        if !options.filename.is_empty() {
            let from = StateSource::Files(&options.filename, &options.state.cluster);
            let mut state = cluster_state::read(from, options.state.as_of, options.state.numeric())?;
            let namespace = options.state.cluster.named_namespace().to_owned();
            let delays = match &state.objects {
                Some(objects) => {
                    let (lists, now) = (ObjectLists::Files(objects), state.snapshot.now().wall);
                    let runtime = Runtime::new()?;
                    runtime.block_on(ignore_forbidden_holds(lists, &mut state.snapshot, &[]));
                    Some(runtime.block_on(DueDelays::read(lists, None, options.state.numeric(), now)))
                }
                None => None,
            };
            let elsewhere = by_namespace(&state);
            return Ok(Self { state, enforcers: None, namespace, elsewhere, delays });
        }
        let runtime = Runtime::new()?;
        runtime.block_on(async {
            let reader = ClusterReader::of(&options.state.cluster).await?;
            let mut state = reader.listed(options.state.as_of, options.state.numeric()).await;
            ignore_forbidden_holds(reader.lists(), &mut state.snapshot, &[]).await;
            let enforcers = ActiveControllers::of(&reader, state.snapshot.now().wall).await;
            let namespace = options.state.cluster.namespace(&reader.connected).to_owned();
            let mut elsewhere = BTreeMap::new();
            if !namespace.is_empty()
                && options.state.output.is_for_people()
                && by_namespace(&state).is_empty()
            {
                if reader.lacks_namespace(&namespace).await {
                    return Err(ClusterStateError::NoNamespace(namespace).into());
                }
                let everywhere = reader.listed_everywhere(options.state.as_of, options.state.numeric()).await;
                // Without access to other namespaces, the remark about them is omitted.
                if everywhere.gaps.is_empty() {
                    elsewhere = by_namespace(&everywhere);
                }
            }
            let delays = match options.state.as_of.is_none() && has_due_pods(&state) {
                true => {
                    let now = state.snapshot.now().wall;
                    Some(
                        DueDelays::read(reader.lists(), Some(&enforcers), options.state.numeric(), now).await,
                    )
                }
                false => None,
            };
            Ok(Self { state, enforcers: Some(enforcers), namespace, elsewhere, delays })
        })
    }
}

/// The number of countdowns in each namespace.
fn by_namespace(state: &ClusterState) -> BTreeMap<String, usize> {
    let question = ForecastOptions { until: Mono::NEVER, places_max: 0, about: &[] };
    let forecast = forecast(&state.snapshot, &[], question);
    let mut counts = BTreeMap::new();
    for fate in forecast.nodes.iter().flat_map(|node| &node.pods).filter(|fate| fate.at().is_some()) {
        let space = state.snapshot.pods()[fate.pod as usize].name.namespace().to_owned();
        *counts.entry(space).or_default() += 1;
    }
    counts
}
