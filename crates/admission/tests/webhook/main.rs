//! Tests reviews, rules, patches and the rotation of certificates, without a server.

#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]

mod malformed_reviews;
mod patches;
mod rotation;
mod rotation_years;
mod rules;
