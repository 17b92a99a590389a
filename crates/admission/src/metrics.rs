//! Defines the metrics of the webhook.

pub mod names;

use crate::review::{Outcome, ReviewPhase, RuleEffect, RuleOutcome};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use std::time::Duration;
use taintward_core::time::Wall;
use taintward_server::closed_label;
use taintward_server::metrics::{
    ByLabel, ClosedLabel, Exposition, MetricsRegistry, MonoClock, ProcessCollector, Registry, Render,
};

/// The mode of a webhook in `taintward_build_info`.
pub const MODE: &str = "webhook";

closed_label! {
    /// Why a request was not reviewed.
    UnreviewedReason, "reason", {
        /// 404: unknown path.
        Path => "path",
        /// 405: wrong method.
        Method => "method",
        /// 415: not JSON, or compressed.
        MediaType => "media_type",
        /// 413: the body is too long.
        TooLarge => "too_large",
        /// 408: the body did not arrive in time.
        TimedOut => "late",
        /// 503: too many bodies were incomplete, and this one was the oldest.
        Crowded => "crowded",
        /// 400: the body was interrupted.
        Broken => "broken",
    }
}

closed_label! {
    /// Why the server closed a connection.
    ConnectionEnd, "reason", {
        /// The TLS handshake failed, or took too long.
        Handshake => "handshake",
        /// There was no request for too long.
        Silent => "mute",
        /// There were too many connections and a new one arrived; this one had been silent for the longest, or its
        /// address had the most.
        Displaced => "displaced",
        /// It arrived when there were too many, its address had the most, and all of those had just arrived.
        UnreviewedReason => "refused",
        /// There is no certificate to serve yet.
        NoCertificate => "no_certificate",
    }
}

/// All metrics of the webhook. Handles inside are shared.
#[derive(Debug)]
pub struct WebhookMetrics {
    reviews: ByLabel<(ReviewPhase, Outcome), Counter>,
    duration: ByLabel<ReviewPhase, Histogram>,
    panics: Counter,
    /// Requests that were not reviewed.
    pub unreviewed: ByLabel<UnreviewedReason, Counter>,
    /// Connections that are open.
    pub connections: Gauge,
    /// Connections that were accepted.
    pub accepted: Counter,
    /// Connections that the server closed.
    pub ended: ByLabel<ConnectionEnd, Counter>,
    certificate_until: Gauge,
    /// Checks that found no usable certificate.
    pub reload_failures: Counter,
    /// Certificates that were loaded.
    pub reloads: Counter,
    rules: Vec<(&'static str, Vec<(RuleEffect, Counter)>)>,
    registry: Registry,
}

impl WebhookMetrics {
    /// All series, at zero, with those of `registry`; `rules` are those that are counted separately.
    pub fn new(
        mut registry: Registry,
        clock: MonoClock,
        version: &'static str,
        started: Wall,
        rules: &[&'static str],
    ) -> Self {
        let mut metrics = MetricsRegistry::new(&mut registry, clock);
        let reviews =
            metrics.counters(names::WEBHOOK_REVIEWS, "AdmissionReviews of API servers, by path and outcome");
        let duration = metrics.histograms(
            names::WEBHOOK_REVIEW_DURATION,
            "How long it took to answer a request that had arrived",
            buckets,
        );
        let panics =
            metrics.counter(names::WEBHOOK_PANICS, "Rules that failed; the objects were admitted unchanged");
        let unreviewed = metrics
            .counters(names::WEBHOOK_UNREVIEWED_REQUESTS, "Requests that were not reviewed, by reason");
        let connections = metrics.gauge(names::WEBHOOK_CONNECTIONS, "Connections that are open");
        let accepted = metrics.counter(names::WEBHOOK_ACCEPTED_CONNECTIONS, "Connections that were accepted");
        let ended = metrics.counters(names::WEBHOOK_ENDED_CONNECTIONS, "Connections that the webhook closed");
        let certificate_until = metrics.seconds(
            names::WEBHOOK_CERTIFICATE_EXPIRATION_TIMESTAMP,
            "When the serving certificate expires, since the Unix epoch; 0 without one",
            Gauge::default(),
        );
        let reload_failures = metrics.counter(
            names::WEBHOOK_CERTIFICATE_RELOAD_FAILURES,
            "Reloads that found no usable certificate; the last good one stays",
        );
        let reloads =
            metrics.counter(names::WEBHOOK_CERTIFICATE_RELOADS, "Certificates that were put in service");
        let all = metrics.family::<Vec<(&'static str, &'static str)>, Counter>(
            names::WEBHOOK_RULES,
            "What rules did; unknown: facts were missing, and the rule did nothing",
        );
        let rules = rules.iter().map(|&rule| (rule, counters_of(&all, rule))).collect();
        metrics.constant(
            names::BUILD_INFO,
            "Always 1; the labels say which version runs in which mode",
            vec![("version", version.into()), ("mode", MODE.into())],
        );
        registry.register_collector(Box::new(ProcessCollector { started }));
        Self {
            reviews,
            duration,
            panics,
            unreviewed,
            connections,
            accepted,
            ended,
            certificate_until,
            reload_failures,
            reloads,
            rules,
            registry,
        }
    }

    /// A review was answered, or rejected as invalid, after `took`.
    pub fn reviewed(&self, phase: ReviewPhase, outcome: Outcome, notes: &[RuleOutcome], took: Duration) {
        self.reviews.of((phase, outcome)).inc();
        self.duration.of(phase).observe(took.as_secs_f64());
        if outcome == Outcome::Panicked {
            self.panics.inc();
        }
        for note in notes {
            let counters =
                self.rules.iter().find(|(rule, _)| *rule == note.rule).map(|(_, counters)| counters);
            if let Some((_, counter)) =
                counters.and_then(|all| all.iter().find(|(effect, _)| *effect == note.effect))
            {
                counter.inc();
            }
        }
    }

    /// Another certificate is served.
    pub fn shown(&self, until: Option<Wall>) {
        self.reloads.inc();
        self.certificate_until.set(until.map_or(0, |until| until.as_micros() / 1_000_000));
    }

    /// The text of `/metrics`.
    pub fn render(&self, exposition: Exposition) -> String {
        exposition.render(&self.registry)
    }
}

impl Render for WebhookMetrics {
    fn render(&self, exposition: Exposition) -> String {
        Self::render(self, exposition)
    }
}

fn counters_of(
    all: &Family<Vec<(&'static str, &'static str)>, Counter>,
    rule: &'static str,
) -> Vec<(RuleEffect, Counter)> {
    let counter =
        |effect: RuleEffect| all.get_or_create_owned(&vec![("rule", rule), ("did", effect.as_str())]);
    RuleEffect::all().into_iter().map(|effect| (effect, counter(effect))).collect()
}

fn buckets() -> Histogram {
    Histogram::new([0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.1, 1.0])
}
