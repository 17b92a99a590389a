//! Tests the rules on JSON: the response changes an object exactly as the core does.

mod claims;
mod nodes;
mod patched;
mod pods;
mod properties;
mod questions;
mod reviews;
mod unjudged;
