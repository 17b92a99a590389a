//! Tests that replicas are placed apart from each other, as the scheduler spreads them.

use super::*;
use crate::cluster_snapshot::NodeRecord;

const SET: OwnerReference<'static> = OwnerReference { group: "apps", kind: "StatefulSet", name: "db" };

/// Three nodes. On the first, a replica; on the second, `beside`; on the third, a pod of the same size that no workload has.
fn placed(replica: PodRecord<'static>, beside: PodRecord<'static>) -> Placement {
    let mut reported = builder();
    for name in ["n1", "n2", "n3"] {
        let labels = labels(&[("kubernetes.io/hostname", name)]);
        reported.node(NodeRecord { labels, ..node_record(name, vec![]) });
    }
    reported.pod(PodRecord { spec: spec(vec![]), ..replica });
    reported.pod(PodRecord { spec: spec(vec![]), node: "n2", ..beside });
    reported.pod(PodRecord { spec: spec(vec![]), ..pod_record("alone", "n3", None) });
    let snapshot = reported.finish();
    let reported = forecast(&snapshot, &[change(&snapshot, 0, &[taint("k")])], ALL);
    let [placed] = &reported.placements[..] else { panic!("{:?}", reported.placements) };
    placed.place.clone()
}

fn replica(name: &str, owner: OwnerReference<'static>, hash: &str) -> PodRecord<'static> {
    let labels = if hash.is_empty() { labels(&[]) } else { labels(&[("pod-template-hash", hash)]) };
    PodRecord { labels, ..pod_record(name, "n1", Some(owner)) }
}

/// How many of twelve replicas, whose names break ties differently, go to the third node.
fn on_third(
    owner: OwnerReference<'static>,
    hash: &str,
    beside: &dyn Fn(&str) -> PodRecord<'static>,
) -> usize {
    let names = (0..12).map(|number| alloc::format!("web-{number}"));
    let places = names.map(|name| placed(replica(&name, owner, hash), beside("other")));
    places.filter(|place| *place == Placement::Node(2)).count()
}

#[test]
fn a_replica_goes_where_no_other_one_runs() {
    for (owner, hash) in [(WEB, "abc"), (SET, "")] {
        assert_eq!(on_third(owner, hash, &|name| replica(name, owner, hash)), 12, "{owner:?}");
        let ties = on_third(owner, hash, &|name| pod_record(name, "n2", None));
        assert!((1..12).contains(&ties), "without another replica, both nodes are equal: {ties}");
        let finished =
            |name: &str| PodRecord { life_phase: PodLifePhase::Finished, ..replica(name, owner, hash) };
        assert!(on_third(owner, hash, &finished) < 12, "a replica that has ended does not count");
    }
}
