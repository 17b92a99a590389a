//! Shows what the admission webhook answers, how fast, and whether it can be reached.

use super::super::alert::{min, seconds};
use super::super::dashboard::{
    Dashboard, Panel, PanelQuery, PanelRow, PanelUnit, chosen, per_second, per_second_by, processes,
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
            Panel::lines(
                "Answers",
                PanelUnit::PerSecond,
                vec![per_second_by(&["path", "outcome"], names::WEBHOOK_REVIEWS)],
                "Questions of API servers. panicked and unjudged: the object was not judged.",
            ),
            Panel::lines(
                "Duration",
                PanelUnit::Seconds,
                quantiles(&["path"], names::WEBHOOK_REVIEW_DURATION),
                "How long it took to answer a request that had arrived.",
            ),
            Panel::lines(
                "Rules",
                PanelUnit::PerSecond,
                vec![per_second_by(&["rule", "did"], names::WEBHOOK_RULES)],
                "What rules did. unknown: facts were missing, and the rule did nothing.",
            ),
            Panel::lines(
                "Not looked into",
                PanelUnit::PerSecond,
                vec![
                    per_second_by(&["reason"], names::WEBHOOK_REFUSED_REQUESTS),
                    PanelQuery::new("rules that broke down", per_second("", names::WEBHOOK_PANICS)),
                ],
                "Requests that the webhook refused, by reason, and rules that broke down.",
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
                "Certificate ends in",
                PanelUnit::Seconds,
                None,
                min(&format!("{ends} - time()")),
                "The time that is left to the certificate that ends first; below 0: it has ended, or there is none.",
            ),
            Panel::lines(
                "Open connections",
                PanelUnit::Number,
                vec![PanelQuery::new("{{instance}}", chosen(names::WEBHOOK_CONNECTIONS))],
                "Connections that are open, by process.",
            ),
            Panel::lines(
                "Connections accepted and ended",
                PanelUnit::PerSecond,
                vec![
                    PanelQuery::new("accepted", per_second("", names::WEBHOOK_ACCEPTED_CONNECTIONS)),
                    per_second_by(&["reason"], names::WEBHOOK_ENDED_CONNECTIONS),
                ],
                "Connections that were accepted, and those that the webhook ended, by reason.",
            ),
            Panel::lines(
                "Certificates",
                PanelUnit::PerSecond,
                vec![
                    PanelQuery::new("put on show", per_second("", names::WEBHOOK_CERTIFICATE_RELOADS)),
                    PanelQuery::new(
                        "cannot be used",
                        per_second("", names::WEBHOOK_CERTIFICATE_RELOAD_FAILURES),
                    ),
                ],
                "Certificates that were put in service, and reloads that found no usable certificate.",
            ),
        ],
    }
}
