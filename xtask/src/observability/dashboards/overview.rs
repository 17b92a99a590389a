//! Shows whether Taintward works: what has to be done, whether a replica does it, what it hears from the API server.

use super::super::alert::{INSTALLATION, PROCESS, max, opened_watches, seconds};
use super::super::dashboard::{
    Dashboard, Panel, PanelQuery, PanelRow, PanelUnit, chosen, per_second, per_second_by, processes,
    quantiles,
};
use taintward_admission::metrics::MODE;
use taintward_controller::metrics::names;

pub(crate) fn dashboard() -> Dashboard {
    Dashboard {
        uid: "taintward-overview",
        title: "Overview",
        description: "Whether Taintward does its work, and what it hears from the API server.",
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
                "Replicas that lead. 1 is right; 0 for long: no pod is evicted; with --mode=observe none leads.",
            ),
            number("Nodes", None, largest(names::NODES), "Nodes that Taintward knows."),
            number(
                "Tainted nodes",
                None,
                largest(names::TAINTED_NODES),
                "Nodes with at least one NoExecute taint.",
            ),
            number("Countdowns", None, largest(names::PENDING_PODS), "Pods whose toleration is running out."),
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
                "How long the longest overdue pod has been due; 0 if none is. Above 60 s evictions are held up.",
            ),
            number(
                "Nodes waiting for taint",
                Some(1),
                largest(names::NODES_WAITING_FOR_TAINT),
                "Unhealthy nodes without their NoExecute taint, for a rate limit or a zone that is down.",
            ),
            number(
                "Pods held",
                Some(1),
                largest(names::HOLD_PODS),
                "Pods whose countdown toleration-hold-controller has stopped.",
            ),
            number(
                "In doubt",
                Some(1),
                largest(names::OBSERVATION_IN_DOUBT),
                "1 while a process takes no silence of a node for evidence.",
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
                "How long ago the API server last said anything on the quietest watch. Bookmarks come about once a minute.",
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
            Panel::lines(
                "Evictions",
                PanelUnit::PerSecond,
                vec![
                    PanelQuery::new(
                        "deleted",
                        per_second("", names::TAINT_EVICTION_CONTROLLER_POD_DELETIONS),
                    ),
                    PanelQuery::new("predicted", per_second("", names::WOULD_EVICT)),
                ],
                "Pods that Taintward has deleted, and pods that it would have deleted with --mode=enforce.",
            ),
            Panel::lines(
                "Requests to the API server",
                PanelUnit::PerSecond,
                vec![per_second_by(&["method", "code"], names::REST_CLIENT_REQUESTS)],
                "All requests, those of watches and the lease included. <error>: no answer came.",
            ),
            Panel::lines(
                "Duration of requests",
                PanelUnit::Seconds,
                quantiles(&["verb"], names::REST_CLIENT_REQUEST_DURATION),
                "How long requests took until the head of the answer came, or until they were given up.",
            ),
            Panel::lines(
                "Log",
                PanelUnit::PerSecond,
                vec![per_second_by(&["level"], names::LOG_MESSAGES)],
                "Records of the log. Failures without a metric of their own show here.",
            ),
        ],
    }
}

fn connection() -> PanelRow {
    let by_instance = |gauge: &str| PanelQuery::new("{{instance}}", chosen(gauge));
    PanelRow {
        title: "Watches, lease and clock",
        panels: vec![
            Panel::lines(
                "Watch age",
                PanelUnit::Seconds,
                vec![PanelQuery::new("{{resource}}", format!("max by (resource) ({})", watch_ages()))],
                "How long ago the API server last said anything on the watch of a resource; the oldest of all processes.",
            ),
            Panel::lines(
                "Watches taken up again",
                PanelUnit::PerSecond,
                vec![per_second_by(&["resource", "reason"], names::WATCH_RESTARTS)],
                "Streams that were opened again. The reasons closed and relist are no failures.",
            ),
            Panel::lines(
                "Lease",
                PanelUnit::Seconds,
                vec![by_instance(&seconds(names::LEASE_MARGIN))],
                "How long a process may still act without renewing the lease; 0 while it follows. Below 0 is a fault.",
            ),
            Panel::lines(
                "Clock",
                PanelUnit::Seconds,
                vec![by_instance(&seconds(names::CLOCK_OFFSET))],
                "How far the clock of a process is ahead of the API server's; below 0: behind. Countdowns go by the API server's.",
            ),
        ],
    }
}
