//! Shows which nodes are unhealthy, which get their taints, and how dedicated pools stand.

use super::super::dashboard::{
    Dashboard, Panel, PanelQuery, PanelRow, PanelUnit, largest, largest_by, per_second, per_second_by,
    quantiles,
};
use taintward_admission::metrics::MODE;
use taintward_controller::metrics::names;

pub(crate) fn dashboard() -> Dashboard {
    Dashboard {
        uid: "taintward-node-lifecycle",
        title: "Node lifecycle",
        description: "Which nodes are unhealthy, whether they get their taints, and what stops that.",
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
                "The share of ready nodes of a zone. A zone that is partly down taints nodes slowly or not at all.",
            ),
            Panel::lines(
                "Unhealthy nodes",
                PanelUnit::Number,
                vec![largest_by("zone", names::NODE_COLLECTOR_UNHEALTHY_NODES_IN_ZONE)],
                "Nodes of a zone that are not ready.",
            ),
            Panel::lines(
                "Nodes",
                PanelUnit::Number,
                vec![largest_by("zone", names::NODE_COLLECTOR_ZONE_SIZE)],
                "Registered nodes of a zone.",
            ),
            Panel::lines(
                "NoExecute taints",
                PanelUnit::PerSecond,
                vec![
                    per_second_by(&["zone"], names::NODE_COLLECTOR_EVICTIONS),
                    PanelQuery::new("predicted", per_second("", names::WOULD_TAINT)),
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
            Panel::lines(
                "Unhealthy nodes by state",
                PanelUnit::Number,
                vec![
                    largest("silent", names::SILENT_NODES),
                    largest("tainted", names::UNHEALTHY_TAINTED_NODES),
                    largest("waiting for taint", names::NODES_WAITING_FOR_TAINT),
                    largest("tried and failed", names::NODES_RETRYING),
                    largest("not understood", names::NODES_NOT_UNDERSTOOD),
                    largest("ready, out of service", names::READY_OUT_OF_SERVICE_NODES),
                ],
                "Nodes without heartbeats, with a NoExecute taint for their health, without one that they should have, with a \
                 failed request, with contents that Taintward does not understand, and nodes that are ready and still have the \
                 taint out-of-service.",
            ),
            Panel::lines(
                "What stops taints",
                PanelUnit::Number,
                vec![
                    largest("observation in doubt", names::OBSERVATION_IN_DOUBT),
                    largest("everything down", names::EVERYTHING_DOWN),
                ],
                "1 while silence is no evidence, and while all zones are down.",
            ),
            Panel::lines(
                "Duration for one node",
                PanelUnit::Seconds,
                quantiles(&[], names::NODE_COLLECTOR_UPDATE_NODE_HEALTH_DURATION),
                "How long a live read of a silent node, or writing down that it is silent, took.",
            ),
            Panel::lines(
                "Duration for all nodes",
                PanelUnit::Seconds,
                quantiles(&[], names::NODE_COLLECTOR_UPDATE_ALL_NODES_HEALTH_DURATION),
                "How long deciding about all nodes took, once around the loop.",
            ),
        ],
    }
}

fn pools() -> PanelRow {
    PanelRow {
        title: "Dedicated pools",
        panels: vec![
            Panel::lines(
                "Pools",
                PanelUnit::Number,
                vec![largest_by("standing", names::POOLS)],
                "Dedicated pools, by how they stand.",
            ),
            Panel::lines(
                "Nodes and pods of pools",
                PanelUnit::Number,
                vec![
                    largest("nodes", names::POOL_NODES),
                    largest("nodes waiting", names::POOL_NODES_WAITING),
                    largest("nodes tried and failed", names::POOL_NODES_RETRYING),
                    largest("conflicts", names::POOL_CONFLICTS),
                    largest("pods of others", names::POOL_OFFENDERS),
                ],
                "Nodes that are dedicated, are still to be written, or cannot be had; and pods on dedicated nodes that are not of \
                 the node's pool.",
            ),
        ],
    }
}
