//! Defines the few facts of a pod that controllers need often, with shared values.

use super::endings::ends_at;
use super::kubelets::is_belied;
use super::pods::{controller_of, is_over};
use crate::core_types;
use fakekube::api;
use fakekube::store::StoredObject;
use serde_json::Value;
use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;
use taintward_core::scheduling::{Labels, ResourceRequests};

/// A summary of a pod. A parsed pod takes some 60 kB; a summary takes some 100 bytes besides the stored object.
#[derive(Debug)]
pub struct PodSummary {
    object: Arc<StoredObject>,
    /// The node it is bound to.
    pub node: Option<Arc<str>>,
    /// The UID of its controller.
    pub controller: Option<Arc<str>>,
    /// `metadata.labels`.
    pub labels: Arc<Labels>,
    /// The resources that it requests.
    pub load: Arc<ResourceRequests>,
    /// It is being deleted.
    pub ending: bool,
    /// It has succeeded or failed.
    pub over: bool,
    /// It has not started yet.
    pub pending: bool,
    /// Its Ready condition is true.
    pub ready: bool,
    /// It runs but was set to not ready.
    pub belied: bool,
    /// It will complete.
    pub ends: bool,
}

impl PodSummary {
    pub(super) fn new(object: Arc<StoredObject>, pod: &Value, shared: &mut SharedPodValues) -> Self {
        let node = pod["spec"]["nodeName"].as_str().filter(|node| !node.is_empty());
        Self {
            node: node.map(|node| shared.texts.one(node.into())),
            controller: controller_of(pod).map(|uid| shared.texts.one(uid.into())),
            labels: shared.labels.one(Arc::new(core_types::labels(&pod["metadata"]["labels"]))),
            load: shared.loads.one(Arc::new(core_types::load(pod))),
            ending: api::is_ending(pod),
            over: is_over(pod),
            pending: pod["status"]["phase"] == "Pending",
            ready: api::is_ready(pod),
            belied: is_belied(pod),
            ends: ends_at(pod).is_some(),
            object,
        }
    }

    /// The pod, parsed.
    pub fn value(&self) -> Value {
        self.object.value()
    }

    /// The UID.
    pub fn uid(&self) -> &str {
        &self.object.uid
    }

    /// Neither ended nor being deleted.
    pub fn is_active(&self) -> bool {
        !self.over && !self.ending
    }

    /// A component has to act on it soon: it waits for a node, for its start, for its end or completion, or to become
    /// ready again.
    pub fn is_restless(&self) -> bool {
        self.ending || self.pending || self.belied || self.ends
    }
}

/// Values that pods share.
#[derive(Debug, Default)]
pub(super) struct SharedPodValues {
    texts: ValuePool<str>,
    labels: ValuePool<Labels>,
    loads: ValuePool<ResourceRequests>,
}

#[derive(Debug)]
struct ValuePool<T: ?Sized> {
    all: HashSet<Arc<T>>,
    /// Above this number, values that no pod uses any more are dropped.
    enough: usize,
}

impl<T: ?Sized> Default for ValuePool<T> {
    fn default() -> Self {
        Self { all: HashSet::new(), enough: 1024 }
    }
}

impl<T: Eq + Hash + ?Sized> ValuePool<T> {
    /// The shared value that equals `it`.
    fn one(&mut self, it: Arc<T>) -> Arc<T> {
        if let Some(known) = self.all.get(&it) {
            return Arc::clone(known);
        }
        if self.all.len() >= self.enough {
            self.all.retain(|one| Arc::strong_count(one) > 1);
            self.enough = 1024.max(2 * self.all.len());
        }
        self.all.insert(Arc::clone(&it));
        it
    }
}

#[cfg(test)]
mod tests {
    use super::ValuePool;
    use std::sync::Arc;

    #[test]
    fn equal_values_are_shared_and_unused_ones_are_dropped() {
        let mut pool = ValuePool::<str>::default();
        let kept = pool.one("kept".into());
        assert!(Arc::ptr_eq(&kept, &pool.one("kept".into())));
        for number in 0..5000 {
            pool.one(number.to_string().into());
        }
        assert!(pool.all.len() <= 1025, "{}", pool.all.len());
        assert!(Arc::ptr_eq(&kept, &pool.one("kept".into())));
    }
}
