//! Records requests between controllers and the server, and lets a test intervene between them.

#![allow(dead_code, reason = "each test binary uses some of it")]

use bytes::Bytes;
use fakekube::api::ApiServer;
use fakekube::http::ResponseBody;
use futures::future::BoxFuture;
use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use jiff::Timestamp;
use serde_json::Value;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

/// A request that reached the server.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) at: Timestamp,
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) body: Value,
    pub(crate) code: u16,
}

/// Whether a request writes.
pub(crate) fn is_write(request: &Request<kube::client::Body>) -> bool {
    *request.method() != Method::GET
}

/// Whether a request concerns the leases of nodes.
pub(crate) fn is_of_leases(request: &Request<kube::client::Body>) -> bool {
    request.uri().path().contains("/kube-node-lease/")
}

/// Two paths to the server: the second for requests of one kind, the first for all others.
#[derive(Clone)]
pub(crate) struct Fork<S> {
    pub(crate) which: fn(&Request<kube::client::Body>) -> bool,
    pub(crate) first: S,
    pub(crate) second: S,
}

impl<S: tower::Service<Request<kube::client::Body>>> tower::Service<Request<kube::client::Body>> for Fork<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<kube::client::Body>) -> S::Future {
        if (self.which)(&request) { self.second.call(request) } else { self.first.call(request) }
    }
}

type Meddling = Box<dyn FnMut(&Sent) + Send>;

/// Acts right after the server has handled a controller's request, before the controller receives the response.
#[derive(Clone, Default)]
pub(crate) struct Meddler(Arc<Mutex<Option<Meddling>>>);

impl Meddler {
    /// Acts after every request from now on.
    pub(crate) fn after_each(&self, what: impl FnMut(&Sent) + Send + 'static) {
        *self.0.lock().unwrap() = Some(Box::new(what));
    }

    /// Acts once, after the first matching request.
    pub(crate) fn once(
        &self,
        which: impl Fn(&Sent) -> bool + Send + 'static,
        what: impl FnOnce() + Send + 'static,
    ) {
        let mut what = Some(what);
        self.after_each(move |sent| {
            if which(sent)
                && let Some(what) = what.take()
            {
                what();
            }
        });
    }

    fn see(&self, sent: &Sent) {
        if let Some(meddle) = self.0.lock().unwrap().as_mut() {
            meddle(sent);
        }
    }
}

/// A server that records its requests.
#[derive(Clone)]
pub(crate) struct Recorder {
    pub(crate) server: ApiServer,
    pub(crate) meddler: Meddler,
    pub(crate) sent: Arc<Mutex<Vec<Sent>>>,
}

impl tower::Service<Request<kube::client::Body>> for Recorder {
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<kube::client::Body>) -> Self::Future {
        let Self { mut server, meddler, sent } = self.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let body: Bytes = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
            let (at, method, path) = (server.clock().now(), head.method.clone(), head.uri.path().to_owned());
            let message = serde_json::from_slice(&body).unwrap_or_default();
            let response = server.call(Request::from_parts(head, Full::new(body))).await;
            let code = response.as_ref().map_or(0, |response| response.status().as_u16());
            let one = Sent { at, method, path, body: message, code };
            meddler.see(&one);
            sent.lock().unwrap().push(one);
            response
        })
    }
}
