//! The finalizer, and taking back that a pool is ready.

use super::sample;
use serde_json::{Value, json};
use taintward_core::admission::pool::{PoolAssessment, PoolStatus};
use taintward_core::time::Wall;
use taintward_kube::decode::PoolObject;
use taintward_kube::pools::{FINALIZER, finalizer_patch, progressing, told};

fn with(finalizers: Value) -> PoolObject {
    let mut pool = sample::pool();
    pool["metadata"]["finalizers"] = finalizers;
    sample::seen(&pool)
}

fn patch(seen: &PoolObject, hold: bool) -> Option<Value> {
    finalizer_patch(seen, hold).map(|body| serde_json::from_slice(&body).unwrap())
}

#[test]
fn the_finalizer_comes_and_goes_and_leaves_others() {
    let (held, free) = (with(json!(["a/b", FINALIZER, "c/d"])), with(json!(["a/b", "c/d"])));
    assert!(held.is_held() && !free.is_held() && !with(json!(null)).is_held());
    let metadata = |finalizers: Value| json!({"metadata": {"uid": "uid-1", "resourceVersion": "41", "finalizers": finalizers}});
    assert_eq!(patch(&free, true), Some(metadata(json!(["a/b", "c/d", FINALIZER]))));
    assert_eq!(patch(&held, false), Some(metadata(json!(["a/b", "c/d"]))));
    assert_eq!((patch(&held, true), patch(&free, false)), (None, None), "it is so already");
}

#[test]
fn what_is_still_to_be_done_makes_a_pool_not_ready() {
    let mut seen = with(json!([FINALIZER]));
    let ready = told(&seen, &PoolAssessment::default(), PoolStatus::default(), Wall::from_secs(10));
    let mut later = ready.clone();
    progressing(&mut later, &seen, "2 nodes", Wall::from_secs(20));
    let condition = &later.conditions[0];
    assert_eq!(
        (&*condition.status, &*condition.reason, &*condition.message),
        ("False", "Progressing", "2 nodes")
    );
    assert_eq!(condition.since, Wall::from_secs(20));
    assert_eq!(later.conditions[1..], ready.conditions[1..]);
    // It has been so for a while: that is since when.
    seen.recorded = Some(later.clone());
    let mut again = told(&seen, &PoolAssessment::default(), PoolStatus::default(), Wall::from_secs(30));
    progressing(&mut again, &seen, "2 nodes", Wall::from_secs(30));
    assert_eq!(again, later);
    // What is not ready for another reason stays so.
    seen.pool.leaving = true;
    let leaving = told(&seen, &PoolAssessment::default(), PoolStatus::default(), Wall::from_secs(40));
    let mut same = leaving.clone();
    progressing(&mut same, &seen, "2 nodes", Wall::from_secs(40));
    assert_eq!(same, leaving);
}
