//! Serves requests of a real client with a closure, in virtual time.

#![allow(dead_code, reason = "each test program uses a part of it")]

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct SeenRequest {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) accept: String,
    pub(crate) content_type: String,
    pub(crate) body: Value,
}

impl SeenRequest {
    /// How the server handles a request.
    pub(crate) fn line(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

/// What the server does with a request.
pub(crate) enum ClientReply {
    /// Responds, with headers besides the content type.
    Response(u16, Vec<(&'static str, String)>, String),
    /// Responds with 200 after this long silence.
    Silence(Duration),
    /// Responds with 200 and this object, after this long.
    Late(Duration, Value),
    /// Breaks the connection.
    Reset,
}

impl ClientReply {
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::Response(status, vec![], body.to_string())
    }

    /// A metav1.Status.
    pub(crate) fn status(code: u16, reason: &str, message: &str) -> Self {
        Self::json(code, &status(code, reason, message))
    }
}

pub(crate) fn status(code: u16, reason: &str, message: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message,
    })
}

/// The requests that arrived so far.
pub(crate) type RequestLog = Arc<Mutex<Vec<SeenRequest>>>;

/// A client of a server that responds with `serve`, and the list of requests that arrive there.
pub(crate) fn server(
    serve: impl FnMut(&SeenRequest) -> ClientReply + Send + 'static,
) -> (Client, RequestLog) {
    let (log, serve) = (RequestLog::default(), Arc::new(Mutex::new(serve)));
    let arrivals = Arc::clone(&log);
    let service = tower::service_fn(move |request: Request<Body>| {
        let (arrivals, serve) = (Arc::clone(&arrivals), Arc::clone(&serve));
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            let header =
                |name: &str| head.headers.get(name).map_or("", |value| value.to_str().unwrap()).to_owned();
            let seen = SeenRequest {
                method: head.method.clone(),
                path: head.uri.path().to_owned(),
                query: head.uri.query().unwrap_or_default().to_owned(),
                accept: header("accept"),
                content_type: header("content-type"),
                body: serde_json::from_slice(&body).unwrap_or_default(),
            };
            arrivals.lock().unwrap().push(seen.clone());
            let reply = serve.lock().unwrap()(&seen);
            match reply {
                ClientReply::Response(code, headers, body) => {
                    let mut response = Response::builder().status(code);
                    if !headers.iter().any(|(name, _)| *name == "content-type") {
                        response = response.header("content-type", "application/json");
                    }
                    for (name, value) in headers {
                        response = response.header(name, value);
                    }
                    Ok(response.body(Full::new(Bytes::from(body)))?)
                }
                ClientReply::Silence(length) => {
                    tokio::time::sleep(length).await;
                    Ok(Response::new(Full::default()))
                }
                ClientReply::Late(length, object) => {
                    tokio::time::sleep(length).await;
                    let response = Response::builder().header("content-type", "application/json");
                    Ok(response.body(Full::new(Bytes::from(object.to_string())))?)
                }
                ClientReply::Reset => {
                    Err(tower::BoxError::from(std::io::Error::from(std::io::ErrorKind::ConnectionReset)))
                }
            }
        }
    });
    (Client::new(service, "default"), log)
}
