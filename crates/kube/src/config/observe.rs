//! Observes every request of a client: count, duration and the server's date.
//!
//! - Invariant: requests and responses pass unchanged, and each request is reported once, also if it is dropped.

use super::Connected;
use crate::api_time::http_date;
use crate::clock::{Clock, IgnoredDate};
use http::header::{AGE, DATE};
use http::{HeaderMap, Method, Request, StatusCode};
use kube::Client;
use kube::client::Body;
use std::sync::Arc;
use taintward_core::time::{Mono, Span, Wall};

/// Receives reports on requests.
pub trait RequestObserver: Send + Sync {
    /// The head of the response arrived, `took` after the request was sent. Without a status the request was aborted,
    /// could not be sent, or the connection broke.
    fn on_response(&self, method: &str, status: Option<u16>, took: Span);

    /// A response had no usable date.
    fn date_ignored(&self, why: IgnoredDate);
}

/// Ignores all reports.
impl RequestObserver for () {
    fn on_response(&self, _: &str, _: Option<u16>, _: Span) {}
    fn date_ignored(&self, _: IgnoredDate) {}
}

impl Connected {
    /// The same clients, observed: `observer` receives a report on every request, and `clock` the server's dates, if it
    /// follows these.
    #[must_use]
    pub fn observed(self, clock: &Clock, observer: &Arc<dyn RequestObserver>) -> Self {
        let watched = |client: Client| observed(client, clock.clone(), Arc::clone(observer));
        Self {
            client: watched(self.client),
            streams: watched(self.streams),
            heartbeats: watched(self.heartbeats),
            lease: watched(self.lease),
            ..self
        }
    }
}

fn observed(client: Client, clock: Clock, observer: Arc<dyn RequestObserver>) -> Client {
    let namespace = client.default_namespace().to_owned();
    let service = tower::service_fn(move |request: Request<Body>| {
        let (client, method) = (client.clone(), request.method().clone());
        let mut exchange = ObservedRequest {
            sent: clock.own().0,
            clock: clock.clone(),
            observer: Arc::clone(&observer),
            method,
            status: None,
        };
        async move {
            let response = client.send(request).await?;
            exchange.status = Some(response.status());
            if let Err(why) = exchange.date(response.headers()) {
                exchange.observer.date_ignored(why);
            }
            Ok::<_, kube::Error>(response)
        }
    });
    Client::new(service, namespace)
}

/// A request in flight; reported when it is dropped, for whatever reason.
struct ObservedRequest {
    clock: Clock,
    observer: Arc<dyn RequestObserver>,
    method: Method,
    sent: Mono,
    status: Option<StatusCode>,
}

impl ObservedRequest {
    fn date(&self, headers: &HeaderMap) -> Result<(), IgnoredDate> {
        self.clock.observe_date(date(headers)?, self.sent)
    }
}

/// The server's time of the response: a whole second, which was not over yet.
pub(crate) fn date(headers: &HeaderMap) -> Result<Wall, IgnoredDate> {
    if headers.contains_key(AGE) {
        return Err(IgnoredDate::Cached);
    }
    let mut dates = headers.get_all(DATE).iter();
    match (dates.next(), dates.next()) {
        (None, _) => Err(IgnoredDate::Missing),
        (Some(date), None) => date.to_str().ok().and_then(http_date).ok_or(IgnoredDate::Unreadable),
        _ => Err(IgnoredDate::Unreadable),
    }
}

impl Drop for ObservedRequest {
    fn drop(&mut self) {
        let status = self.status.map(|status| status.as_u16());
        self.observer.on_response(self.method.as_str(), status, self.clock.own().0.since(self.sent));
    }
}
