//! # Between: what stands between a controller and the server
//! Room:     an audit of deletions, written where they arrive; controllers whose guards are broken on purpose.
//! Comes in: requests that the faults let through.
//! Goes out: answers; [`Asked`], one for each DELETE.
//! Not here: faults (`taintward_sandbox::fault`), judging (`judge.rs`).

use super::judge::{Asked, Commit};
use super::play::Twist;
use bytes::Bytes;
use futures::StreamExt as _;
use futures::future::BoxFuture;
use http::{HeaderValue, Method, Request, Response};
use http_body_util::{BodyExt as _, BodyStream, Full, StreamBody};
use serde_json::Value;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use taintward_sandbox::api::Server;
use taintward_sandbox::http::AnswerBody;
use tower::Service as _;

/// How old the lie is that is told of nodes (in seconds), how late their watch is, and a held-back deletion.
const OLD: i64 = 60;
const LAG: Duration = Duration::from_secs(20);
const HELD: Duration = Duration::from_secs(20);

/// The server, as controllers see it.
#[derive(Clone)]
pub(crate) struct Between {
    pub(crate) server: Server,
    pub(crate) twist: Twist,
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
        let lags = is_watch && matches!(self.twist, Twist::OldNodes | Twist::LateNodes);
        let is_pod = request.uri().path().contains("/pods/");
        Box::pin(async move {
            match *request.method() {
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

impl Between {
    async fn delete(mut self, request: Request<kube::client::Body>) -> Response<AnswerBody> {
        let (head, body) = request.into_parts();
        let mut body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        if self.twist == Twist::NoPreconditions {
            body = Bytes::from_static(br#"{"apiVersion":"v1","kind":"DeleteOptions"}"#);
        }
        let options: Value = serde_json::from_slice(&body).unwrap_or_default();
        let (at, path) = (self.server.clock().now(), head.uri.path().to_owned());
        let Ok(answer) = self.server.call(Request::from_parts(head, Full::new(body))).await;
        let uid = options["preconditions"]["uid"].as_str().map(str::to_owned);
        let accepted = answer.status().is_success();
        let graceless = options["gracePeriodSeconds"] == 0;
        self.asked.lock().unwrap().push(Asked { at, path, uid, accepted, graceless });
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
