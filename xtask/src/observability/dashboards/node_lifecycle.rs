//! Shows which nodes are unhealthy, which nodes get their taints, and the state of dedicated pools.

use super::super::dashboard::{
    Dashboard, Panel, PanelRow, PanelUnit, largest, largest_by, per_second_by, per_second_named, quantiles,
};
use taintward_admission::metrics::MODE;
use taintward_controller::metrics::names;

pub(crate) fn dashboard() -> Dashboard {
    Dashboard {
        uid: "taintward-node-lifecycle",
        title: "Node lifecycle",
        description: "How many nodes are unhealthy, whether they get their taints, and what prevents that.",
        mode: format!("!=\"{MODE}\""),
        rows: vec![zones(), nodes(), pools()],
    }
}

fn zones() -> PanelRow {
    PanelRow {
        title: "Zones",
        panels: vec![
            Panel::lines(
                "Health",
                PanelUnit::Percent,
                vec![largest_by("zone", names::NODE_COLLECTOR_ZONE_HEALTH)],
                "The percentage of ready nodes in a zone. In a zone that is partly down, nodes get taints slowly or not at all.",
            ),
            Panel::numbers(
                "Unhealthy nodes",
                vec![largest_by("zone", names::NODE_COLLECTOR_UNHEALTHY_NODES_IN_ZONE)],
                "Nodes of a zone that are not ready.",
            ),
            Panel::numbers(
                "Nodes",
                vec![largest_by("zone", names::NODE_COLLECTOR_ZONE_SIZE)],
                "Registered nodes of a zone.",
            ),
            Panel::rates(
                "NoExecute taints",
                vec![
                    per_second_by(&["zone"], names::NODE_COLLECTOR_EVICTIONS),
                    per_second_named("predicted", names::WOULD_TAINT),
                ],
                "Nodes that got a NoExecute taint, and nodes that would have got one with --mode=enforce.",
            ),
        ],
    }
}

fn nodes() -> PanelRow {
    PanelRow {
        title: "Nodes",
        panels: vec![
            Panel::numbers(
                "Unhealthy nodes by state",
                vec![
                    largest("silent", names::SILENT_NODES),
                    largest("tainted", names::UNHEALTHY_TAINTED_NODES),
                    largest("waiting for taint", names::NODES_WAITING_FOR_TAINT),
                    largest("retrying", names::NODES_RETRYING),
                    largest("invalid", names::NODES_NOT_UNDERSTOOD),
                    largest("ready, out of service", names::READY_OUT_OF_SERVICE_NODES),
                ],
                "silent: no heartbeats. tainted: a NoExecute taint for the node's health. waiting for taint: the node should have this \
                 taint and does not have it yet. retrying: the last request failed. invalid: the node or its lease is invalid. ready, \
                 out of service: the node is ready and still has the taint out-of-service.",
            ),
            Panel::numbers(
                "What prevents taints",
                vec![
                    largest("observation in doubt", names::OBSERVATION_IN_DOUBT),
                    largest("everything down", names::EVERYTHING_DOWN),
                ],
                "observation in doubt: 1 while Taintward cannot determine which nodes are silent. everything down: 1 while all \
                 zones are down.",
            ),
            Panel::seconds(
                "Duration for one node",
                quantiles(&[], names::NODE_COLLECTOR_UPDATE_NODE_HEALTH_DURATION),
                "How long Taintward took to read a silent node from the API server, or to write that it is silent.",
            ),
            Panel::seconds(
                "Duration for all nodes",
                quantiles(&[], names::NODE_COLLECTOR_UPDATE_ALL_NODES_HEALTH_DURATION),
                "How long one pass of the control loop took to decide about all nodes.",
            ),
        ],
    }
}

fn pools() -> PanelRow {
    PanelRow {
        title: "Dedicated pools",
        panels: vec![
            Panel::numbers("Pools", vec![largest_by("standing", names::POOLS)], "Dedicated pools, by state."),
            Panel::numbers(
                "Nodes and pods of pools",
                vec![
                    largest("nodes", names::POOL_NODES),
                    largest("nodes waiting", names::POOL_NODES_WAITING),
                    largest("nodes retrying", names::POOL_NODES_RETRYING),
                    largest("conflicts", names::POOL_CONFLICTS),
                    largest("other pods", names::POOL_OFFENDERS),
                ],
                "nodes: dedicated to a pool. nodes waiting: the controller has yet to write them. nodes retrying: the last request \
                 failed. conflicts: another writer's taint or label conflicts with the pool's. other pods: pods on dedicated nodes \
                 that do not belong to the node's pool.",
            ),
        ],
    }
}
