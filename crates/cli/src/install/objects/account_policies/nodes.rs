//! Builds the policy for what the controllers may write on nodes and their status.
//!
//! - Invariant: Kubernetes' own labels and taints, addresses and schedulability stay as they are. A pool's taint or
//!   label may have any other key, so such keys are all that the account can change.

use super::super::super::values::Condition;
use super::Template;
use super::{ALL, AccountPolicy, chosen, requests, variable};

const POOLS: Condition = Condition::All(&[Condition::Pools, Condition::Enforces]);
const HEALTH: Condition = Condition::All(&[Condition::NodeHealth, Condition::Enforces]);
const STAMPS: Condition = Condition::All(&[Condition::Evicts, Condition::Stamps]);

/// A key that a DedicatedPool may have; the definition of pools has the same rule.
macro_rules! of_pools {
    ($key:literal) => {
        concat!(
            "(!",
            $key,
            ".matches('^([^/]*[.])?(kubernetes|k8s)[.]io/')\n|| ",
            $key,
            ".matches('^([^/]*[.])?node-restriction[.]kubernetes[.]io/')\n|| ",
            $key,
            ".startsWith('node-role.kubernetes.io/')\n&& !(",
            $key,
            " in ['node-role.kubernetes.io/control-plane', 'node-role.kubernetes.io/master']))"
        )
    };
}

/// Of taints that differ each is a pool's, one of the nine of node health (the core's `ManagedTaint`), or gets `timeAdded`.
const TAINTS: &str = concat!(
    "(variables.come + variables.gone).all(t,\nvariables.pools && ",
    of_pools!("t.key"),
    "\n|| variables.health && t.effect == 'NoExecute'\n\
     && t.key in ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']\n\
     || variables.health && t.effect == 'NoSchedule'\n\
     && t.key in ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable',\n\
     'node.kubernetes.io/memory-pressure', 'node.kubernetes.io/disk-pressure',\n\
     'node.kubernetes.io/pid-pressure', 'node.kubernetes.io/network-unavailable',\n\
     'node.kubernetes.io/unschedulable']\n\
     || variables.stamps && variables.stamped.exists(s, s == t))"
);

/// NoExecute taints that had no time and have one now, as they were and as they are; all else of them is the same.
const STAMPED: &str = "variables.come.filter(c, c.effect == 'NoExecute' && has(c.timeAdded)\n\
     && variables.gone.exists(g, !has(g.timeAdded) && g.key == c.key && g.effect == c.effect\n\
     && g[?'value'] == c[?'value']))\n\
     + variables.gone.filter(g, g.effect == 'NoExecute' && !has(g.timeAdded)\n\
     && variables.come.exists(c, has(c.timeAdded) && g.key == c.key && g.effect == c.effect\n\
     && g[?'value'] == c[?'value']))";

const LABELS: &str = concat!(
    "(variables.labels.map(k, k) + variables.oldLabels.map(k, k)).all(k,\n\
     variables.labels[?k] == variables.oldLabels[?k]\n\
     || variables.pools && ",
    of_pools!("k"),
    "\n|| variables.health && k in ['beta.kubernetes.io/os', 'beta.kubernetes.io/arch'])"
);

const ANNOTATIONS: &str = "(variables.notes.map(k, k) + variables.oldNotes.map(k, k)).all(k,\n\
     variables.notes[?k] == variables.oldNotes[?k] || variables.pools && k == 'taintward.io/pool')";

/// Node health makes conditions expire, and nothing else of them (NL-12).
const CONDITIONS: &str = "variables.conditions.all(c, c in variables.oldConditions\n\
     || variables.health && c.status == 'Unknown'\n\
     && c.type in ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'])\n\
     && variables.oldConditions.all(o, variables.conditions.exists(c, c.type == o.type))";

pub(super) fn nodes() -> AccountPolicy {
    let note =
        "Of nodes the controllers write taints, labels, one annotation and conditions, as far as they run.";
    let variables = [
        variable("spec", "variables.is.?spec.orValue({})"),
        variable("oldSpec", "variables.was.?spec.orValue({})"),
        variable("taints", "variables.spec.?taints.orValue([])"),
        variable("oldTaints", "variables.oldSpec.?taints.orValue([])"),
        variable("come", "variables.taints.filter(t, !(t in variables.oldTaints))"),
        variable("gone", "variables.oldTaints.filter(t, !(t in variables.taints))"),
        variable("stamped", STAMPED),
        variable("labels", "variables.is.metadata.?labels.orValue({})"),
        variable("oldLabels", "variables.was.metadata.?labels.orValue({})"),
        variable("notes", "variables.is.metadata.?annotations.orValue({})"),
        variable("oldNotes", "variables.was.metadata.?annotations.orValue({})"),
        variable("status", "variables.is.?status.orValue({})"),
        variable("oldStatus", "variables.was.?status.orValue({})"),
        variable("conditions", "variables.status.?conditions.orValue([])"),
        variable("oldConditions", "variables.oldStatus.?conditions.orValue([])"),
    ];
    let demands = [
        (
            "request.operation == 'UPDATE' && (!has(request.subResource) || request.subResource in ['', 'status'])",
            "it changes nodes, and does nothing else with them",
        ),
        (
            same!("variables.is", "variables.was", "['metadata', 'spec', 'status']"),
            "of nodes it writes metadata, spec and status only",
        ),
        (
            same!("variables.spec", "variables.oldSpec", "['taints']"),
            "of the spec of nodes it writes taints only",
        ),
        (
            same!(
                "variables.is.metadata",
                "variables.was.metadata",
                "['managedFields', 'resourceVersion', 'generation', 'labels', 'annotations']"
            ),
            "of the metadata of nodes it writes labels and one annotation only",
        ),
        (
            same!("variables.status", "variables.oldStatus", "['conditions']"),
            "of the status of nodes it writes conditions only",
        ),
        (
            TAINTS,
            "it writes taints that pools may have and those of node health, as far as these controllers run",
        ),
        (LABELS, "it writes labels that pools may have, none of Kubernetes' own"),
        (ANNOTATIONS, "it writes no annotation of nodes but taintward.io/pool"),
        (
            CONDITIONS,
            "of conditions of nodes it says that they are unknown, if node health runs, and nothing else",
        ),
    ];
    let chosen = [
        chosen("pools", POOLS, Condition::Not(&POOLS)),
        chosen("health", HEALTH, Condition::Not(&HEALTH)),
        chosen("stamps", STAMPS, Condition::Not(&STAMPS)),
    ];
    let rules = requests("", "v1", ["nodes", "nodes/*"], ALL);
    AccountPolicy {
        variables: chosen.into_iter().flatten().chain(variables).collect(),
        demands: demands.map(|(expression, message)| (Template::Block(expression), message)).into(),
        ..AccountPolicy::of_controller("taintward-controller-nodes", note, rules)
    }
}
