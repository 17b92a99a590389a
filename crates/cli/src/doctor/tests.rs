//! Tests that the pages agree with the checks, and the checks on small clusters.

mod eviction_policies;
mod one_cause;

use super::check::{CheckVerdict, DoctorCheck};
use super::controllers_flag::{ControllersFlag, UpstreamController};
use super::distribution::{Distribution, GUIDES, RecognizedDistribution, SwitchOffGuide};
use super::facts::ClusterFacts;
use super::{LintCounts, checks};
use crate::manifest;
use std::collections::BTreeMap;
use std::path::Path;
use taintward_core::time::Wall;

/// The lines around the table in `docs/switch-off.md`.
const TABLE: [&str; 2] = ["<!-- distributions -->\n", "<!-- /distributions -->\n"];

fn row(guide: &SwitchOffGuide, when: &str, own: &str) -> String {
    let edit = guide.edit(&ControllersFlag::parse(own), &[UpstreamController::TaintEviction]);
    let name = format!("[{}](#{})", name(guide.distribution), guide.section);
    let name = if when.is_empty() { name } else { format!("{name}, {when}") };
    format!("| {name} | `{own}` | `{}` | {} |\n", edit.write, guide.place)
}

fn name(distribution: Distribution) -> &'static str {
    match distribution {
        Distribution::Kubeadm => "kubeadm, kubespray",
        Distribution::Hosted => "Kamaji",
        Distribution::VCluster => "vCluster with nodes of its own",
        other => other.name(),
    }
}

fn table() -> String {
    let mut table = "\n| distribution | its own value | write | into |\n|---|---|---|---|\n".to_owned();
    for guide in &GUIDES {
        table += &row(guide, "", guide.own_value);
        table.extend(guide.variants.iter().map(|(when, own)| row(guide, when, own)));
    }
    table + "\n"
}

/// `EXAMPLES=overwrite cargo test -p taintward --bin taintward doctor` writes it.
#[test]
fn the_page_has_the_table_of_the_program() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/switch-off.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(TABLE[0]).unwrap();
    let (found, after) = rest.split_once(TABLE[1]).unwrap();
    if std::env::var("EXAMPLES").as_deref() == Ok("overwrite") {
        let page = [before, TABLE[0], &table(), TABLE[1], after].concat();
        std::fs::write(&path, page).unwrap();
    } else {
        assert_eq!(found, table(), "EXAMPLES=overwrite writes it");
    }
}

/// The edit disables eviction and nothing else, and undoing it restores the distribution's own value.
#[test]
fn every_guide_keeps_what_its_distribution_switches_on() {
    for guide in &GUIDES {
        let section = format!("### {}", guide.section);
        let owns = std::iter::once(guide.own_value).chain(guide.variants.iter().map(|(_, own)| *own));
        for own in owns {
            let own = ControllersFlag::parse(own);
            let edit = guide.edit(&own, &[UpstreamController::TaintEviction]);
            assert!(edit.write.contains("-taint-eviction-controller"), "{section}: {edit:?}");
            assert!(!edit.undo.contains("-taint-eviction-controller"), "{section}: {edit:?}");
            let names = ["tokencleaner", "bootstrapsigner", "-nodeipam"];
            for name in names.into_iter().filter(|name| own.to_string().contains(name)) {
                let adds = ["controllers+=", "-taint"].iter().any(|start| edit.write.starts_with(start));
                assert!(adds || edit.write.contains(name), "{section}: {edit:?}");
            }
        }
    }
}

/// A cluster after an installation; `value` is that of `--controllers`.
fn cluster(value: &str) -> ClusterFacts {
    let objects = format!(
        "
apiVersion: v1
kind: Node
metadata:
  name: cp1
  labels: {{node-role.kubernetes.io/control-plane: ''}}
  annotations: {{kubeadm.alpha.kubernetes.io/cri-socket: x}}
status: {{nodeInfo: {{kubeletVersion: v1.36.3}}}}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {{name: cp1, namespace: kube-node-lease}}
---
apiVersion: v1
kind: Pod
metadata: {{name: kcm, namespace: kube-system, annotations: {{kubernetes.io/config.mirror: x}}}}
spec:
  nodeName: cp1
  containers: [{{command: [/usr/local/bin/kube-controller-manager, '--controllers={value}']}}]
---
apiVersion: v1
kind: Pod
metadata: {{name: web, namespace: shop}}
spec:
  tolerations:
  - {{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}}
  - {{key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 300}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: taintward, namespace: taintward-system}}
spec: {{replicas: 2, template: {{spec: {{containers: [{{args: [run]}}]}}}}}}
status: {{readyReplicas: 2}}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {{name: taintward, namespace: taintward-system}}
spec: {{holderIdentity: a, renewTime: '2026-11-21T14:00:00.000000Z', leaseDurationSeconds: 15}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {{name: taintward}}
"
    );
    let mut facts = ClusterFacts::default();
    let broken = manifest::each(&objects, |object| facts.add(object));
    assert_eq!(broken, []);
    facts.server_version = "v1.36.3".to_owned();
    facts.now = Some(moment("2026-11-21T14:00:10Z"));
    facts
}

fn moment(text: &str) -> Wall {
    Wall::from_micros(text.parse::<jiff::Timestamp>().unwrap().as_microsecond())
}

fn checked(facts: &ClusterFacts, pre: bool) -> BTreeMap<&'static str, DoctorCheck> {
    let recognized = RecognizedDistribution::of(facts);
    let lint = LintCounts::default();
    let scope = checks::DoctorScope {
        facts,
        recognized: &recognized,
        pre,
        namespace: "taintward-system",
        lint: &lint,
    };
    checks::run(&scope).into_iter().map(|check| (check.id, check)).collect()
}

fn bad(facts: &ClusterFacts, pre: bool) -> Vec<(&'static str, CheckVerdict)> {
    let checks = checked(facts, pre);
    let all = checks.values().map(|check| (check.id, check.verdict));
    all.filter(|(_, verdict)| *verdict > CheckVerdict::Note).collect()
}

const KUBEADM: &str = "*,bootstrapsigner,tokencleaner";

#[test]
fn an_installation_passes_only_if_upstream_eviction_is_off() {
    let off = format!("{KUBEADM},-taint-eviction-controller");
    assert_eq!(bad(&cluster(&off), false), []);
    assert_eq!(
        bad(&cluster(KUBEADM), false),
        [("one-evictor", CheckVerdict::Failed), ("taint-eviction-off", CheckVerdict::Failed)]
    );
    assert_eq!(
        bad(&cluster(KUBEADM), true),
        [("one-evictor", CheckVerdict::Failed), ("taint-eviction-off", CheckVerdict::Warning)]
    );
}

#[test]
fn a_value_that_replaced_the_distributions_own_is_reported() {
    let facts = cluster("*,-taint-eviction-controller");
    assert_eq!(
        bad(&facts, false),
        [("bootstrap-signer", CheckVerdict::Failed), ("token-cleaner", CheckVerdict::Failed)]
    );
    let signer = &checked(&facts, false)["bootstrap-signer"];
    assert!(signer.finding.contains("bootstrap signer is off"), "{signer:?}");
    assert_eq!(signer.fix[0], "write: *,-taint-eviction-controller,bootstrapsigner,tokencleaner");
}

/// An installation that leaves evictions to kube-controller-manager, as on a managed cluster.
#[test]
fn an_installation_without_evictions_keeps_upstream_eviction_on() {
    for (argument, finding) in [
        ("--mode=observe", "kube-controller-manager evicts, and Taintward does not evict"),
        (
            "--controllers=dedicated-pool-controller",
            "kube-controller-manager evicts, and Taintward does not evict",
        ),
        (
            "--controllers=toleration-guard-controller",
            "kube-controller-manager evicts, and Taintward evicts only pods of guarded namespaces, before their ceiling",
        ),
    ] {
        let mut facts = cluster(KUBEADM);
        facts.deployments[0].arguments.push(argument.to_owned());
        assert_eq!(bad(&facts, false), [], "{argument}");
        assert_eq!(checked(&facts, false)["one-evictor"].finding, finding, "{argument}");
    }
    let mut facts = cluster(&format!("{KUBEADM},-taint-eviction-controller"));
    facts.deployments[0].arguments.push("--controllers=*,node-lifecycle-controller".to_owned());
    assert_eq!(bad(&facts, false), [("node-lifecycle-off", CheckVerdict::Failed)]);
}

#[test]
fn what_has_changed_since_is_noticed() {
    let off = format!("{KUBEADM},-taint-eviction-controller");
    let verdict = |change: &dyn Fn(&mut ClusterFacts), id: &str| {
        let mut facts = cluster(&off);
        change(&mut facts);
        checked(&facts, false)[id].verdict
    };
    let later = |facts: &mut ClusterFacts| facts.now = Some(moment("2026-11-21T15:00:00Z"));
    assert_eq!(verdict(&later, "leader"), CheckVerdict::Failed);
    assert_eq!(verdict(&later, "one-evictor"), CheckVerdict::Failed);
    let trace = |facts: &mut ClusterFacts| {
        facts.evictions.add("shop/web".to_owned(), Some("2026-11-21T13:59:00Z".parse().unwrap()));
    };
    assert_eq!(verdict(&trace, "one-evictor"), CheckVerdict::Warning);
    let condition = |manager: &str| {
        let pod = format!(
            r#"{{"kind": "Pod", "metadata": {{"name": "web", "namespace": "shop", "managedFields": [{{"manager": "{manager}",
            "fieldsV1": {{"f:status": {{"f:conditions": {{"k:{{\"type\":\"DisruptionTarget\"}}": {{}}}}}}}}}}]}},
            "spec": {{"tolerations": [{{"operator": "Exists"}}]}}, "status": {{"conditions": [{{"type": "DisruptionTarget",
            "reason": "DeletionByTaintManager", "lastTransitionTime": "2026-11-21T13:59:00Z"}}]}}}}"#
        );
        verdict(
            &|facts: &mut ClusterFacts| assert_eq!(manifest::each(&pod, |pod| facts.add(pod)), []),
            "one-evictor",
        )
    };
    assert_eq!(condition("kube-controller-manager"), CheckVerdict::Warning);
    assert_eq!(condition("taintward"), CheckVerdict::Passed);
    let second = |facts: &mut ClusterFacts| {
        let mut other = facts.controller_managers[0].clone();
        other.arguments = vec!["kube-controller-manager".to_owned()];
        facts.controller_managers.push(other);
    };
    assert_eq!(verdict(&second, "controllers-flag"), CheckVerdict::Warning);
    assert_eq!(verdict(&second, "taint-eviction-off"), CheckVerdict::Failed);
    let unseen = |facts: &mut ClusterFacts| {
        let mut other = facts.nodes[0].clone();
        other.name = "cp2".to_owned();
        facts.nodes.push(other);
    };
    assert_eq!(verdict(&unseen, "controllers-flag"), CheckVerdict::Unknown);
    assert_eq!(verdict(&unseen, "node-leases"), CheckVerdict::Warning);
    let old = |facts: &mut ClusterFacts| facts.server_version = "v1.29.0".to_owned();
    assert_eq!(verdict(&old, "server-version"), CheckVerdict::Failed);
    let stopped = |facts: &mut ClusterFacts| facts.deployments[0].ready = 1;
    assert_eq!(verdict(&stopped, "installation"), CheckVerdict::Failed);
}

/// A pod in another namespace belongs to another cluster's control plane or only has the same name, and does not show the
/// state of this cluster.
#[test]
fn control_planes_in_other_namespaces_are_of_other_clusters() {
    let mut facts = cluster(KUBEADM);
    let pod = "{kind: Pod, metadata: {name: kcm, namespace: tenant-a}, spec: {containers: [{command: \
               [kube-controller-manager, '--controllers=*,-taint-eviction-controller']}]}}";
    assert_eq!(manifest::each(pod, |pod| facts.add(pod)), []);
    assert_eq!(facts.controller_managers.len(), 1);
}

/// Each rejected list makes the checks that need it unknown, and improves no other check.
#[test]
fn what_cannot_be_read_is_never_passed() {
    let off = format!("{KUBEADM},-taint-eviction-controller");
    let whole = checked(&cluster(&off), false);
    for (plural, ids) in [
        ("nodes", &["distribution", "node-leases", "untolerated-taints"][..]),
        ("pods", &["default-toleration-seconds", "untolerated-taints"]),
        ("poddisruptionbudgets", &["disruption-budgets"]),
        ("evictionpolicies", &["eviction-policies"]),
        ("validatingwebhookconfigurations", &["admission-webhooks"]),
        ("mutatingwebhookconfigurations", &["admission-webhooks"]),
        ("flowschemas", &["priority-and-fairness"]),
        ("deployments", &["installation"]),
    ] {
        let mut facts = cluster(&off);
        facts.unread.insert(plural, "may not".to_owned());
        for (id, check) in checked(&facts, false) {
            if ids.contains(&id) {
                assert_eq!(check.verdict, CheckVerdict::Unknown, "{plural}: {check:?}");
                assert!(check.finding.contains("may not"), "{check:?}");
            } else {
                assert!(check.verdict >= whole[id].verdict, "{plural}: {check:?}");
            }
        }
    }
}

/// A list's pod as an API server sends it, without `kind`: much of it is about fields and containers.
fn listed_pod(namespace: &str, reason: &str, manager: &str) -> String {
    let fields: String = (0..60).map(|at| format!(r#","f:field-{at}":{{"f:part":{{}}}}"#)).collect();
    let variables: String = (0..30).map(|at| format!(r#",{{"name":"V{at}","value":"v"}}"#)).collect();
    let mark = r#"{\"type\":\"DisruptionTarget\"}"#;
    format!(
        r#"{{"metadata":{{"namespace":"{namespace}","name":"p","annotations":{{"kubernetes.io/config.mirror":"x"}},
        "managedFields":[{{"manager":"{manager}","fieldsV1":{{"f:status":{{"f:conditions":{{"k:{mark}":{{}}}}}}{fields}}}}}]}},
        "spec":{{"nodeName":"n1","containers":[{{"command":["kube-controller-manager","--controllers=*"],
        "env":[{{"name":"A"}}{variables}]}}],"tolerations":[{{"operator":"Exists"}}]}},
        "status":{{"phase":"Running","conditions":[{{"type":"DisruptionTarget","reason":"{reason}",
        "lastTransitionTime":"2026-11-21T14:00:00Z"}}]}}}}"#
    )
}

#[test]
fn the_facts_of_a_listed_pod_need_few_of_its_fields() {
    let facts = |object: manifest::YamlNode| {
        let mut facts = ClusterFacts::default();
        facts.add(&object.called("v1", "Pod"));
        format!("{facts:?}")
    };
    for (namespace, reason, manager, is_whole) in [
        ("shop", "PreemptionByScheduler", "kube-controller-manager", false),
        ("shop", "DeletionByTaintManager", "kube-controller-manager", true),
        ("shop", "DeletionByTaintManager", "taintward", true),
        ("kube-system", "", "kubelet", true),
    ] {
        let json = listed_pod(namespace, reason, manager);
        let whole: manifest::YamlNode = serde_json::from_str(&json).unwrap();
        let excerpt = super::collect::listed("Pod", json.as_bytes()).unwrap();
        let [all, read] = [&whole, &excerpt].map(|object| serde_json::to_string(object).unwrap().len());
        assert!(if is_whole { read == all } else { 6 * read < all }, "{namespace} {reason}: {read} of {all}");
        assert_eq!(facts(excerpt), facts(whole), "{namespace} {reason} {manager}");
    }
}
