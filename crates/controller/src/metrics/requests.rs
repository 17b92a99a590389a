//! Counts and times all requests with client-go's metrics.

use super::labels::{Code, DateIgnored, Method, Verb};
use super::names;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;
use taintward_core::time::Span;
use taintward_kube::clock::IgnoredDate;
use taintward_kube::config::RequestObserver;
use taintward_server::metrics::{ByLabel, ClosedLabel as _, MetricsRegistry};

/// The group; all of its series have the server's host as a label.
#[derive(Clone, Debug)]
pub struct RequestMetrics {
    total: ByLabel<(Code, Method), Counter>,
    duration: ByLabel<Verb, Histogram>,
    dates_ignored: ByLabel<DateIgnored, Counter>,
}

impl RequestMetrics {
    pub(super) fn new(registry: &mut MetricsRegistry<'_>) -> Self {
        Self {
            total: registry.counters(
                names::REST_CLIENT_REQUESTS,
                "Requests to the API server, including those of lists, watches and the lease, by status and \
                 method; `<error>`: no response",
            ),
            duration: registry.histograms(
                names::REST_CLIENT_REQUEST_DURATION,
                "How long requests to the API server took until the response headers, or until they were \
                 given up; `verb` is the method",
                buckets,
            ),
            dates_ignored: registry.counters(
                names::DATES_IGNORED,
                "Responses of the API server without a usable time, by reason",
            ),
        }
    }

    /// How many answers said nothing about the server's time.
    pub fn dates_ignored(&self) -> u64 {
        DateIgnored::all().into_iter().map(|why| self.dates_ignored.of(why).get()).sum()
    }
}

impl RequestObserver for RequestMetrics {
    fn on_response(&self, method: &str, status: Option<u16>, took: Span) {
        let method = Method::of(method);
        self.total.of((Code::of(status), method)).inc();
        self.duration.of(Verb(method)).observe(took.as_secs_f64());
    }

    fn date_ignored(&self, why: IgnoredDate) {
        self.dates_ignored.of(why.into()).inc();
    }
}

/// client-go's.
fn buckets() -> Histogram {
    Histogram::new([0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 45.0, 60.0])
}

#[cfg(test)]
mod tests {
    use super::super::{BuildInfo, ControllerMetrics, Exposition};
    use super::*;
    use std::sync::Arc;
    use taintward_core::time::{Mono, Wall};

    #[test]
    fn requests_have_client_gos_names_and_labels_and_no_others() {
        let (version, mode, started) = ("1", "enforce", Wall::from_secs(0));
        let about = BuildInfo { version, mode, lease: String::new(), started, host: "10.0.0.1:6443".into() };
        let metrics = ControllerMetrics::new(Arc::new(|| Mono::from_secs(0)), &about);
        let requests = &metrics.requests;
        let before = metrics.render(Exposition::Prometheus).lines().count();
        for (method, status) in [
            ("GET", Some(200)),
            ("GET", Some(206)),
            ("PATCH", Some(409)),
            ("DELETE", None),
            ("PUT", Some(418)),
            ("POST", Some(599)),
        ] {
            requests.on_response(method, status, Span::from_millis(30));
        }
        requests.date_ignored(IgnoredDate::Cached);
        assert_eq!(requests.dates_ignored(), 1);
        let text = metrics.render(Exposition::Prometheus);
        assert_eq!(text.lines().count(), before, "none comes later");
        for (code, method, count) in [
            ("200", "GET", 2),
            ("409", "PATCH", 1),
            ("<error>", "DELETE", 1),
            ("400", "PUT", 1),
            ("500", "POST", 1),
            ("200", "DELETE", 0),
        ] {
            let labels = format!("host=\"10.0.0.1:6443\",code=\"{code}\",method=\"{method}\"");
            let line = format!("rest_client_requests_total{{{labels}}} {count}\n");
            assert!(text.contains(&line), "{line} in\n{text}");
        }
        let took = "rest_client_request_duration_seconds_count{host=\"10.0.0.1:6443\",verb=\"GET\"} 2\n";
        assert!(text.contains(took), "{text}");
        assert!(text.contains("taintward_dates_ignored_total{host=\"10.0.0.1:6443\",reason=\"cached\"} 1\n"));
    }
}
