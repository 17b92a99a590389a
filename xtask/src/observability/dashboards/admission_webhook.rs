//! Shows what the admission webhook answers, how fast, and whether it can be reached.

use super::super::alert::{min, seconds};
use super::super::dashboard::{
    Dashboard, Panel, PanelQuery, PanelRow, PanelUnit, chosen, per_second_by, per_second_named, processes,
    quantiles,
};
use taintward_admission::metrics::{MODE, names};

pub(crate) fn dashboard() -> Dashboard {
    Dashboard {
        uid: "taintward-webhook",
        title: "Webhook",
        description: "What the admission webhook answers, how fast, and whether it can be reached.",
        mode: webhook(),
        rows: vec![reviews(), connections()],
    }
}

fn webhook() -> String {
    format!("=\"{MODE}\"")
}

fn reviews() -> PanelRow {
    PanelRow {
        title: "Reviews",
        panels: vec![
            Panel::rates(
                "Answers",
                vec![per_second_by(&["path", "outcome"], names::WEBHOOK_REVIEWS)],
                "Answers to API servers, by path and outcome. panicked and unjudged: the webhook did not judge the object.",
            ),
            Panel::seconds(
                "Duration",
                quantiles(&["path"], names::WEBHOOK_REVIEW_DURATION),
                "How long the webhook took to answer a request, from its arrival.",
            ),
            Panel::rates(
                "Rules",
                vec![per_second_by(&["rule", "did"], names::WEBHOOK_RULES)],
                "What the rules did. unknown: facts were missing, and the rule did nothing.",
            ),
            Panel::rates(
                "Refused requests",
                vec![
                    per_second_by(&["reason"], names::WEBHOOK_REFUSED_REQUESTS),
                    per_second_named("panics", names::WEBHOOK_PANICS),
                ],
                "Requests that the webhook refused without a review, by reason, and rules that panicked.",
            ),
        ],
    }
}

fn connections() -> PanelRow {
    let ends = chosen(&seconds(names::WEBHOOK_CERTIFICATE_EXPIRATION_TIMESTAMP));
    PanelRow {
        title: "Connections and certificate",
        panels: vec![
            Panel::stat(
                "Replicas",
                PanelUnit::Number,
                None,
                processes(&webhook()),
                "Processes that Prometheus scrapes.",
            ),
            Panel::stat(
                "Certificate expires in",
                PanelUnit::Seconds,
                None,
                min(&format!("{ends} - time()")),
                "The time until the first certificate expires. Below 0, it has expired, or a replica has none.",
            ),
            Panel::numbers(
                "Open connections",
                vec![PanelQuery::new("{{instance}}", chosen(names::WEBHOOK_CONNECTIONS))],
                "Open connections, by process.",
            ),
            Panel::rates(
                "Connections accepted and ended",
                vec![
                    per_second_named("accepted", names::WEBHOOK_ACCEPTED_CONNECTIONS),
                    per_second_by(&["reason"], names::WEBHOOK_ENDED_CONNECTIONS),
                ],
                "Connections that the webhook accepted, and those that it ended, by reason.",
            ),
            Panel::rates(
                "Certificates",
                vec![
                    per_second_named("loaded", names::WEBHOOK_CERTIFICATE_RELOADS),
                    per_second_named("unusable", names::WEBHOOK_CERTIFICATE_RELOAD_FAILURES),
                ],
                "Certificates that the webhook loaded and serves, and reloads that found no usable certificate.",
            ),
        ],
    }
}
