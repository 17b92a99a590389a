//! Lists for each alert series with which it fires, and series with which it barely does not fire.

use taintward_admission::metrics::{MODE, names as webhook};
use taintward_controller::metrics::names;

/// The series of a scrape every 30 s, by name and values as promtool writes them.
pub(crate) struct AlertCase {
    pub(crate) alert: &'static str,
    /// The expression holds from the second scrape on, at the latest.
    pub(crate) fires: Vec<(String, &'static str)>,
    /// The expression never holds; the values are as close to the limit as possible.
    pub(crate) sanitized: Vec<(String, &'static str)>,
}

/// Labels of a scrape.
const A: &str = "namespace=\"taintward-system\",job=\"taintward\",instance=\"a\"";
const B: &str = "namespace=\"taintward-system\",job=\"taintward\",instance=\"b\"";

fn of(instance: &str, name: &str, labels: &str) -> String {
    let comma = if labels.is_empty() { "" } else { "," };
    format!("{name}{{{instance}{comma}{labels}}}")
}

fn gauge(name: &str) -> String {
    of(A, name, "")
}

fn seconds(name: &str) -> String {
    of(A, &format!("{name}_seconds"), "")
}

fn counter(name: &str, labels: &str) -> String {
    of(A, &format!("{name}_total"), labels)
}

fn about(instance: &str, mode: &str) -> String {
    of(instance, names::BUILD_INFO, &format!("mode=\"{mode}\""))
}

fn leads(instance: &str) -> String {
    of(instance, names::LEADER_ELECTION_MASTER_STATUS, "name=\"taintward\"")
}

/// One series above a limit, and the same at the limit.
fn limit(alert: &'static str, series: &str, above: &'static str, at: &'static str) -> AlertCase {
    AlertCase { alert, fires: vec![(series.to_owned(), above)], sanitized: vec![(series.to_owned(), at)] }
}

pub(crate) fn all() -> Vec<AlertCase> {
    [evictions(), leadership(), nodes_and_connection(), webhook_responses(), managed_clusters()]
        .into_iter()
        .flatten()
        .collect()
}

fn evictions() -> Vec<AlertCase> {
    let effects = |effect: &str, outcome: &str| {
        counter(names::EFFECTS, &format!("effect=\"{effect}\",outcome=\"{outcome}\""))
    };
    let delayed = |instance: &str| of(instance, names::DELAYED_PODS, "reason=\"budget\"");
    vec![
        AlertCase {
            alert: "TaintwardEvictionBacklog",
            fires: vec![
                (seconds(names::OLDEST_DUE_POD), "61x120"),
                (leads(A), "0x120"),
                (delayed(B), "0x120"),
            ],
            sanitized: vec![
                (seconds(names::OLDEST_DUE_POD), "900x120"),
                (leads(A), "0x120"),
                (of(B, &format!("{}_seconds", names::OLDEST_DUE_POD), ""), "60x120"),
                (leads(B), "1x120"),
                (delayed(B), "1x120"),
            ],
        },
        limit("TaintwardEvictionPolicyBlocked", &gauge(names::EVICTION_POLICIES_BLOCKED), "1x120", "0x120"),
        limit("TaintwardEvictionsBraked", &gauge(names::BRAKED_KEYS), "1x120", "0x120"),
        AlertCase {
            alert: "TaintwardEvictionsRefused",
            fires: vec![(effects("delete", "rejected"), "0+1x120")],
            sanitized: vec![
                (effects("delete", "done"), "0+1x120"),
                (effects("delete", "conflict"), "0+1x120"),
                (effects("taint", "rejected"), "0+1x120"),
                (effects("evict_trespasser", "throttled"), "7x120"),
            ],
        },
        limit(
            "TaintwardInvariantViolated",
            &counter(names::INVARIANT_VIOLATIONS, "property=\"S3\""),
            "0+1x120",
            "1x120",
        ),
    ]
}

fn leadership() -> Vec<AlertCase> {
    let signs = |sign: &str| counter(names::OTHER_CONTROLLER_SEEN, &format!("sign=\"{sign}\""));
    vec![
        AlertCase {
            alert: "TaintwardControllerAbsent",
            fires: vec![(about(A, MODE), "1x120")],
            sanitized: vec![(about(A, "observe"), "1x120")],
        },
        AlertCase {
            alert: "TaintwardNoLeader",
            fires: vec![
                (about(A, "enforce"), "1x120"),
                (about(B, "enforce"), "1x120"),
                (leads(A), "0x120"),
                (leads(B), "0x120"),
            ],
            sanitized: vec![
                (about(A, "enforce"), "1x120"),
                (about(B, "enforce"), "1x120"),
                (leads(A), "0x120"),
                (leads(B), "1x120"),
            ],
        },
        AlertCase {
            alert: "TaintwardTwoLeaders",
            fires: vec![
                (about(A, "enforce"), "1x120"),
                (about(B, "enforce"), "1x120"),
                (leads(A), "1x120"),
                // Without election.
                (of(B, names::LEADER_ELECTION_MASTER_STATUS, ""), "1x120"),
            ],
            // The second belongs to another component.
            sanitized: vec![(about(A, "enforce"), "1x120"), (leads(A), "1x120"), (leads(B), "1x120")],
        },
        AlertCase {
            alert: "TaintwardOtherEvictor",
            fires: vec![(signs("condition"), "0+1x120")],
            sanitized: vec![(signs("condition"), "3x120"), (signs("deletion"), "0x120")],
        },
    ]
}

fn nodes_and_connection() -> Vec<AlertCase> {
    let age = of(A, &format!("{}_seconds", names::WATCH_LAST_ACTIVE_AGE), "resource=\"nodes\"");
    let phase = |phase: &str| of(A, names::WATCH_PHASE, &format!("resource=\"nodes\",phase=\"{phase}\""));
    vec![
        limit("TaintwardNodesNotTainted", &gauge(names::NODES_WAITING_FOR_TAINT), "1x120", "0x120"),
        limit("TaintwardObservationInDoubt", &gauge(names::OBSERVATION_IN_DOUBT), "1x120", "0x120"),
        limit("TaintwardEverythingDown", &gauge(names::EVERYTHING_DOWN), "1x120", "0x120"),
        limit("TaintwardOutOfServiceStale", &gauge(names::READY_OUT_OF_SERVICE_NODES), "1x120", "0x120"),
        AlertCase {
            alert: "TaintwardWatchStale",
            fires: vec![(age.clone(), "181x120"), (phase("watching"), "1x120")],
            // A stream that was never opened.
            sanitized: vec![(age, "181x120"), (phase("connecting"), "1x120"), (phase("watching"), "0x120")],
        },
        AlertCase {
            alert: "TaintwardClockOffset",
            fires: vec![
                (seconds(names::CLOCK_OFFSET), "-7x120"),
                (seconds(names::CLOCK_UNCERTAINTY), "1x120"),
            ],
            sanitized: vec![
                (seconds(names::CLOCK_OFFSET), "-7x120"),
                (seconds(names::CLOCK_UNCERTAINTY), "2x120"),
            ],
        },
    ]
}

fn webhook_responses() -> Vec<AlertCase> {
    let reviews =
        |outcome: &str| counter(webhook::WEBHOOK_REVIEWS, &format!("path=\"mutate\",outcome=\"{outcome}\""));
    let rules = |rule: &str, effect: &str| {
        counter(webhook::WEBHOOK_RULES, &format!("rule=\"{rule}\",did=\"{effect}\""))
    };
    let certificate = seconds(webhook::WEBHOOK_CERTIFICATE_EXPIRATION_TIMESTAMP);
    vec![
        AlertCase {
            alert: "TaintwardWebhookAbsent",
            fires: vec![(about(A, "enforce"), "1x120")],
            sanitized: vec![(about(A, MODE), "1x120")],
        },
        AlertCase {
            alert: "TaintwardWebhookFailsOpen",
            fires: vec![(reviews("unjudged"), "0+1x120")],
            sanitized: vec![(reviews("denied"), "0+1x120"), (reviews("panicked"), "1x120")],
        },
        AlertCase {
            alert: "TaintwardBrakeRefuses",
            fires: vec![(rules("brake", "denied"), "0+1x120")],
            sanitized: vec![
                (rules("brake", "exempted"), "0+1x120"),
                (rules("dedicated-pools", "denied"), "0+1x120"),
            ],
        },
        // The rule compares the end with the time of each evaluation, at most half an hour after the first scrape.
        limit("TaintwardCertificateEnds", &certificate, "604799x120", "606600x120"),
    ]
}

fn managed_clusters() -> Vec<AlertCase> {
    vec![
        limit("TaintwardPodsHeld", &gauge(names::HOLD_PODS), "1x120", "0x120"),
        AlertCase {
            alert: "TaintwardGuardCeilingNear",
            fires: vec![
                (seconds(names::OLDEST_DUE_POD), "301x120"),
                (gauge(names::GUARD_PODS_GUARDED), "1x120"),
            ],
            sanitized: vec![
                (seconds(names::OLDEST_DUE_POD), "301x120"),
                (gauge(names::GUARD_PODS_GUARDED), "0x120"),
            ],
        },
        limit("TaintwardGuardPending", &gauge(names::GUARD_PODS_PENDING), "1x120", "0x120"),
        limit("TaintwardPoolNotGuarded", &gauge(names::POOLS_UNGUARDED), "1x120", "0x120"),
    ]
}
