//! Serves Kubernetes clients from memory as kube-apiserver would: for tests of controllers, and for demonstrations.
//!
//! It needs no etcd, no processes and no network; its clock runs at any speed, and the same seed gives the same names
//! and UIDs.
//!
//! ```text
//!  kube::Client ───────────────────┐
//!                                  ▼
//!  kubectl ─ TLS, token ─ serve ─▶ http ─▶ api: each write one transaction ─▶ store: objects, history,
//!                                   ▲       │                                 │      one resourceVersion
//!                                   │       ├─ defaults, validation           │
//!                                   │       ├─ patches, managedFields         │
//!                                   │       └─ AdmissionPlugin (yours)        │
//!                                   └──────────────── watches ◀───────────────┘
//! ```
//!
//! An [`ApiServer`](api::ApiServer) is a [`tower::Service`], so that a `kube::Client` talks to it in the same process:
//!
//! ```
//! use fakekube::api::{ApiServer, ApiServerSettings};
//! use futures::{StreamExt as _, TryStreamExt as _};
//! use k8s_openapi::api::core::v1::Node;
//! use kube::api::{Patch, PatchParams, PostParams, WatchEvent, WatchParams};
//! use kube::{Api, Client};
//! use serde_json::json;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = ApiServer::new(ApiServerSettings::default());
//! server.bootstrap();
//! let nodes: Api<Node> = Api::all(Client::new(server, "default"));
//!
//! let node = serde_json::from_value(json!({"metadata": {"name": "n1"}}))?;
//! let created = nodes.create(&PostParams::default(), &node).await?;
//! let version = created.metadata.resource_version.unwrap_or_default();
//!
//! let taints = json!({"spec": {"taints": [{"key": "maintenance", "effect": "NoExecute"}]}});
//! nodes.patch("n1", &PatchParams::default(), &Patch::Merge(taints)).await?;
//!
//! let mut events = nodes.watch(&WatchParams::default(), &version).await?.boxed();
//! let Some(WatchEvent::Modified(node)) = events.try_next().await? else { panic!("no change") };
//! assert_eq!(node.spec.and_then(|spec| spec.taints).map(|taints| taints[0].key.clone()).as_deref(), Some("maintenance"));
//! # Ok(())
//! # }
//! ```
//!
//! What there is:
//!
//! - JSON and protobuf, Table output, discovery and OpenAPI v3, chunked lists, watches with bookmarks: kubectl,
//!   kube-scheduler and kube-controller-manager work with it. [`serve`] opens a socket for them and writes a
//!   kubeconfig.
//! - JSON, merge and strategic merge patches, server-side apply with `managedFields`, dry runs, preconditions,
//!   finalizers, graceful deletion, evictions that respect PodDisruptionBudgets.
//! - Custom kinds, from their definitions ([`custom`]).
//! - Your own admission rules: an [`AdmissionPlugin`](api::AdmissionPlugin).
//! - Requests and watches that fail, by seed: a layer around the server ([`fault`]).
//! - Time that stops, jumps or runs fast ([`clock`]); under `tokio::time::pause` all of it is virtual.
//! - All objects as they were in another cluster ([`ApiServer::restore`](api::ApiServer::restore), [`object_file`]).
//!
//! Not included are the components of a cluster: no kubelet, scheduler or controller runs, and no garbage is collected.
//! Webhooks, policies and definitions that clients create are stored but not acted on. Every account may do everything.

mod age;
pub mod api;
pub mod api_status;
mod bootstrap;
pub mod canonicalize;
pub mod clock;
pub mod custom;
pub mod defaults;
pub mod fault;
pub mod field_error;
pub mod http;
pub mod id_generator;
pub mod json_ext;
mod name_format;
pub mod object_file;
pub mod patch;
pub mod protobuf;
mod quantity;
pub mod resource;
pub mod schema;
pub mod select;
pub mod serve;
pub mod store;
pub mod table_columns;
pub mod token;
pub mod validate;
