//! Tests how the events of a watch update the webhook's cache.

use super::*;
use taintward_admission::rules::{RuleReviewer, UntilReady};
use taintward_core::admission::review::ReviewSettings;

/// A cache with a watch of namespaces only; shows the missing lists, and the known ones among these pods' namespaces.
struct CacheHarness {
    cache: Arc<ClusterCache>,
    following: CacheUpdater<NamespaceObject>,
}

impl CacheHarness {
    fn new() -> Self {
        let cache = Arc::<ClusterCache>::default();
        Self { following: CacheUpdater::new(Arc::clone(&cache)), cache }
    }

    fn receive(&mut self, event: ObjectEvent<NamespaceObject>) {
        self.following.receive(event);
    }

    fn seen(&mut self, name: &str, uid: &str) {
        let (uid, name) = (Uid::new(uid), name.into());
        let fact = NamespaceObject { uid, version: None, name, facts: Default::default() };
        self.receive(ObjectEvent::Applied { fact, listed: true });
    }

    fn gone(&mut self, name: &str, uid: &str) {
        let object = ObjectRef { name: name.into(), uid: Some(Uid::new(uid)), node: None };
        self.receive(ObjectEvent::Deleted(object));
    }

    fn begins(&mut self) {
        self.receive(ObjectEvent::ListStarted { silent_since: None });
    }

    fn known(&self) -> Vec<&'static str> {
        ["a", "b"].into_iter().filter(|name| self.cache.knows_namespace(name)).collect()
    }

    fn knows_namespaces(&self) -> bool {
        let rules = RuleReviewer::new(ReviewSettings::default(), UntilReady::Allow, Arc::clone(&self.cache));
        !rules.missing().contains(&"namespaces")
    }
}

#[test]
fn an_incomplete_first_list_is_not_used() {
    let mut world = CacheHarness::new();
    world.begins();
    world.seen("a", "1");
    assert!(!world.knows_namespaces());
    // The list breaks off, and the next one differs.
    world.begins();
    world.seen("b", "2");
    assert!(!world.knows_namespaces());
    world.receive(ObjectEvent::ListCompleted);
    assert!(world.knows_namespaces());
    assert_eq!(world.known(), ["b"]);
}

#[test]
fn objects_missing_in_a_later_list_are_gone_and_new_ones_apply_immediately() {
    let mut world = CacheHarness::new();
    world.begins();
    world.seen("a", "1");
    world.receive(ObjectEvent::ListCompleted);
    world.begins();
    world.seen("b", "2");
    assert_eq!(world.known(), ["a", "b"], "not gone before the list is complete");
    world.receive(ObjectEvent::ListCompleted);
    assert_eq!(world.known(), ["b"]);
}

#[test]
fn the_deletion_of_an_old_object_keeps_its_namesake() {
    let mut world = CacheHarness::new();
    world.begins();
    world.seen("a", "1");
    world.receive(ObjectEvent::ListCompleted);
    world.seen("a", "2");
    world.gone("a", "1");
    assert_eq!(world.known(), ["a"]);
    world.gone("a", "2");
    assert!(world.known().is_empty());
}

#[test]
fn an_undecodable_object_counts_as_absent() {
    let mut world = CacheHarness::new();
    world.begins();
    world.seen("a", "1");
    world.receive(ObjectEvent::ListCompleted);
    let object = ObjectRef { name: "a".into(), uid: Some(Uid::new("1")), node: None };
    world.receive(ObjectEvent::Undecodable(object));
    assert!(world.known().is_empty());
}

#[test]
fn a_kind_the_server_does_not_have_has_no_objects() {
    let mut world = CacheHarness::new();
    world.following.nothing();
    assert!(world.knows_namespaces());
    assert!(world.known().is_empty());
    // The kind is installed later.
    world.begins();
    world.seen("a", "1");
    world.receive(ObjectEvent::ListCompleted);
    assert_eq!(world.known(), ["a"]);
}

#[tokio::test]
async fn events_from_before_the_removal_of_a_kind_are_not_applied_after_it() {
    // Often enough for a random order to show.
    for _ in 0..64 {
        let cache = Arc::<ClusterCache>::default();
        let (out, change_text) = mpsc::channel(BATCHES_WAITING);
        let (absent, health) = watch::channel(StreamHealth::default());
        let fact = NamespaceObject {
            uid: Uid::new("1"),
            version: None,
            name: "a".into(),
            facts: Default::default(),
        };
        let seen = ObjectEvent::Applied { fact, listed: true };
        out.try_send(vec![ObjectEvent::ListStarted { silent_since: None }, seen, ObjectEvent::ListCompleted])
            .unwrap();
        absent.send_modify(|health| health.absent = true);
        let passing = update_cache(change_text, health, CacheUpdater::new(Arc::clone(&cache)));
        assert!(tokio::time::timeout(Duration::from_millis(1), passing).await.is_err());
        assert!(!cache.knows_namespace("a"));
    }
}
