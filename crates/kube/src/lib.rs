//! Communicates with a Kubernetes API server: watches, single requests, events, leader election.
//!
//! This is the only crate that knows Kubernetes' formats and its protocol. It turns bytes into the facts that
//! `taintward-core` decides by, and the core's effects into requests. It decides nothing about pods.
//!
//! ```text
//!                    ┌─ watch: list and watch ── decode: protobuf, JSON ──> ObjectEvent<fact> ─> control loops
//! kube-apiserver <──>├─ api: ApiClient, one request at a time <──────────── effects
//!                    ├─ leader_election: a Lease ─────────────────────────> Leadership
//!                    └─ config: kubeconfig, credentials, proxies, TLS       clock: time, also the server's
//! ```
//!
//! Every write has the UID it was decided for as a precondition. An example with a test server:
//!
//! ```
//! use http::{Method, Request, Response};
//! use http_body_util::BodyExt as _;
//! use kube::client::Body;
//! use taintward_core::identity::{PodName, ResourceVersion, Uid};
//! use taintward_kube::api::ApiClient;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = tower::service_fn(|request: Request<Body>| async move {
//!     assert_eq!(request.method(), Method::DELETE);
//!     assert_eq!(request.uri().path(), "/api/v1/namespaces/shop/pods/cart");
//!     let body = request.into_body().collect().await?.to_bytes();
//!     let preconditions = r#""preconditions":{"resourceVersion":"7","uid":"pod-uid"}"#;
//!     assert!(String::from_utf8_lossy(&body).contains(preconditions), "{body:?}");
//!     let pod = r#"{"kind":"Pod","metadata":{"name":"cart","namespace":"shop","uid":"pod-uid"}}"#;
//!     let response = Response::builder().header("content-type", "application/json");
//!     Ok::<_, kube::Error>(response.body(Body::from(pod.as_bytes().to_vec())).unwrap())
//! });
//! let api = ApiClient::new(kube::Client::new(server, "default"), "docs");
//! let (pod, uid) = (PodName::new("shop", "cart"), Uid::new("pod-uid"));
//! api.delete(&pod, &uid, Some(ResourceVersion(7)), None).await.map_err(|error| error.message)?;
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

pub mod api;
mod api_time;
pub mod clock;
pub mod config;
pub mod decode;
mod error_text;
pub mod events;
pub mod guard_annotation;
pub mod hold_annotations;
pub mod hold_request;
mod json_patch;
pub mod leader_election;
pub mod lease_holder;
mod list_progress;
pub mod metrics_access;
pub mod node_client;
pub mod object_client;
pub mod pools;
pub mod respect_annotation;
pub mod snapshot;
mod split_mix;
mod status_condition;
pub mod toleration_writer;
pub mod watch;
pub mod webhook_config;
pub mod wire;
