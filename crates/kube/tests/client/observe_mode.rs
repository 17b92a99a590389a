//! Tests what is observed of requests, and the clock offset from the dates of responses.

use crate::fake::{ClientReply, SeenRequest, server};
use http::Request;
use kube::client::Body;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use taintward_core::time::{Span, Wall};
use taintward_kube::clock::{Clock, IgnoredDate};
use taintward_kube::config::{Connected, RequestObserver};

#[derive(Debug, PartialEq)]
enum ReportedRequest {
    Responded(String, Option<u16>, Span),
    Ignored(IgnoredDate),
}

#[derive(Default)]
struct Notes(Mutex<Vec<ReportedRequest>>);

impl Notes {
    fn take(&self) -> Vec<ReportedRequest> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl RequestObserver for Notes {
    fn on_response(&self, method: &str, status: Option<u16>, took: Span) {
        self.0.lock().unwrap().push(ReportedRequest::Responded(method.to_owned(), status, took));
    }

    fn date_ignored(&self, why: IgnoredDate) {
        self.0.lock().unwrap().push(ReportedRequest::Ignored(why));
    }
}

const NOW: Wall = Wall::from_secs(1_800_000_000);

fn observed(
    serve: impl FnMut(&SeenRequest) -> ClientReply + Send + 'static,
) -> (Connected, Clock, Arc<Notes>) {
    let (client, _) = server(serve);
    let connected = Connected {
        streams: client.clone(),
        heartbeats: client.clone(),
        lease: client.clone(),
        client,
        host: "h".into(),
        where_from: "here".into(),
        default_namespace: "default".into(),
    };
    let (clock, notes) = (Clock::of_runtime(NOW).by_the_server(), Arc::new(Notes::default()));
    let observer: Arc<dyn RequestObserver> = Arc::clone(&notes) as _;
    (connected.observed(&clock, &observer), clock, notes)
}

async fn get(client: &kube::Client) -> Option<u16> {
    let response = client.send(Request::get("/version").body(Body::empty()).unwrap()).await;
    response.ok().map(|response| response.status().as_u16())
}

fn response(headers: &[(&'static str, &str)]) -> ClientReply {
    let headers = headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    ClientReply::Response(200, headers, "{}".into())
}

#[tokio::test(start_paused = true)]
async fn every_request_of_every_client_is_reported_once() {
    let mut replies = vec![
        ClientReply::Reset,
        ClientReply::status(404, "NotFound", "no"),
        ClientReply::Late(Duration::from_millis(70), serde_json::json!({})),
    ];
    let (connected, _, notes) = observed(move |_| replies.pop().unwrap());
    let ignored = || ReportedRequest::Ignored(IgnoredDate::Missing);
    let on_response =
        |status, millis| ReportedRequest::Responded("GET".into(), status, Span::from_millis(millis));
    assert_eq!(get(&connected.streams).await, Some(200));
    assert_eq!(notes.take(), [ignored(), on_response(Some(200), 70)]);
    assert_eq!(get(&connected.heartbeats).await, Some(404));
    assert_eq!(notes.take(), [ignored(), on_response(Some(404), 0)]);
    assert_eq!(get(&connected.lease).await, None);
    assert_eq!(notes.take(), [on_response(None, 0)]);
}

#[tokio::test(start_paused = true)]
async fn an_aborted_request_is_reported_without_a_response() {
    let (connected, _, notes) = observed(|_| ClientReply::Silence(Duration::from_secs(60)));
    tokio::time::timeout(Duration::from_secs(3), get(&connected.client)).await.unwrap_err();
    assert_eq!(notes.take(), [ReportedRequest::Responded("GET".into(), None, Span::from_secs(3))]);
}

/// The headers of a response.
type Headers = Vec<(&'static str, &'static str)>;

/// A server whose clock is ten minutes behind, and which does not send it with every response.
#[tokio::test(start_paused = true)]
async fn the_clock_follows_the_dates_and_nothing_else() {
    const RIGHT: (&str, &str) = ("date", "Fri, 15 Jan 2027 07:50:00 GMT");
    let rows: Vec<(Headers, Option<IgnoredDate>)> = vec![
        (vec![], Some(IgnoredDate::Missing)),
        (vec![("date", "yesterday")], Some(IgnoredDate::Unreadable)),
        (vec![RIGHT, RIGHT], Some(IgnoredDate::Unreadable)),
        (vec![("date", "Mon, 01 Jan 0001 00:00:00 GMT")], Some(IgnoredDate::Unreadable)),
        (vec![("date", "Thu, 01 Jan 1970 00:00:00 GMT")], Some(IgnoredDate::Implausible)),
        (vec![("date", "Fri, 31 Dec 9999 23:59:59 GMT")], Some(IgnoredDate::Implausible)),
        (vec![RIGHT, ("age", "600")], Some(IgnoredDate::Cached)),
        (vec![RIGHT], None),
        (vec![RIGHT], None),
        (vec![RIGHT], None),
        (vec![("date", "Fri, 15 Jan 2027 08:00:00 GMT")], Some(IgnoredDate::Contradicting)),
    ];
    let mut replies: Vec<_> = rows.iter().rev().map(|(headers, _)| response(headers)).collect();
    let (connected, clock, notes) = observed(move |_| replies.pop().unwrap());
    for (number, (headers, expected)) in rows.iter().enumerate() {
        assert_eq!(clock.offset().is_some(), number >= 10, "after three dates, and not before: {number}");
        get(&connected.client).await.unwrap();
        let reported = notes.take();
        let ignored = reported.iter().find_map(|reported| match reported {
            ReportedRequest::Ignored(why) => Some(*why),
            ReportedRequest::Responded(..) => None,
        });
        assert_eq!(ignored, *expected, "{headers:?}");
    }
    let offset = clock.offset().unwrap();
    assert!((offset.ahead_secs_f64() - 600.0).abs() <= 0.51, "{offset:?}");
    assert!(clock.now().skew_max.is_some_and(|skew| skew <= Span::from_millis(1600)));
}
