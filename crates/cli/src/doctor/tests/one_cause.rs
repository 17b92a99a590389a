//! Tests that one cause is one finding, in observe mode, without an installation, and after a switch.

use super::{KUBEADM, bad, checked, cluster};
use crate::doctor::check::CheckVerdict;
use crate::doctor::facts::{ClusterFacts, PermissionFacts};
use crate::manifest;

fn added(facts: &mut ClusterFacts, object: &str) {
    assert_eq!(manifest::each(object, |object| facts.add(object)), []);
}

fn event(message: &str, field: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Event, metadata: {{name: e, namespace: shop}}, reason: TaintManagerEviction, {field}: '{message}', \
         source: {{component: taint-eviction-controller}}, involvedObject: {{name: web}}, lastTimestamp: '2026-11-21T13:59:00Z'}}"
    )
}

#[test]
fn only_evictions_are_traces_of_evictions() {
    let off = format!("{KUBEADM},-taint-eviction-controller");
    for (message, verdict) in [
        ("Marking for deletion Pod shop/web", CheckVerdict::Warning),
        ("Cancelling deletion of Pod shop/web", CheckVerdict::Passed),
    ] {
        for field in ["message", "note"] {
            let mut facts = cluster(&off);
            added(&mut facts, &event(message, field));
            assert_eq!(checked(&facts, false)["one-evictor"].verdict, verdict, "{message}");
        }
    }
    // The condition and the event are of one eviction.
    let mut facts = cluster(&off);
    for _ in 0..3 {
        added(&mut facts, &event("Marking for deletion Pod shop/web", "message"));
    }
    let finding = &checked(&facts, false)["one-evictor"].finding;
    assert!(finding.contains("evicted shop/web, the last one 70s ago"), "{finding}");
}

/// Right after the switch, where the flags are not visible.
#[test]
fn an_eviction_before_the_restart_of_upstream_shows_nothing() {
    let mut facts = cluster(KUBEADM);
    facts.controller_managers.clear();
    facts.nodes[0].keys.clear();
    facts.evictions.add("shop/web".to_owned(), Some("2026-11-21T13:59:00Z".parse().unwrap()));
    assert_eq!(checked(&facts, false)["one-evictor"].verdict, CheckVerdict::Failed);
    let lease = |acquired: &str| {
        format!(
            "{{kind: Lease, metadata: {{name: kube-controller-manager, namespace: kube-system}}, spec: {{holderIdentity: x, \
             acquireTime: '2026-11-21T{acquired}Z', renewTime: '2026-11-21T14:00:00Z'}}}}"
        )
    };
    for (acquired, verdict) in [("13:58:00", CheckVerdict::Failed), ("13:59:30", CheckVerdict::Unknown)] {
        facts.leader_leases.retain(|lease| lease.name != "kube-controller-manager");
        added(&mut facts, &lease(acquired));
        let check = &checked(&facts, false)["one-evictor"];
        assert_eq!(check.verdict, verdict, "{check:?}");
        assert_eq!(
            check.finding.contains("unknown until 8m50s from now"),
            verdict == CheckVerdict::Unknown,
            "{check:?}"
        );
    }
}

#[test]
fn an_installation_that_observes_needs_no_leader_and_keeps_its_flags() {
    let mut facts = cluster(KUBEADM);
    facts.leader_leases.clear();
    facts.deployments[0].image = "registry.example.com/taintward:1".to_owned();
    facts.deployments[0].arguments.extend(["--mode=observe".to_owned(), "--v=2".to_owned()]);
    let missing = Ok(vec!["may not list pods".to_owned()]);
    facts.permissions = Some(PermissionFacts { account: "a".to_owned(), purpose: "that it needs", missing });
    let checks = checked(&facts, false);
    assert_eq!(checks["leader"].verdict, CheckVerdict::Passed);
    let repair = checks["permissions"].fix.last().unwrap();
    assert_eq!(
        repair,
        "taintward install --image=registry.example.com/taintward:1 --mode=observe --controller-arg=--v=2 \
         --parts=controller,viewer --apply repairs roles and bindings"
    );
    facts.deployments[0].arguments.retain(|argument| argument != "--mode=observe");
    assert_eq!(checked(&facts, false)["leader"].verdict, CheckVerdict::Failed);
}

#[test]
fn without_an_installation_there_is_one_failure() {
    let mut facts = cluster(KUBEADM);
    facts.deployments.clear();
    facts.flow_schemas.clear();
    facts.leader_leases.clear();
    facts.flow_schemas.insert("catch-all".to_owned());
    assert_eq!(
        bad(&facts, false),
        [("installation", CheckVerdict::Failed), ("taint-eviction-off", CheckVerdict::Warning)]
    );
    assert!(!checked(&facts, false).contains_key("leader"));
}

#[test]
fn without_the_flags_one_check_is_unknown() {
    let mut facts = cluster(KUBEADM);
    facts.controller_managers.clear();
    facts.nodes[0].keys.clear();
    let unknown: Vec<_> = bad(&facts, true).into_iter().map(|(id, _)| id).collect();
    assert_eq!(unknown, ["controllers-flag", "one-evictor"]);
    assert!(checked(&facts, true)["controllers-flag"].fix.iter().any(|fix| fix.contains("to go back")));
}

#[test]
fn taints_of_kubernetes_need_no_toleration() {
    let off = format!("{KUBEADM},-taint-eviction-controller");
    let note = |taints: &str| {
        let mut facts = cluster(&off);
        added(
            &mut facts,
            &format!("{{apiVersion: v1, kind: Node, metadata: {{name: n}}, spec: {{taints: [{taints}]}}}}"),
        );
        let check = checked(&facts, false)["untolerated-taints"].clone();
        (check.verdict == CheckVerdict::Note).then_some(check.finding)
    };
    assert_eq!(note("{key: node-role.kubernetes.io/etcd, effect: NoExecute}"), None);
    assert_eq!(note("{key: node.kubernetes.io/unschedulable, effect: NoSchedule}"), None);
    let own = "{key: node-role.kubernetes.io/control-plane, effect: NoSchedule}, {key: pool, value: db, effect: NoSchedule}";
    assert_eq!(
        note(own).as_deref(),
        Some("no pod of the cluster tolerates 1 of 1 taint: pool=db:NoSchedule")
    );
}
