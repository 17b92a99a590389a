//! Decides which pods are evicted from a node, when and why.
//!
//! Facts and the time go in; decisions with reasons come out. The controller, the webhook, `plan`, `explain` and the sandbox
//! all ask this crate, so that an explanation cannot drift from what the controller does. It has no clock, no I/O, no
//! randomness, no logging, no async, no hash-ordered collections and no dependencies, but `serde` behind
//! the feature of that name.
//!
//! ```text
//! facts of nodes and pods ─┐   ┌─ toleration_matching ─ taint_start ─ countdown_hold ─┐
//!                          ├─> │                      verdict                         │ ─> stays, leaves, until when, why
//! time ────────────────────┘   └──────────────────────────────────────────────────────┘
//!        the same facts ─────> engines: eviction, node_lifecycle, dedicated_pools,
//!                              toleration_seconds ───> effects, notices, next wakeup
//!        a cluster_snapshot ─> forecast: what would happen if nodes changed
//!        an admission request > admission: what the webhook changes or rejects
//! ```
//!
//! [`engine::Engine`] is the contract of the engines. This one evicts a pod as soon as its toleration has run out, and not
//! before:
//!
//! ```
//! use taintward_core::engine::{Engine, Lane};
//! use taintward_core::eviction::{EvictionConfig, EvictionEffect, EvictionEngine, EvictionInput};
//! use taintward_core::fact::{BindingTimes, NodeFact, PodFact, PodLifePhase, PodOwnerKind};
//! use taintward_core::identity::{NodeName, PodId, PodName, Uid};
//! use taintward_core::object_event::ObjectEvent;
//! use taintward_core::taint::{Taint, TaintEffect};
//! use taintward_core::time::{Mono, Now, Wall};
//! use taintward_core::toleration::{Toleration, TolerationOperator};
//!
//! let at = |seconds| Now::exact(Mono::from_secs(seconds), Wall::from_secs(1_800_000_000 + seconds));
//! let effect = TaintEffect::NoExecute;
//! let taint = Taint { key: "gpu-failed".into(), value: "".into(), effect: effect.clone(), time_added: None };
//! let toleration = Toleration {
//!     key: "gpu-failed".into(),
//!     operator: TolerationOperator::Exists,
//!     value: "".into(),
//!     effect: Some(effect),
//!     seconds: Some(60),
//! };
//! let node = |taints| NodeFact {
//!     name: NodeName::new("n1"),
//!     uid: Uid::new("node-uid"),
//!     version: None,
//!     created: None,
//!     taints,
//!     taints_changed: None,
//!     ready_out_of_service: false,
//!     labels: None,
//!     allow_no_execute: None,
//!     respect_budgets: None,
//!     holds: None,
//! };
//! let pod = PodFact {
//!     id: PodId::new(Uid::new("pod-uid"), PodName::new("shop", "cart")),
//!     node: NodeName::new("n1"),
//!     version: None,
//!     generation: 1,
//!     tolerations: vec![toleration],
//!     priority: 0,
//!     node_critical: false,
//!     owner: PodOwnerKind::Other,
//!     life_phase: PodLifePhase::Live,
//!     mirror: false,
//!     marked: false,
//!     marked_by_another: false,
//!     arrival: BindingTimes { scheduled: None, started: None, created: None },
//!     ready: None,
//!     template: None,
//!     holds: None,
//!     ignores_holds: false,
//! };
//!
//! let mut engine = EvictionEngine::new(EvictionConfig::default());
//! for input in [
//!     EvictionInput::Nodes(ObjectEvent::ListStarted { silent_since: None }),
//!     EvictionInput::Nodes(ObjectEvent::Applied { fact: node(vec![]), listed: true }),
//!     EvictionInput::Nodes(ObjectEvent::ListCompleted),
//!     EvictionInput::Pods(ObjectEvent::ListStarted { silent_since: None }),
//!     EvictionInput::Pods(ObjectEvent::Applied { fact: pod, listed: true }),
//!     EvictionInput::Pods(ObjectEvent::ListCompleted),
//!     EvictionInput::Nodes(ObjectEvent::Applied { fact: node(vec![taint]), listed: false }),
//! ] {
//!     engine.handle(input, at(0));
//! }
//! assert_eq!(engine.next_wakeup(), Some(Mono::from_secs(60)));
//! engine.tick(Mono::from_secs(59));
//! assert_eq!(engine.next_effect(Lane::Fresh, at(59)), None);
//! engine.tick(Mono::from_secs(60));
//! // First a live read of the node, then the DELETE.
//! let effect = engine.next_effect(Lane::Fresh, at(60));
//! assert_eq!(effect, Some(EvictionEffect::ReadNode { node: NodeName::new("n1") }));
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod admission;
pub mod api_error;
mod backoff;
pub mod cluster_snapshot;
pub mod countdown_hold;
pub mod dedicated_pools;
pub mod engine;
pub mod engine_monitor;
pub mod eviction;
pub mod eviction_monitor;
pub mod eviction_policy;
pub mod fact;
pub mod forecast;
pub mod hash;
pub mod identity;
mod intern;
pub mod label;
pub mod label_requirements;
pub mod lint;
pub mod node_lifecycle;
pub mod node_lifecycle_monitor;
pub mod node_limit;
pub mod object_event;
mod object_store;
pub mod ordered_hold;
pub mod quantity;
pub mod scheduling;
pub mod status_condition;
pub mod taint;
pub mod taint_edit;
pub mod taint_start;
#[cfg(any(test, feature = "testkit"))]
pub mod testkit;
pub mod text;
pub mod time;
pub mod toleration;
pub mod toleration_backfill;
pub mod toleration_guard;
pub mod toleration_hold;
pub mod toleration_matching;
pub mod toleration_seconds;
pub mod toleration_seconds_monitor;
pub mod verdict;
pub mod workload;
