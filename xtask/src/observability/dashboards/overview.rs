//! Shows whether Taintward works: what is due, whether a replica does it, and what it receives from the API server.

use super::super::alert::{INSTALLATION, PROCESS, max, opened_watches, seconds};
use super::super::dashboard::{
    Dashboard, Panel, PanelQuery, PanelRow, PanelUnit, chosen, per_second_by, processes, quantiles,
};
use super::evictions::evictions;
use taintward_admission::metrics::MODE;
use taintward_controller::metrics::names;

pub(crate) fn dashboard() -> Dashboard {
    Dashboard {
        uid: "taintward-overview",
        title: "Overview",
        description: "Whether Taintward works, and what it receives from the API server.",
        mode: not_webhook(),
        rows: vec![state(), requests(), connection()],
    }
}

fn not_webhook() -> String {
    format!("!=\"{MODE}\"")
}

fn state() -> PanelRow {
    let largest = |gauge: &str| max(&chosen(gauge));
    let leaders = format!("sum by ({INSTALLATION}) ({})", chosen(names::LEADER_ELECTION_MASTER_STATUS));
    let number = |title, red_from, expr, description| {
        Panel::stat(title, PanelUnit::Number, red_from, expr, description)
    };
    PanelRow {
        title: "State",
        panels: vec![
            number("Replicas", None, processes(&not_webhook()), "Processes that Prometheus scrapes."),
            number(
                "Leaders",
                Some(2),
                leaders,
                "Replicas that are leader. 1 is normal. While it is 0, no pod is evicted. With --mode=observe, no replica leads.",
            ),
            number("Nodes", None, largest(names::NODES), "Nodes that Taintward observes."),
            number(
                "Tainted nodes",
                None,
                largest(names::TAINTED_NODES),
                "Nodes with at least one NoExecute taint.",
            ),
            number("Countdowns", None, largest(names::PENDING_PODS), "Pods with a running countdown."),
            number(
                "Pods due",
                None,
                largest(names::DUE_PODS),
                "Pods that are due for eviction and not deleted yet.",
            ),
            Panel::stat(
                "Longest overdue",
                PanelUnit::Seconds,
                Some(60),
                largest(&seconds(names::OLDEST_DUE_POD)),
                "How long the longest overdue pod has been due; 0 if no pod is due. Above 60 s, something blocks evictions.",
            ),
            number(
                "Nodes waiting for taint",
                Some(1),
                largest(names::NODES_WAITING_FOR_TAINT),
                "Unhealthy nodes without their NoExecute taint, because of a rate limit or because their zone is down.",
            ),
            number(
                "Pods held",
                Some(1),
                largest(names::HOLD_PODS),
                "Pods whose countdown toleration-hold-controller has stopped.",
            ),
            number(
                "Observation in doubt",
                Some(1),
                largest(names::OBSERVATION_IN_DOUBT),
                "1 while a process cannot determine which nodes are silent.",
            ),
            number(
                "Everything down",
                Some(1),
                largest(names::EVERYTHING_DOWN),
                "1 while all zones are down and no node gets a NoExecute taint.",
            ),
            Panel::stat(
                "Watch age",
                PanelUnit::Seconds,
                Some(180),
                max(&watch_ages()),
                "The longest time since a watch last received anything. The API server sends a bookmark about once a minute.",
            ),
        ],
    }
}

/// Ages of the watches that a process needs.
fn watch_ages() -> String {
    let ages = chosen(&seconds(names::WATCH_LAST_HEARD_AGE));
    format!("{ages} and on ({PROCESS}, resource) {}", opened_watches())
}

fn requests() -> PanelRow {
    PanelRow {
        title: "Evictions and requests",
        panels: vec![
            evictions(),
            Panel::rates(
                "Requests to the API server",
                vec![per_second_by(&["method", "code"], names::REST_CLIENT_REQUESTS)],
                "All requests, including watches and the lease. <error>: the API server did not answer.",
            ),
            Panel::seconds(
                "Duration of requests",
                quantiles(&["verb"], names::REST_CLIENT_REQUEST_DURATION),
                "How long requests took until the head of the answer arrived, or until Taintward abandoned them.",
            ),
            Panel::rates(
                "Log",
                vec![per_second_by(&["level"], names::LOG_MESSAGES)],
                "Log records, by level. Failures without their own metric show here.",
            ),
        ],
    }
}

fn connection() -> PanelRow {
    let by_instance = |gauge: &str| PanelQuery::new("{{instance}}", chosen(gauge));
    PanelRow {
        title: "Watches, lease and clock",
        panels: vec![
            Panel::seconds(
                "Watch age",
                vec![PanelQuery::new("{{resource}}", format!("max by (resource) ({})", watch_ages()))],
                "The time since the watch of a resource last received anything: the maximum of all processes.",
            ),
            Panel::rates(
                "Watch restarts",
                vec![per_second_by(&["resource", "reason"], names::WATCH_RESTARTS)],
                "Watches that a process opened again. The reasons closed and relist are not failures.",
            ),
            Panel::seconds(
                "Lease",
                vec![by_instance(&seconds(names::LEASE_MARGIN))],
                "How long a process may still act without renewing the lease; 0 if it is not the leader. Below 0, report a bug.",
            ),
            Panel::seconds(
                "Clock",
                vec![by_instance(&seconds(names::CLOCK_OFFSET))],
                "How far the clock of a process is ahead of the API server's; below 0, it is behind. Countdowns use the API server's \
                 clock.",
            ),
        ],
    }
}
