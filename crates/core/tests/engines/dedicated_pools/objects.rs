//! Builds the objects of the tests.

use taintward_core::admission::LabelSelector;
use taintward_core::admission::pool::{
    DedicatedPool, PodOnNodeFact, PoolEnforcement, PoolLabel, PoolMembers, PoolNode, PoolTaint, PoolUsers,
};
use taintward_core::admission::request::PodIdentity;
use taintward_core::dedicated_pools::{FINALIZER, PoolFact, PoolNodeFact};
use taintward_core::identity::{NodeName, PodId, PodName, ResourceVersion, Uid};
use taintward_core::taint::Taint;
use taintward_core::testkit::taint_of;
use taintward_core::time::Wall;

/// A pool of these nodes for namespaces with `team=NAME`, with taint and label `dedicated=NAME`.
pub fn pool(name: &str, nodes: &[&str]) -> PoolFact {
    let uid = format!("u-{name}");
    PoolFact {
        uid: Uid::new(&uid),
        version: Some(ResourceVersion(1)),
        generation: 1,
        finalizers: Vec::new(),
        has_guard_label: false,
        pool: DedicatedPool {
            name: name.into(),
            uid: uid.into(),
            created: Some(Wall::from_secs(0)),
            taint: PoolTaint { key: "dedicated".into(), value: name.into(), effects: Vec::new() },
            label: Some(PoolLabel { key: "dedicated".into(), value: name.into() }),
            members: PoolMembers { names: nodes.iter().map(|&node| node.into()).collect(), selector: None },
            users: PoolUsers {
                namespaces: Some(LabelSelector::of_labels([("team", name)])),
                ..PoolUsers::default()
            },
            enforcement: PoolEnforcement::Evict,
            ..DedicatedPool::default()
        },
        recorded: None,
    }
}

/// The same with the finalizer and the marks in its status.
pub fn prepared(name: &str, nodes: &[&str]) -> PoolFact {
    let mut fact = pool(name, nodes);
    fact.finalizers = vec!["other/one".into(), FINALIZER.into()];
    fact.pool.applied_marks = fact.pool.marks();
    fact
}

pub fn pool_node(name: &str) -> PoolNodeFact {
    PoolNodeFact {
        uid: Uid::new(&format!("u-{name}")),
        version: Some(ResourceVersion(1)),
        node: PoolNode { name: name.into(), ..PoolNode::default() },
        ready: true,
    }
}

/// A node as a pool of this name writes it.
pub fn dedicated(name: &str, pool: &str) -> PoolNodeFact {
    let mut fact = pool_node(name);
    let record = format!("{pool} taint:dedicated={pool}:NoSchedule label:dedicated={pool}");
    fact.node.record = Some(record.into());
    fact.node.labels.insert("dedicated".into(), pool.into());
    fact.node.taints.push(pool_taint(pool));
    fact
}

/// The taint of the pool with this name.
pub fn pool_taint(pool: &str) -> Taint {
    taint_of("dedicated", pool, "NoSchedule")
}

pub fn resident(name: &str, namespace: &str, node: &str) -> PodOnNodeFact {
    PodOnNodeFact {
        id: PodId::new(Uid::new(&format!("u-{namespace}-{name}")), PodName::new(namespace, name)),
        identity: PodIdentity { namespace: namespace.into(), ..PodIdentity::default() },
        node: NodeName::new(node),
        tolerations: Vec::new(),
        leaving: false,
    }
}
