//! Tests the finalizer, and revoking the readiness of a pool.

use super::sample;
use serde_json::{Value, json};
use taintward_core::admission::pool::{PoolAssessment, PoolStatus};
use taintward_core::dedicated_pools::{FINALIZER, PoolFact, observed_status, set_progressing};
use taintward_core::time::Wall;
use taintward_kube::pools::finalizer_patch;

fn with(finalizers: Value) -> PoolFact {
    let mut pool = sample::pool();
    pool["metadata"]["finalizers"] = finalizers;
    sample::seen(&pool)
}

fn patch(seen: &PoolFact, hold: bool) -> Option<Value> {
    finalizer_patch(seen, hold).map(|body| serde_json::from_slice(&body).unwrap())
}

#[test]
fn the_finalizer_is_added_and_removed_and_others_stay() {
    let (held, free) = (with(json!(["a/b", FINALIZER, "c/d"])), with(json!(["a/b", "c/d"])));
    assert!(held.has_finalizer() && !free.has_finalizer() && !with(json!(null)).has_finalizer());
    let metadata = |finalizers: Value| json!({"metadata": {"uid": "uid-1", "resourceVersion": "41", "finalizers": finalizers}});
    assert_eq!(patch(&free, true), Some(metadata(json!(["a/b", "c/d", FINALIZER]))));
    assert_eq!(patch(&held, false), Some(metadata(json!(["a/b", "c/d"]))));
    assert_eq!((patch(&held, true), patch(&free, false)), (None, None), "nothing changes");
}

#[test]
fn pending_work_makes_a_pool_not_ready() {
    let mut seen = with(json!([FINALIZER]));
    let ready =
        observed_status(&seen, &PoolAssessment::default(), PoolStatus::default(), Wall::from_secs(10));
    let mut later = ready.clone();
    set_progressing(&mut later, &seen, "2 nodes", Wall::from_secs(20));
    let condition = &later.conditions[0];
    assert_eq!(
        (&*condition.status, &*condition.reason, &*condition.message),
        ("False", "Progressing", "2 nodes")
    );
    assert_eq!(condition.since, Wall::from_secs(20));
    assert_eq!(later.conditions[1..], ready.conditions[1..]);
    // It has been so for a while: the transition time stays.
    seen.recorded = Some(later.clone());
    let mut again =
        observed_status(&seen, &PoolAssessment::default(), PoolStatus::default(), Wall::from_secs(30));
    set_progressing(&mut again, &seen, "2 nodes", Wall::from_secs(30));
    assert_eq!(again, later);
    // A pool that is not ready for another reason stays so.
    seen.pool.leaving = true;
    let leaving =
        observed_status(&seen, &PoolAssessment::default(), PoolStatus::default(), Wall::from_secs(40));
    let mut same = leaving.clone();
    set_progressing(&mut same, &seen, "2 nodes", Wall::from_secs(40));
    assert_eq!(same, leaving);
}
