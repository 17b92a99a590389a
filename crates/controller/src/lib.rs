//! # taintward-controller: TOUCH
//!
//! The loop around the core: the one place where facts, time and requests meet.
//!
//! Comes in: settings; the request to stop.
//! Goes out: evictions on a cluster; metrics, health, log lines, events.
//! Not here: deciding (taintward-core), the API server's protocol (taintward-client), flags (taintward).
#![forbid(unsafe_code)]

pub mod admin;
mod brain;
mod hands;
pub mod hear;
mod herald;
mod lifecycle;
mod limit;
mod lines;
pub mod logging;
pub mod metrics;
mod news;
mod outbox;
mod pools;
mod readers;
mod right;
pub mod run;
pub mod settings;
pub mod shutdown;
mod split;
mod stamper;
mod streams;
mod tasks;
mod teller;
pub mod webhook;
mod words;
