//! Alerts about nodes that get no NoExecute taint, or keep a taint that they should no longer have.

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
            meaning: "For five minutes, nodes have been silent or not ready without a NoExecute taint. Each zone has a rate limit for \
                      these taints; while most of the zone is down, the limit is lower, or no node gets the taint.",
            impact: "The pods of these nodes are not evicted yet.",
            diagnosis: "- `node_collector_zone_health` is the percentage of ready nodes by zone. With the default flags, a zone below 45 % \
                        is partly down. In a partly down zone of more than 50 nodes, one node gets the taint every 100 s; in a \
                        smaller one, no node gets it.\n\
                        - `taintward explain node/NAME` says what one node waits for.\n\
                        - `taintward_nodes_retrying` above 0: requests fail, and the log has the reason.",
            action: "Find out why many nodes of the zone fail at the same time: network, power, a bad upgrade. If the machines are gone, delete \
                     their Node objects. Flags change the rates ([node-lifecycle.md](../node-lifecycle.md)).",
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
        summary: "Taintward cannot determine which nodes are silent.",
        description: "For five minutes, a process has not treated missing heartbeats as silence of a node (job {{ $labels.job }} in \
                      {{ $labels.namespace }}).",
        runbook: Runbook {
            meaning: "The process has not listed nodes and leases yet, its watch of them is interrupted, or its own requests fail. Missing \
                      heartbeats may then be a fault of this connection and not of the nodes.",
            impact: "Taintward treats no further node as silent, and adds no NoExecute taint for silence.",
            diagnosis: "- `taintward_watch_phase` of `nodes` and `leases` has to be `watching`.\n\
                        - `rest_client_requests_total` by `code` shows whether requests fail.\n\
                        - The log says why the process does not rely on its observation.",
            action: "Repair the connection of the process to the API server, or the permission to watch leases in `kube-node-lease` \
                     (`taintward doctor` shows it).",
            silence: "During an outage of the API server that your team already works on.",
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
        description: "No zone has a ready node (job {{ $labels.job }} in {{ $labels.namespace }}).",
        runbook: Runbook {
            meaning: "Every node of every zone is silent or not ready. The likely cause is the control plane, not every node at the same time. \
                      Therefore Taintward removes its NoExecute taints and adds none.",
            impact: "Until a node is ready again, no countdown for `not-ready` or `unreachable` runs, and no pod is evicted for them.",
            diagnosis: "- `kubectl get nodes` shows the conditions.\n\
                        - If kubelets run and cannot renew their leases, the cause is the API server, its load balancer, or an expired \
                        certificate.",
            action: "Repair the connection from the kubelets to the API server. When a node is ready again, silent nodes get a whole \
                     grace period.",
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
        description: "{{ $value }} nodes are Ready and have the taint node.kubernetes.io/out-of-service (job {{ $labels.job }} in \
                      {{ $labels.namespace }}).",
        runbook: Runbook {
            meaning: "The taint `node.kubernetes.io/out-of-service` declares that a node is switched off and stays off. A person or a \
                      controller of the cloud added it, but the node has been Ready for ten minutes. Neither Kubernetes nor Taintward \
                      removes this taint by itself.",
            impact: "With the effect `NoExecute` or `NoSchedule`, the node gets no pods that do not tolerate it. With any effect, data can be \
                     damaged: the next time the node is not ready, even for a minute, kube-controller-manager force-deletes the \
                     node's pods that are being deleted, and detaches their volumes immediately, although the node may still write to them.",
            diagnosis: "- This command lists the nodes, whether they are ready, and their taints:\n\n\
                        ```sh\n\
                        kubectl get nodes -o custom-columns='NAME:.metadata.name,READY:.status.conditions[?(@.type==\"Ready\")].status,TAINTS:.spec.taints[*].key'\n\
                        ```\n\n\
                        - `kubectl get node NAME -o yaml --show-managed-fields` names the client that added the taint.\n\
                        - The metric comes from processes that run the taint-eviction-controller or the toleration-guard-controller, \
                        with `--mode=observe` too.",
            action: "If the node has restarted since it got the taint, remove the taint: \
                     `kubectl taint node NAME node.kubernetes.io/out-of-service-`. If a controller adds it again, find out why that \
                     controller treats the node as switched off.",
            silence: "While your team works on the node and needs it empty.",
        },
    }
}
