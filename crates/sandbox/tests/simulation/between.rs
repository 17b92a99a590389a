//! # Between: what stands between a controller and the server
//! Room:     an audit of deletions, written where they arrive; controllers whose guards are broken on purpose.
//! Comes in: requests that the faults let through.
//! Goes out: answers; [`Asked`], one for each DELETE.
//! Not here: faults (`taintward_sandbox::fault`), judging (`judge.rs`).

use super::judge::{Asked, Commit};
use super::play::{Twist, pods};
use bytes::Bytes;
use futures::StreamExt as _;
use futures::future::BoxFuture;
use http::{HeaderValue, Method, Request, Response};
use http_body_util::{BodyExt as _, BodyStream, Full, StreamBody};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use taintward_sandbox::api::{Deletion, On, Server, Wish};
use taintward_sandbox::http::AnswerBody;
use taintward_sandbox::resource::known;
use tower::Service as _;

/// How old the lie is that is told of nodes (in seconds), how late their watch is, and a held-back deletion.
const OLD: i64 = 60;
const LAG: Duration = Duration::from_secs(20);
const HELD: Duration = Duration::from_secs(20);

/// One frame of a stream in so many is lost where some are.
const LOST_ONE_IN: usize = 3;

/// The server, as controllers see it.
#[derive(Clone)]
pub(crate) struct Between {
    pub(crate) server: Server,
    pub(crate) twist: Twist,
    /// Who asks, in the lease; `None` where there is no election.
    pub(crate) identity: Option<String>,
    /// Whether what is written is the script's.
    pub(crate) by_hand: Arc<AtomicBool>,
    pub(crate) log: Arc<Mutex<Vec<Commit>>>,
    pub(crate) asked: Arc<Mutex<Vec<Asked>>>,
}

impl tower::Service<Request<kube::client::Body>> for Between {
    type Response = Response<AnswerBody>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<kube::client::Body>) -> Self::Future {
        let between = self.clone();
        let is_watch = request.uri().path() == "/api/v1/nodes"
            && request.uri().query().is_some_and(|query| query.contains("watch="));
        let loses = request.uri().query().is_some_and(|query| query.contains("watch="))
            && matches!(self.twist, Twist::LostEvents | Twist::LostForGood);
        let lags = is_watch && matches!(self.twist, Twist::OldNodes | Twist::LateNodes);
        let is_pod = request.uri().path().contains("/pods/");
        Box::pin(async move {
            match *request.method() {
                _ if loses => between.server.clone().call(request).await.map(lossy),
                _ if lags => between.server.clone().call(request).await.map(late),
                Method::GET if between.twist == Twist::OldNodes => match between.old_node(&request) {
                    Some(answer) => Ok(answer),
                    None => between.server.clone().call(request).await,
                },
                Method::DELETE if is_pod && between.twist == Twist::LateDeletions => {
                    // Nobody's giving up ends it.
                    let late = tokio::spawn(async move {
                        tokio::time::sleep(HELD).await;
                        between.delete(request).await
                    });
                    Ok(late.await.expect("it neither panics nor is aborted"))
                }
                Method::DELETE if is_pod => Ok(between.delete(request).await),
                _ => between.server.clone().call(request).await,
            }
        })
    }
}

/// A watch that is behind.
fn late(answer: Response<AnswerBody>) -> Response<AnswerBody> {
    answer.map(|body| {
        let late = BodyStream::new(body).then(|frame| async {
            tokio::time::sleep(LAG).await;
            frame
        });
        StreamBody::new(late).boxed_unsync()
    })
}

/// A watch that loses something now and then; what it begins with is all there.
fn lossy(answer: Response<AnswerBody>) -> Response<AnswerBody> {
    answer.map(|body| {
        let left = BodyStream::new(body).enumerate().filter_map(|(number, frame)| async move {
            (number == 0 || number % LOST_ONE_IN != 0).then_some(frame)
        });
        StreamBody::new(left).boxed_unsync()
    })
}

impl Between {
    /// Whether who asks holds the lease.
    fn leads(&self) -> Option<bool> {
        let me = self.identity.as_ref()?;
        let lease = self.server.get(known("coordination.k8s.io", "leases"), "kube-system", "taintward");
        Some(lease.is_some_and(|lease| lease["spec"]["holderIdentity"] == me.as_str()))
    }

    /// Somebody deletes the pod, and a successor of its name comes that tolerates everything.
    fn succeed(&self, path: &str) {
        let name = path.rsplit('/').next().unwrap_or_default();
        let Some(mut pod) = self.server.get(pods(), "default", name) else { return };
        pod["metadata"] = json!({"name": name});
        pod["spec"]["tolerations"] = json!([{"operator": "Exists"}]);
        let (on, how) =
            (On::object(pods(), "default", name), Deletion { grace: Some(0), ..Deletion::default() });
        self.by_hand.store(true, Ordering::Relaxed);
        let gone = self.server.delete(&on, &how, &Wish::by("script"));
        self.by_hand.store(false, Ordering::Relaxed);
        if gone.is_ok() {
            pod["status"] = Value::Null;
            let _ = self.server.create(&On::object(pods(), "default", ""), pod, &Wish::by("script"));
        }
    }

    async fn delete(mut self, request: Request<kube::client::Body>) -> Response<AnswerBody> {
        let (head, body) = request.into_parts();
        let mut body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        let taken = self.asked.lock().unwrap().len().is_multiple_of(2);
        if taken && matches!(self.twist, Twist::Successors | Twist::NoPreconditions) {
            self.succeed(head.uri.path());
        }
        let led = self.leads();
        if self.twist == Twist::NoPreconditions {
            body = Bytes::from_static(br#"{"apiVersion":"v1","kind":"DeleteOptions"}"#);
        }
        let options: Value = serde_json::from_slice(&body).unwrap_or_default();
        let (at, path) = (self.server.clock().now(), head.uri.path().to_owned());
        let Ok(answer) = self.server.call(Request::from_parts(head, Full::new(body))).await;
        let uid = options["preconditions"]["uid"].as_str().map(str::to_owned);
        let accepted = answer.status().is_success();
        let graceless = options["gracePeriodSeconds"] == 0;
        self.asked.lock().unwrap().push(Asked { at, path, uid, accepted, graceless, led });
        answer
    }

    /// A node as it was a while ago, told as if it were so now.
    fn old_node(&self, request: &Request<kube::client::Body>) -> Option<Response<AnswerBody>> {
        let name = request.uri().path().strip_prefix("/api/v1/nodes/")?;
        let then = self.server.clock().now() - jiff::SignedDuration::from_secs(OLD);
        let log = self.log.lock().unwrap();
        let old = log.iter().rev().find(|commit| {
            commit.node && !commit.gone && commit.at <= then && commit.object["metadata"]["name"] == name
        })?;
        let mut answer = Response::new(Full::new(Bytes::from(old.object.to_string())).boxed_unsync());
        answer.headers_mut().insert("content-type", HeaderValue::from_static("application/json"));
        Some(answer)
    }
}
