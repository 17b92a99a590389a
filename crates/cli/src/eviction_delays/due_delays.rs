//! Lists what delays the due pods of a cluster, by pod and by what they wait for.

use super::{DelaySettings, DuePod, EvictionFacts, PodDelay, deployment};
use crate::active_controllers::{ActiveControllers, LeaseHolder};
use crate::cluster_state::ObjectLists;
use std::collections::{BTreeMap, BTreeSet};
use taintward_core::identity::Uid;
use taintward_core::time::Wall;
use taintward_core::toleration_matching::NumericOperators;

/// What delays due pods, as it was read once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DueDelays {
    /// The delayed pods, by UID.
    pods: BTreeMap<String, DuePod>,
    /// The pods whose holds a policy forbids.
    forbidden_holds: BTreeSet<Uid>,
    /// What could not be read, with its consequence.
    pub(crate) unread: Vec<String>,
}

/// Pods that wait for the same.
pub(crate) struct PodWait<P> {
    /// The first of them.
    pub(crate) first: P,
    pub(crate) delay: PodDelay,
    pub(crate) pods: usize,
}

impl DueDelays {
    /// Reads what delays due pods. Without `controllers`, the lists are those of files.
    pub(crate) async fn read(
        lists: ObjectLists<'_>,
        controllers: Option<&ActiveControllers>,
        numeric: NumericOperators,
        now: Wall,
    ) -> Self {
        let mut unread = Vec::new();
        let namespace = controllers.map_or("", ActiveControllers::namespace);
        let deployment = deployment(lists, namespace).await.unwrap_or_else(|error| {
            unread.push(format!("it is unknown whether the brake delays due pods: {error}"));
            None
        });
        let settings = DelaySettings::of(deployment.as_ref(), numeric);
        let (mut pods, mut forbidden_holds) = (BTreeMap::new(), BTreeSet::new());
        let error = match EvictionFacts::read_if_needed(lists, settings, now).await {
            Ok(None) => None,
            Ok(Some(facts)) => {
                let read = facts.delays();
                let delayed = read.due_pods().into_iter().filter(|pod| pod.delay.is_some());
                pods.extend(delayed.map(|pod| (pod.uid.to_string(), pod)));
                forbidden_holds.extend(read.pods_with_forbidden_holds().cloned());
                read.unread
            }
            Err(error) => Some(error),
        };
        unread.extend(
            error.map(|error| format!("it is unknown whether an eviction policy delays due pods: {error}")),
        );
        if controllers.is_some_and(|controllers| controllers.ours == LeaseHolder::Absent) {
            // Nothing shows that a controller applies what could not be read.
            unread.clear();
        }
        Self { pods, forbidden_holds, unread }
    }

    /// What delays the pod with this UID.
    pub(crate) fn of(&self, uid: &str) -> Option<&PodDelay> {
        self.pods.get(uid)?.delay.as_ref()
    }

    /// The pods whose holds do not count, because a policy forbids them.
    pub(crate) const fn forbidden_holds(&self) -> &BTreeSet<Uid> {
        &self.forbidden_holds
    }

    /// The delayed pods, in no particular order.
    pub(crate) fn pods(&self) -> impl Iterator<Item = &DuePod> {
        self.pods.values()
    }
}

impl<P> PodWait<P> {
    /// What these pods wait for, each wait once, in the order of `pods`.
    pub(crate) fn of(pods: impl IntoIterator<Item = (P, PodDelay)>) -> Vec<Self> {
        let mut waits: Vec<Self> = Vec::new();
        let mut positions: BTreeMap<(String, Option<String>), usize> = BTreeMap::new();
        for (pod, delay) in pods {
            let (message, policy) = delay.cause();
            let position =
                *positions.entry((message.to_owned(), policy.map(ToOwned::to_owned))).or_insert(waits.len());
            match waits.get_mut(position) {
                Some(wait) => wait.pods += 1,
                None => waits.push(Self { first: pod, delay, pods: 1 }),
            }
        }
        waits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taintward_core::eviction::DelayCategory;
    use taintward_core::identity::Uid;
    use taintward_core::time::Mono;

    impl DueDelays {
        /// One pod of the namespace `shop` waits for a budget.
        pub(crate) fn with_budget(name: &str) -> Self {
            let delay = PodDelay {
                category: DelayCategory::Budget,
                policy: Some("gentle".to_owned()),
                message: "waits for budget shop/web".to_owned(),
                forced_at: None,
                release: None,
                budget: None,
            };
            let pod = DuePod {
                namespace: "shop".to_owned(),
                pod: name.to_owned(),
                uid: Uid::new(name),
                node: "n1".to_owned(),
                since: Mono::from_secs(0),
                delay: Some(delay),
            };
            Self { pods: [(name.to_owned(), pod)].into(), ..Self::default() }
        }

        /// A policy forbids the holds of a pod with this UID.
        pub(crate) fn with_forbidden_holds(uid: &str) -> Self {
            Self { forbidden_holds: [Uid::new(uid)].into(), ..Self::default() }
        }
    }
}
