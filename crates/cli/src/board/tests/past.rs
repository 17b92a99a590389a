//! Tests the decisions that a record gives to a new board.

use super::{PODS_MAX, START, whole_state};
use crate::board::cluster_model::ClusterModel;
use crate::history::{HistoryEntry, HistoryEvent, HistoryObject};
use serde_json::json;
use taintward_core::identity::{NodeName, PodName, Uid};
use taintward_core::time::Wall;

#[test]
fn a_record_gives_the_decisions_of_the_time_before() {
    let mut model = ClusterModel::new(PODS_MAX);
    let pod = HistoryObject::Pod {
        name: PodName::new("shop", "web"),
        uid: Uid::new("u"),
        node: NodeName::new("n1"),
    };
    let entry = |seconds, object: &HistoryObject, event, message: &str| HistoryEntry {
        at: Wall::from_secs(START + seconds),
        object: object.clone(),
        event,
        message: message.to_owned(),
    };
    model.remember(&[
        entry(1, &HistoryObject::Node(NodeName::new("n1")), HistoryEvent::TaintsChanged, "has the taint k"),
        entry(2, &pod, HistoryEvent::RequestSucceeded, "a detail"),
        entry(3, &pod, HistoryEvent::PodEvicted, "was deleted by Taintward"),
    ]);
    let all = whole_state(&model);
    let shown: Vec<_> = all["decisions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (&one["at"], &one["label"], &one["pod"], &one["node"]))
        .collect();
    let (first, last) = (json!(START as f64 + 1.0), json!(START as f64 + 3.0));
    assert_eq!(
        shown,
        [
            (&first, &json!("Taints changed"), &json!(""), &json!("n1")),
            (&last, &json!("Evicted"), &json!("shop/web"), &json!("n1")),
        ]
    );
}
