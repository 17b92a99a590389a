//! Answers the admission reviews that an API server sends to the webhook.
//!
//! The crate has a TLS server, the certificates that it serves, and a decoder for AdmissionReviews of
//! `admission.k8s.io/v1`. A [`Reviewer`](review::Reviewer) decides; [`rules::RuleReviewer`] is the implementation that
//! uses the core. Watches, requests to the API server and flags are in other crates.
//!
//! - Invariant: a malformed review gets a clear error; a rule that panics rejects nothing (fail open); memory, time and
//!   connections are bounded for any client.

#![forbid(unsafe_code)]

pub mod certificate;
pub mod metrics;
mod open_error;
pub mod review;
pub mod rules;
pub mod server;
pub mod settings;
