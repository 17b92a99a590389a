//! Alerts of nodes that get no NoExecute taint, or keep a taint that they should not have any more.

use super::super::alert::{Alert, Runbook, Severity, max};
use taintward_controller::metrics::names;

pub(super) fn alerts() -> Vec<Alert> {
    vec![not_tainted(), in_doubt(), everything_down(), out_of_service_stale()]
}

fn not_tainted() -> Alert {
    Alert {
        name: "TaintwardNodesNotTainted",
        severity: Severity::Warning,
        hold_seconds: 300,
        expr: format!("{} > 0", max(names::NODES_WAITING_FOR_TAINT)),
        summary: "Unhealthy nodes wait for their NoExecute taint.",
        description: "{{ $value }} nodes wait for a NoExecute taint (job {{ $labels.job }} in {{ $labels.namespace }}).",
        runbook: Runbook {
            meaning: "For five minutes there have been nodes that are silent or not ready and have no NoExecute taint yet. Each zone \
                      taints a limited number of nodes in a time, and fewer or none while most of the zone is down.",
            impact: "Pods of these nodes do not leave yet.",
            diagnosis: "- `node_collector_zone_health` is the share of healthy nodes by zone. Below 45 % with the default flags the \
                        zone is partly down: nodes of a zone of more than 50 nodes are tainted one in 100 s, those of a smaller one not \
                        at all.\n\
                        - `taintward explain node/NAME` says what one node waits for.\n\
                        - `taintward_nodes_retrying` above 0: requests fail, and the log has the reason.",
            action: "Find out why so many nodes of the zone fail at once: network, power, a bad upgrade. If the nodes are lost \
                     for certain, delete their Node objects. Flags change the rates ([node-lifecycle.md](../node-lifecycle.md)).",
            silence: "During a planned outage of a zone.",
        },
    }
}

fn in_doubt() -> Alert {
    Alert {
        name: "TaintwardObservationInDoubt",
        severity: Severity::Warning,
        hold_seconds: 300,
        expr: format!("{} == 1", max(names::OBSERVATION_IN_DOUBT)),
        summary: "Taintward cannot tell which nodes are silent.",
        description: "For five minutes a process has taken no silence of a node for evidence (job {{ $labels.job }} in \
                      {{ $labels.namespace }}).",
        runbook: Runbook {
            meaning: "The process has not listed nodes and leases yet, a watch of them is broken, or its own requests fail. Then \
                      silence says nothing about a node.",
            impact: "No further node is called silent, and none gets a NoExecute taint for silence.",
            diagnosis: "- `taintward_watch_phase` of `nodes` and `leases` has to be `watching`.\n\
                        - `rest_client_requests_total` by `code` shows whether requests fail.\n\
                        - The log says why the process doubts its observation.",
            action: "Repair the connection of the process to the API server, or the permission to watch leases in `kube-node-lease` \
                     (`taintward doctor`).",
            silence: "During an outage of the API server that people work on already.",
        },
    }
}

fn everything_down() -> Alert {
    Alert {
        name: "TaintwardEverythingDown",
        severity: Severity::Critical,
        hold_seconds: 60,
        expr: format!("{} == 1", max(names::EVERYTHING_DOWN)),
        summary: "All zones are down, and Taintward taints no node.",
        description: "No zone has a node that is ready (job {{ $labels.job }} in {{ $labels.namespace }}).",
        runbook: Runbook {
            meaning: "Every node of every zone is not ready or silent. Such a picture has its cause more often in the control \
                      plane than in all nodes, so Taintward takes its NoExecute taints off and puts none on.",
            impact: "Countdowns stand still, and no pod leaves for `not-ready` or `unreachable` until a node is ready again.",
            diagnosis: "- `kubectl get nodes` shows the conditions.\n\
                        - Kubelets that run and cannot renew their leases point to the API server, its load balancer or an expired \
                        certificate.",
            action: "Repair the way from the kubelets to the API server. Once a node is ready, silent nodes have a whole grace period.",
            silence: "While the whole cluster is switched off on purpose.",
        },
    }
}

fn out_of_service_stale() -> Alert {
    Alert {
        name: "TaintwardOutOfServiceStale",
        severity: Severity::Warning,
        hold_seconds: 600,
        expr: format!("{} > 0", max(names::READY_OUT_OF_SERVICE_NODES)),
        summary: "Nodes are ready again and still have the taint out-of-service.",
        description: "{{ $value }} nodes are Ready and bear the taint node.kubernetes.io/out-of-service (job {{ $labels.job }} in \
                      {{ $labels.namespace }}).",
        runbook: Runbook {
            meaning: "The taint `node.kubernetes.io/out-of-service` says that a node is switched off and stays so. A person or a cloud's \
                      controller put it there, and for ten minutes the node has been Ready all the same. Kubernetes never takes \
                      this taint off by itself, and neither does Taintward.",
            impact: "With the effect `NoExecute` or `NoSchedule` the node gets no ordinary pods. With any effect it is in danger: the next \
                     time the node is not ready, even for a minute, kube-controller-manager force-deletes pods that are being deleted \
                     there and detaches their volumes at once, although the node may still write to them.",
            diagnosis: "- The nodes, whether they are ready, and their taints:\n\n\
                        ```sh\n\
                        kubectl get nodes -o custom-columns='NAME:.metadata.name,READY:.status.conditions[?(@.type==\"Ready\")].status,TAINTS:.spec.taints[*].key'\n\
                        ```\n\n\
                        - `kubectl get node NAME -o yaml --show-managed-fields` names the client that put the taint there.\n\
                        - The metric comes from processes that run the taint-eviction-controller or the toleration-guard-controller, \
                        with `--mode=observe` too.",
            action: "If the node has really restarted since it was tainted, take the taint off: \
                     `kubectl taint node NAME node.kubernetes.io/out-of-service-`. If a controller puts it back, find out why that \
                     controller believes that the node is switched off.",
            silence: "While people work on the node and want it empty.",
        },
    }
}
