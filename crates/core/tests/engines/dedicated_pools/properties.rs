//! Tests that any sequence of edits, watch events and failures ends as the rules say, and that nothing is written
//! afterwards.

use crate::cases::cases;
use crate::dedicated_pools::api_server::PoolApiServer;
use crate::dedicated_pools::control_loop::{PoolLoop, RequestOutcomes};
use crate::dedicated_pools::objects::{pool, pool_node, pool_taint, resident};
use proptest::collection::vec;
use proptest::prelude::*;
use taintward_core::admission::pool::{
    DedicatedPool, NodeEdits, NodeRecordAnnotation, PodOnNode, PoolEnforcement, PoolExemptions, PoolNode,
    PoolStatus, PoolValidity, RecordTrust, assess, reconcile, remembered, status,
};
use taintward_core::api_error::ApiFailure;
use taintward_core::dedicated_pools::PoolGuard;
use taintward_core::identity::Uid;
use taintward_core::time::Span;

/// An action of a user.
type PoolCommand = (u8, u8, u8);

fn uid_of(server: &PoolApiServer, name: &str) -> Option<Uid> {
    server.pools.values().find(|fact| *fact.pool.name == *name).map(|fact| fact.uid.clone())
}

fn edit_pool(server: &mut PoolApiServer, name: &str, edit: impl FnOnce(&mut DedicatedPool)) {
    let Some(mut fact) = uid_of(server, name).map(|uid| server.pools[&uid].clone()) else { return };
    edit(&mut fact.pool);
    fact.generation += 1;
    server.put_pool(fact);
}

fn edit_node(server: &mut PoolApiServer, name: &str, edit: impl FnOnce(&mut PoolNode)) {
    let Some(mut fact) = server.nodes.get(name).cloned() else { return };
    edit(&mut fact.node);
    server.put_node(fact);
}

fn names(from: u8) -> Vec<String> {
    [from % 4, (from + 1) % 4].map(|at| format!("n{at}")).into()
}

fn command(run: &mut PoolLoop, (kind, a, b): PoolCommand, number: usize) {
    let (pool_name, node_name, server) = (format!("p{}", a % 3), format!("n{}", a % 4), &mut run.server);
    match kind {
        0 | 1 if uid_of(server, &pool_name).is_none() => {
            let members = names(b);
            let members: Vec<&str> = members.iter().map(String::as_str).collect();
            let mut fact = pool(&pool_name, &members);
            let uid = format!("{}-{number}", fact.uid);
            (fact.uid, fact.pool.uid) = (Uid::new(&uid), uid.into());
            server.put_pool(fact);
        }
        2 => edit_pool(server, &pool_name, |pool| pool.leaving = true),
        3 => edit_pool(server, &pool_name, |pool| pool.taint.value = format!("v{}", b % 3).into()),
        4 => edit_pool(server, &pool_name, |pool| {
            pool.members.names = names(b).iter().map(|name| name.as_str().into()).collect();
        }),
        5 => edit_pool(server, &pool_name, |pool| {
            pool.enforcement = [PoolEnforcement::Evict, PoolEnforcement::Deny][usize::from(b % 2)];
        }),
        6 => {
            let mut fact = pool_node(&node_name);
            fact.uid = Uid::new(&format!("{node_name}-{number}"));
            if !server.nodes.contains_key(&node_name) {
                server.put_node(fact);
            }
        }
        7 => server.remove_node(&node_name),
        8 => edit_node(server, &node_name, |node| {
            node.taints = vec![pool_taint(["other", "p0"][usize::from(b % 2)])]
        }),
        9 => edit_node(server, &node_name, |node| {
            (node.taints, node.labels) = Default::default();
        }),
        10 => edit_node(server, &node_name, |node| node.record = None),
        11..=13 => {
            server.put_pod(resident(
                &format!("x{number}"),
                ["team", "shop", "unlabelled"][usize::from(b % 3)],
                &node_name,
            ));
        }
        14 => {
            let first = server.pods.keys().next().cloned();
            first.into_iter().for_each(|uid| server.remove_pod(&uid));
        }
        15 => server.put_namespace("team", &[("team", &format!("p{}", b % 3))]),
        16 => run.restart(),
        17 => server.list_all(true),
        18 => run.leading = b % 2 == 0,
        19 => {
            let Some(uid) = uid_of(server, &pool_name) else { return };
            match server.undecodable.iter().position(|one| *one == uid) {
                Some(at) => _ = server.undecodable.remove(at),
                None => server.undecodable.push(uid.clone()),
            }
            let fact = server.pools[&uid].clone();
            server.put_pool(fact);
        }
        20 | 21 => {
            run.tampered = true;
            server.tamper((kind == 20).then(PoolGuard::default));
        }
        // A kubelet writes the record of its node.
        24 | 25 => edit_node(server, &node_name, |node| {
            let records =
                ["{}", "", "p0", "p1 label:other=x", "ghost", "ghost taint:dedicated=v0:NoSchedule"];
            node.record = Some(records[usize::from(b) % records.len()].into());
        }),
        23 => run.outcomes = [RequestOutcomes::Responded, RequestOutcomes::Unreliable][usize::from(b % 2)],
        26 => server.guard_most = (b % 2 == 0).then_some(1_500 + usize::from(b) * 100),
        27 => {
            let failures = [ApiFailure::Forbidden, ApiFailure::Unavailable, ApiFailure::Conflict];
            server.guard_rejection = failures.get(usize::from(b % 4)).copied();
        }
        _ => run.run_for(Span::from_secs(70)),
    }
    run.run_for(Span::from_millis(i64::from(a) * 300));
}

fn counts(server: &PoolApiServer, pools: &[DedicatedPool], validity: &[PoolValidity]) -> Vec<PoolStatus> {
    let nodes = server.live_nodes();
    let nodes: Vec<&PoolNode> = nodes.iter().collect();
    let pods: Vec<PodOnNode<'_>> = server
        .pods
        .values()
        .map(|pod| pod.resident(server.namespaces.get(&*pod.identity.namespace).map(|one| &one.labels)))
        .collect();
    status(pools, validity, &nodes, pods, &PoolExemptions::default(), RecordTrust::Pools)
}

fn assert_settled(server: &PoolApiServer) {
    let pools: Vec<DedicatedPool> = server.pools.values().map(|fact| fact.pool.clone()).collect();
    let nodes = server.live_nodes();
    assert!(pools.iter().all(|pool| !pool.leaving), "{pools:?}");
    let assessed = assess(&pools, Some(&nodes), RecordTrust::Pools);
    let validity: Vec<PoolValidity> = assessed.iter().map(|one| one.validity).collect();
    for node in &nodes {
        let wanted = reconcile(&pools, &validity, node, RecordTrust::Pools);
        let holder = node.record.as_deref().map(|text| NodeRecordAnnotation::parse(text).pool);
        let is_of_unknown = wanted.pool.is_none()
            && holder.is_some_and(|holder| pools.iter().all(|pool| pool.name != holder));
        // The record of an unknown pool stays, and does not prove which marks other pools have added.
        let edits = NodeEdits { record: wanted.edits.record.filter(|_| !is_of_unknown), ..wanted.edits };
        assert!(edits.is_empty(), "{node:?}: {edits:?}");
    }
    nodes.iter().for_each(|node| assert_released(&pools, &validity, node));
    let counts = counts(server, &pools, &validity);
    for ((fact, counts), validity) in server.pools.values().zip(&counts).zip(&validity) {
        let recorded = &fact.recorded.as_ref().expect("a status").status;
        let all = |one: &PoolStatus| {
            (one.nodes, one.conflicts, one.pods, one.elsewhere, one.violations, one.unknown)
        };
        assert_eq!((recorded.validity, all(recorded)), (*validity, all(counts)), "{fact:?}");
        assert_eq!(fact.recorded.as_ref().unwrap().observed, fact.generation);
        assert!(counts.evicted.is_empty(), "{:?} are still there", counts.evicted);
        assert_eq!(fact.has_finalizer(), *validity != PoolValidity::Rejected || fact.has_finalizer());
        let remembered = remembered(&fact.pool, &nodes);
        assert!(remembered.iter().all(|mark| fact.pool.applied_marks.contains(mark)), "{fact:?}");
        assert_eq!(fact.pool.applied_marks.len(), remembered.len(), "{fact:?}");
    }
    let denial_if_unjudged = pools
        .iter()
        .zip(&validity)
        .any(|(pool, one)| pool.denial_if_unjudged() && *one != PoolValidity::Rejected);
    let labelled: Vec<bool> = server.pools.values().map(|fact| fact.has_guard_label).collect();
    assert_eq!(labelled, vec![server.guard.is_some(); pools.len()]);
    let Some(guard) = &server.guard else { return };
    assert_eq!(guard.nodes.len(), if denial_if_unjudged { nodes.len() } else { 0 }, "{guard:?}");
    let guarded: Vec<(String, bool)> =
        guard.pools.iter().map(|pool| (pool.uid.to_string(), pool.denial_if_unjudged)).collect();
    let kept = pools.iter().zip(&validity);
    let kept: Vec<(String, bool)> = kept
        .map(|(pool, one)| {
            (pool.uid.to_string(), pool.denial_if_unjudged() && *one != PoolValidity::Rejected)
        })
        .collect();
    assert_eq!(guarded, kept);
}

/// Asserts that a node that no pool wants has no mark of a pool.
fn assert_released(pools: &[DedicatedPool], validity: &[PoolValidity], node: &PoolNode) {
    if pools.iter().any(|pool| pool.selects(&node.name, &node.labels)) {
        return;
    }
    let valid = pools.iter().zip(validity).filter(|(_, one)| **one != PoolValidity::Rejected);
    for (pool, _) in valid {
        let label = pool.label();
        assert_ne!(
            node.labels.get(&label.key),
            Some(&label.value),
            "{node:?} has the label of {}",
            pool.name
        );
        let taints = pool.taints();
        let has = node.taints.iter().any(|one| taints.iter().any(|taint| taint == one));
        assert!(!has, "{node:?} has the taint of {}", pool.name);
    }
}

fn world() -> PoolApiServer {
    let mut server = PoolApiServer::default();
    server.guard = Some(PoolGuard::default());
    ["n0", "n1", "n2", "open"].into_iter().for_each(|name| _ = server.put_node(pool_node(name)));
    server.put_namespace("team", &[("team", "p0")]);
    server.put_namespace("shop", &[]);
    server.put_pool(pool("p0", &["n0", "n1"]));
    server
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn it_ends_as_the_rules_say_without_further_writes(
        commands in vec((0..29_u8, 0..8_u8, 0..8_u8), 0..40),
        seed: u64,
    ) {
        let mut run = PoolLoop::new(world(), seed);
        run.outcomes = RequestOutcomes::Unreliable;
        for (number, one) in commands.into_iter().enumerate() {
            command(&mut run, one, number);
        }
        (run.outcomes, run.leading) = (RequestOutcomes::Responded, true);
        let all: Vec<_> = run.server.pools.values().cloned().collect();
        run.server.undecodable.clear();
        (run.server.guard_most, run.server.guard_rejection) = (None, None);
        all.into_iter().for_each(|fact| _ = run.server.put_pool(fact));
        run.run_for(Span::from_secs(240));
        assert_settled(&run.server);
        let writes = run.server.writes.len();
        run.run_for(Span::from_secs(200));
        prop_assert_eq!(&run.server.writes[writes..], &[] as &[String]);
    }
}
