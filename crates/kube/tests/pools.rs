//! Tests decoding and writing of pools, policies and related objects.

#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]

mod pools {
    mod mangled;
    mod node;
    mod policies;
    mod reading;
    mod residents;
    pub(crate) mod sample;
    mod status;
    mod surroundings;
    mod writing;
}
