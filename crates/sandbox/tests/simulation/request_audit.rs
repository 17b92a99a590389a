//! Audits deletions between controller and server, and disables safeguards of the controller on purpose.

use super::eviction_checker::RequestedDeletion;
use super::harness::pods;
use super::log::{LogKind, LoggedCommit};
use super::mutation::ControllerMutation;
use super::watch_faults;
use bytes::Bytes;
use fakekube::api::{ApiServer, DeleteOptions, ResourcePath, WriteOptions};
use fakekube::http::ResponseBody;
use fakekube::resource::known;
use futures::StreamExt as _;
use futures::future::BoxFuture;
use http::{HeaderValue, Method, Request, Response};
use http_body_util::{BodyExt as _, BodyStream, Full, StreamBody};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use tower::Service as _;

/// The age of an outdated node (in seconds), the delay of a late watch, and that of a held-back deletion.
const OLD: i64 = 60;
const LAG: Duration = Duration::from_secs(20);
const HELD: Duration = Duration::from_secs(20);

/// Where a stream is lossy, one in this many frames is lost.
const LOST_ONE_IN: usize = 3;

/// The server as controllers see it.
#[derive(Clone)]
pub(crate) struct Between {
    pub(crate) server: ApiServer,
    pub(crate) mutation: ControllerMutation,
    /// The requester's identity in the lease; `None` if there is no election.
    pub(crate) identity: Option<String>,
    /// Whether the script is writing.
    pub(crate) by_hand: Arc<AtomicBool>,
    pub(crate) log: Arc<Mutex<Vec<LoggedCommit>>>,
    pub(crate) requested: Arc<Mutex<Vec<RequestedDeletion>>>,
    /// The number of the requesting controller, and where it is noted while its request is carried out.
    pub(crate) which: usize,
    pub(crate) writer: Arc<AtomicUsize>,
}

impl tower::Service<Request<kube::client::Body>> for Between {
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<kube::client::Body>) -> Self::Future {
        let (request_audit, writer, me) = (self.clone(), Arc::clone(&self.writer), self.which + 1);
        let undated = self.mutation == ControllerMutation::NoDates;
        let mut answering = Box::pin(async move {
            let mut response = request_audit.response(request).await?;
            if undated {
                response.headers_mut().remove(http::header::DATE);
            }
            Ok(response)
        });
        Box::pin(std::future::poll_fn(move |context| {
            writer.store(me, Ordering::Relaxed);
            let polled = answering.as_mut().poll(context);
            writer.store(0, Ordering::Relaxed);
            polled
        }))
    }
}

/// Delays a watch.
fn late(response: Response<ResponseBody>) -> Response<ResponseBody> {
    response.map(|body| {
        let late = BodyStream::new(body).then(|frame| async {
            tokio::time::sleep(LAG).await;
            frame
        });
        StreamBody::new(late).boxed_unsync()
    })
}

/// Loses some frames of a watch; its initial events are complete.
fn lossy(response: Response<ResponseBody>) -> Response<ResponseBody> {
    response.map(|body| {
        let left = BodyStream::new(body).enumerate().filter_map(|(number, frame)| async move {
            (number == 0 || number % LOST_ONE_IN != 0).then_some(frame)
        });
        StreamBody::new(left).boxed_unsync()
    })
}

impl Between {
    async fn response(
        self,
        request: Request<kube::client::Body>,
    ) -> Result<Response<ResponseBody>, Infallible> {
        let (path, query) = (request.uri().path(), request.uri().query().unwrap_or_default());
        let is_watch = query.contains("watch=");
        let of_nodes = is_watch && path == "/api/v1/nodes";
        let loses = is_watch
            && matches!(self.mutation, ControllerMutation::LostEvents | ControllerMutation::LostForGood);
        let lags =
            of_nodes && matches!(self.mutation, ControllerMutation::OldNodes | ControllerMutation::LateNodes);
        let deaf = is_watch
            && path.contains("/kube-node-lease/")
            && matches!(self.mutation, ControllerMutation::LostLeases | ControllerMutation::OldLeases);
        let is_pod = path.contains("/pods/");
        let mut server = self.server.clone();
        match *request.method() {
            _ if loses => server.call(request).await.map(lossy),
            _ if lags => server.call(request).await.map(late),
            _ if deaf => {
                let clock = server.clock().clone();
                server.call(request).await.map(|response| watch_faults::deaf(response, clock))
            }
            Method::GET => match self.old(&request) {
                Some(response) => Ok(response),
                None => {
                    let node = watch_faults::node_of(&request);
                    let response = server.call(request).await;
                    node.into_iter().for_each(|node| self.meddle(&node));
                    response
                }
            },
            Method::DELETE if is_pod && self.mutation == ControllerMutation::LateDeletions => {
                // It continues even if the client gives up.
                let late = tokio::spawn(async move {
                    tokio::time::sleep(HELD).await;
                    self.delete(request).await
                });
                Ok(late.await.expect("it neither panics nor is aborted"))
            }
            Method::DELETE if is_pod => Ok(self.delete(request).await),
            Method::POST if is_pod && path.ends_with("/eviction") => Ok(self.delete(request).await),
            Method::PATCH if self.mutation == ControllerMutation::NoTests => {
                server.call(watch_faults::without_tests(request).await).await
            }
            _ => server.call(request).await,
        }
    }

    /// Whether the requester holds the lease.
    fn leads(&self) -> Option<bool> {
        let me = self.identity.as_ref()?;
        let lease = self.server.get(known("coordination.k8s.io", "leases"), "kube-system", "taintward");
        Some(lease.is_some_and(|lease| lease["spec"]["holderIdentity"] == me.as_str()))
    }

    /// Deletes the pod and creates a successor of the same name that tolerates everything.
    fn succeed(&self, path: &str) {
        let name = path.rsplit('/').next().unwrap_or_default();
        let Some(mut pod) = self.server.get(pods(), "default", name) else { return };
        pod["metadata"] = json!({"name": name});
        pod["spec"]["tolerations"] = json!([{"operator": "Exists"}]);
        let (on, how) = (
            ResourcePath::object(pods(), "default", name),
            DeleteOptions { grace: Some(0), ..DeleteOptions::default() },
        );
        self.by_hand.store(true, Ordering::Relaxed);
        let gone = self.server.delete(&on, &how, &WriteOptions::by("script"));
        self.by_hand.store(false, Ordering::Relaxed);
        if gone.is_ok() {
            pod["status"] = Value::Null;
            let _ = self.server.create(
                &ResourcePath::object(pods(), "default", ""),
                pod,
                &WriteOptions::by("script"),
            );
        }
    }

    async fn delete(mut self, request: Request<kube::client::Body>) -> Response<ResponseBody> {
        let (head, body) = request.into_parts();
        let mut body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        let taken = self.requested.lock().unwrap().len().is_multiple_of(2);
        if taken
            && matches!(self.mutation, ControllerMutation::Successors | ControllerMutation::NoPreconditions)
        {
            self.succeed(head.uri.path());
        }
        let led = self.leads();
        if self.mutation == ControllerMutation::NoPreconditions {
            body = Bytes::from_static(br#"{"apiVersion":"v1","kind":"DeleteOptions"}"#);
        }
        let body_sent: Value = serde_json::from_slice(&body).unwrap_or_default();
        // An Eviction contains them.
        let options = body_sent.get("deleteOptions").unwrap_or(&body_sent);
        let (at, path) = (self.server.clock().now(), head.uri.path().to_owned());
        let Ok(response) = self.server.call(Request::from_parts(head, Full::new(body))).await;
        let uid = options["preconditions"]["uid"].as_str().map(str::to_owned);
        let accepted = response.status().is_success();
        let graceless = options["gracePeriodSeconds"] == 0;
        self.requested.lock().unwrap().push(RequestedDeletion { at, path, uid, accepted, graceless, led });
        response
    }

    /// A node, or a lease, as it was a while ago, returned as if it were the present state.
    fn old(&self, request: &Request<kube::client::Body>) -> Option<Response<ResponseBody>> {
        let path = request.uri().path();
        let (kind, name) = match self.mutation {
            ControllerMutation::OldNodes => (LogKind::Node, path.strip_prefix("/api/v1/nodes/")?),
            ControllerMutation::OldLeases => {
                (LogKind::Lease, path.rsplit_once("/kube-node-lease/leases/")?.1)
            }
            _ => return None,
        };
        let then = self.server.clock().now() - jiff::SignedDuration::from_secs(OLD);
        let log = self.log.lock().unwrap();
        let old = log.iter().rev().find(|commit| {
            commit.kind == kind
                && !commit.gone
                && commit.at <= then
                && commit.object["metadata"]["name"] == name
        })?;
        let mut response = Response::new(Full::new(Bytes::from(old.object.to_string())).boxed_unsync());
        response.headers_mut().insert("content-type", HeaderValue::from_static("application/json"));
        Some(response)
    }
}
