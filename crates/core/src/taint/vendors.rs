//! Lists well-known taints of clouds, autoscalers, drivers and operators (MATCH-10).

#[cfg(test)]
mod tests;

use super::Taint;
use crate::time::Wall;

/// The description of a taint.
pub(super) struct VendorDescription {
    pub(super) what: &'static str,
    pub(super) who: &'static str,
    pub(super) then: &'static str,
    pub(super) value: Option<&'static str>,
    pub(super) set_at: Option<Wall>,
}

/// A well-known taint.
struct VendorTaint {
    /// Its keys: whole, or with `*` for the name or for the domain.
    keys: &'static [&'static str],
    what: &'static str,
    who: &'static str,
    then: &'static str,
    value: TaintValue,
}

/// What the value of a taint says.
#[derive(Clone, Copy)]
enum TaintValue {
    /// Nothing more than the key.
    Obvious,
    /// When the taint was set, in seconds since 1970.
    SetAt,
    /// The same for every value.
    Condition(&'static str),
    /// Something for some values.
    Means(&'static [(&'static str, &'static str)]),
}

/// Returns the description of a taint, if its key is known.
pub(super) fn describe(taint: &Taint) -> Option<VendorDescription> {
    let known = TABLE.iter().find(|known| known.keys.iter().any(|pattern| matches(pattern, &taint.key)))?;
    let (value, set_at) = match known.value {
        TaintValue::Obvious => (None, None),
        TaintValue::SetAt => (None, seconds(&taint.value)),
        TaintValue::Condition(_) if taint.value.is_empty() => (None, None),
        TaintValue::Condition(what) => (Some(what), None),
        TaintValue::Means(values) => {
            (values.iter().find(|(value, _)| *value == &*taint.value).map(|(_, what)| *what), None)
        }
    };
    Some(VendorDescription { what: known.what, who: known.who, then: known.then, value, set_at })
}

/// `*` stands for the name, or for a domain of a CSI driver.
fn matches(pattern: &str, key: &str) -> bool {
    match (pattern.strip_suffix('*'), pattern.strip_prefix('*')) {
        (Some(domain), _) => key.strip_prefix(domain).is_some_and(|name| !name.is_empty()),
        (None, Some(name)) => key.strip_suffix(name).is_some_and(|domain| domain.contains(".csi.")),
        (None, None) => pattern == key,
    }
}

/// The range of times that a value can be: 2015 to 2100. Other numbers mean something else.
const TIMES: core::ops::Range<i64> = 1_420_070_400..4_102_444_800;

fn seconds(value: &str) -> Option<Wall> {
    value.parse().ok().filter(|seconds| TIMES.contains(seconds)).map(Wall::from_secs)
}

const TOLERATE: &str = "give pods that ask for them a toleration; the admission plugin ExtendedResourceToleration does \
                        so by itself";

const TABLE: &[VendorTaint] = &[
    VendorTaint {
        keys: &["ToBeDeletedByClusterAutoscaler"],
        what: "the cluster autoscaler is about to remove the node, and drains it",
        who: "the cluster autoscaler; it removes the taint if it cancels the removal",
        then: "nothing; if no autoscaler runs, remove it",
        value: TaintValue::SetAt,
    },
    VendorTaint {
        keys: &["DeletionCandidateOfClusterAutoscaler"],
        what: "the cluster autoscaler considers removing the node because it is underused",
        who: "the cluster autoscaler; it removes the taint if it keeps the node",
        then: "nothing; if no autoscaler runs, remove it",
        value: TaintValue::SetAt,
    },
    VendorTaint {
        keys: &[
            "startup-taint.cluster-autoscaler.kubernetes.io/*",
            "ignore-taint.cluster-autoscaler.kubernetes.io/*",
        ],
        what: "the node has not started completely; until then, the cluster autoscaler counts it as not ready",
        who: "the provisioner of the nodes; a program of the cluster removes it when the node may be used",
        then: "if it stays: look at the program that removes it",
        value: TaintValue::Obvious,
    },
    VendorTaint {
        keys: &["status-taint.cluster-autoscaler.kubernetes.io/*"],
        what: "a state of the node that passes; the cluster autoscaler ignores the taint when it plans new nodes",
        who: "a program of the cluster, which removes it again",
        then: "if it stays: look at the program that removes it",
        value: TaintValue::Obvious,
    },
    VendorTaint {
        keys: &["readiness.k8s.io/*"],
        what: "a condition that a NodeReadinessRule requires of the node is not met",
        who: "the node readiness controller, or the provisioner of the nodes; the controller removes it",
        then: "if it stays: kubectl get nodereadinessrules, and look at the conditions of the node",
        value: TaintValue::Obvious,
    },
    VendorTaint {
        keys: &["karpenter.sh/disrupted"],
        what: "Karpenter is about to remove the node, and drains it",
        who: "Karpenter; it removes the taint if it cancels the removal",
        then: "nothing; the events of the node and its NodeClaim say why",
        value: TaintValue::Obvious,
    },
    VendorTaint {
        keys: &["karpenter.sh/disruption"],
        what: "Karpenter is about to remove the node, and drains it (a key of releases before 1.0)",
        who: "Karpenter; karpenter.sh/disrupted replaces it since 1.0",
        then: "if a newer Karpenter runs, remove it",
        value: TaintValue::Obvious,
    },
    VendorTaint {
        keys: &["karpenter.sh/unregistered"],
        what: "the node is new, and Karpenter does not manage it yet",
        who: "the node at registration; Karpenter removes it",
        then: "if it stays: look at Karpenter and at the node's NodeClaim",
        value: TaintValue::Obvious,
    },
    VendorTaint {
        keys: &["node.cluster.x-k8s.io/uninitialized"],
        what: "the node is new, and Cluster API has not initialized it yet",
        who: "the bootstrap provider of Cluster API; Cluster API removes it when it has connected Machine and node",
        then: "if it stays: look at the Machine of the node, and at the controllers of the management cluster",
        value: TaintValue::Obvious,
    },
    VendorTaint {
        keys: &["node.cluster.x-k8s.io/outdated-revision"],
        what: "a rollout will replace the node: its Machine belongs to an old revision",
        who: "Cluster API, during the rollout of a MachineDeployment",
        then: "nothing; if it stays: look at the MachineDeployment",
        value: TaintValue::Obvious,
    },
    VendorTaint {
        keys: &["node.cilium.io/agent-not-ready"],
        what: "the node is new, and Cilium does not run on it yet",
        who: "the provisioner of the nodes; Cilium removes it",
        then: "if it stays: look at Cilium's pods, above all the one on the node",
        value: TaintValue::Obvious,
    },
    VendorTaint {
        keys: &["*/agent-not-ready"],
        what: "the node is new, and the CSI driver that the key names does not run on it yet",
        who: "the provisioner of the nodes; the pod of the driver on the node removes it",
        then: "if it stays: look at the pods of the CSI driver, above all the one on the node",
        value: TaintValue::Obvious,
    },
    VendorTaint {
        keys: &["aws-node-termination-handler/spot-itn"],
        what: "AWS reclaims the spot instance: it stops about two minutes after the notice",
        who: "the AWS node termination handler",
        then: "nothing: the node goes; if it still runs after the event, remove the taint",
        value: TaintValue::Condition("the id of the event"),
    },
    VendorTaint {
        keys: &["aws-node-termination-handler/scheduled-maintenance"],
        what: "AWS has scheduled maintenance of the instance",
        who: "the AWS node termination handler",
        then: "nothing: the node goes; if it still runs after the event, remove the taint",
        value: TaintValue::Condition("the id of the event"),
    },
    VendorTaint {
        keys: &["aws-node-termination-handler/asg-lifecycle-termination"],
        what: "the auto scaling group is about to terminate the instance",
        who: "the AWS node termination handler",
        then: "nothing: the node goes; if it still runs after the event, remove the taint",
        value: TaintValue::Condition("the id of the event"),
    },
    VendorTaint {
        keys: &["aws-node-termination-handler/rebalance-recommendation"],
        what: "AWS expects to reclaim the spot instance soon",
        who: "the AWS node termination handler",
        then: "nothing: the node goes; if it still runs after the event, remove the taint",
        value: TaintValue::Condition("the id of the event"),
    },
    VendorTaint {
        keys: &["NodeWithImpairedVolumes"],
        what: "volumes of the node have been attaching for too long",
        who: "the AWS cloud provider of Kubernetes",
        then: "look at the volumes of the node, or replace it",
        value: TaintValue::Obvious,
    },
    VendorTaint {
        keys: &["eks.amazonaws.com/compute-type"],
        what: "the node belongs to one pod that AWS Fargate runs",
        who: "EKS Fargate",
        then: "nothing",
        value: TaintValue::Means(&[("fargate", "it is a node of Fargate")]),
    },
    VendorTaint {
        keys: &["cloud.google.com/impending-node-termination"],
        what: "Google Cloud is about to stop the machine of the node",
        who: "the node termination handler of GKE, which removes the taint if the node comes back",
        then: "nothing: its pods have to run elsewhere",
        value: TaintValue::Obvious,
    },
    VendorTaint {
        keys: &["cloud.google.com/gke-spot"],
        what: "the node is a spot VM, which Google Cloud may stop at any time",
        who: "GKE, or the creator of the node pool",
        then: "give pods that may be interrupted a toleration",
        value: TaintValue::Obvious,
    },
    VendorTaint {
        keys: &["components.gke.io/gke-managed-components"],
        what: "the node is kept for the system pods of GKE",
        who: "the creator of the node pool",
        then: "nothing",
        value: TaintValue::Obvious,
    },
    VendorTaint {
        keys: &["sandbox.gke.io/runtime"],
        what: "the node runs pods in GKE Sandbox",
        who: "GKE",
        then: "give pods the RuntimeClass gvisor, which has the toleration",
        value: TaintValue::Means(&[("gvisor", "the runtime is gVisor")]),
    },
    VendorTaint {
        keys: &["google.com/tpu"],
        what: "the node has TPUs, which are kept for pods that ask for them",
        who: "GKE",
        then: "give pods that need a TPU a toleration",
        value: TaintValue::Obvious,
    },
    VendorTaint {
        keys: &["kubernetes.azure.com/scalesetpriority"],
        what: "the node is a machine whose priority the value names",
        who: "AKS",
        then: "give pods that may be interrupted a toleration",
        value: TaintValue::Means(&[("spot", "a spot machine, which Azure may reclaim at any time")]),
    },
    VendorTaint {
        keys: &["azure.com/aci"],
        what: "the node is virtual: Azure Container Instances run its pods",
        who: "the virtual nodes of AKS",
        then: "give pods that may run there a toleration",
        value: TaintValue::Obvious,
    },
    VendorTaint {
        keys: &["virtual-kubelet.io/provider"],
        what: "the node is virtual: its pods run at a provider",
        who: "Virtual Kubelet",
        then: "give pods that may run there a toleration",
        value: TaintValue::Condition("the name of the provider"),
    },
    VendorTaint {
        keys: &["CriticalAddonsOnly"],
        what: "the node is kept for system pods",
        who: "the creator of the node, as for system pools of AKS and servers of k3s and RKE2",
        then: "nothing; other pods need other nodes",
        value: TaintValue::Obvious,
    },
    VendorTaint {
        keys: &["nvidia.com/gpu", "amd.com/gpu"],
        what: "the node has GPUs, which are kept for pods that ask for them",
        who: "the provisioner of the nodes, by convention",
        then: TOLERATE,
        value: TaintValue::Obvious,
    },
    VendorTaint {
        keys: &["aws.amazon.com/neuron", "habana.ai/gaudi"],
        what: "the node has accelerators, which are kept for pods that ask for them",
        who: "the provisioner of the nodes, by convention",
        then: TOLERATE,
        value: TaintValue::Obvious,
    },
    VendorTaint {
        keys: &["node.ocs.openshift.io/storage"],
        what: "the node is kept for the storage pods of OpenShift Data Foundation",
        who: "the administrator of the storage cluster",
        then: "nothing",
        value: TaintValue::Obvious,
    },
    VendorTaint {
        keys: &["node-role.kubernetes.io/infra"],
        what: "the node is kept for infrastructure pods, as in OpenShift",
        who: "the administrator of the cluster",
        then: "nothing",
        value: TaintValue::Obvious,
    },
    VendorTaint {
        keys: &["node-role.kubernetes.io/etcd"],
        what: "the node runs etcd",
        who: "RKE2, RKE or Rancher, for nodes with this role",
        then: "nothing",
        value: TaintValue::Obvious,
    },
    VendorTaint {
        keys: &["UpdateInProgress"],
        what: "OpenShift updates the operating system of the node",
        who: "the machine config operator, which removes it after the update",
        then: "if it stays: look at the MachineConfigPool of the node",
        value: TaintValue::Obvious,
    },
    VendorTaint {
        keys: &["kubevirt.io/drain"],
        what: "KubeVirt moves the virtual machines of the node to other nodes",
        who: "a person or a program that empties the node, such as Harvester",
        then: "if it stays: remove it when the node may be used again",
        value: TaintValue::Obvious,
    },
    VendorTaint {
        keys: &["medik8s.io/remediation"],
        what: "the node is unhealthy, and a remediator of medik8s restarts it",
        who: "the remediator, which removes it afterwards",
        then: "if it stays: look at the remediation resource of the node",
        value: TaintValue::Means(&[("self-node-remediation", "the remediator is Self Node Remediation")]),
    },
    VendorTaint {
        keys: &["remediation.medik8s.io/fence-agents-remediation", "medik8s.io/fence-agents-remediation"],
        what: "the node is unhealthy, and a fence agent restarts it or switches it off",
        who: "Fence Agents Remediation of medik8s, which removes it afterwards",
        then: "if it stays: look at the FenceAgentsRemediation of the node",
        value: TaintValue::Obvious,
    },
    VendorTaint {
        keys: &["medik8s.io/drain"],
        what: "the node is in maintenance, and is cordoned and drained",
        who: "the Node Maintenance Operator of medik8s, which removes it at the end",
        then: "look at the NodeMaintenance of the node",
        value: TaintValue::Obvious,
    },
    VendorTaint {
        keys: &["drbd.linbit.com/lost-quorum"],
        what: "a DRBD volume on the node has lost its quorum",
        who: "the high-availability controller of Piraeus (LINSTOR), which removes it when the quorum is back",
        then: "if it stays: look at the DRBD resources of the node",
        value: TaintValue::Obvious,
    },
    VendorTaint {
        keys: &["drbd.linbit.com/force-io-error"],
        what: "DRBD answers with I/O errors on the node, so that pods let their volumes go",
        who: "the high-availability controller of Piraeus (LINSTOR)",
        then: "if it stays: look at the DRBD resources of the node",
        value: TaintValue::Obvious,
    },
];
