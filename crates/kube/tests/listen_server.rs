//! Tests the list and watch loop against a scripted server, in virtual time.

#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]

mod listen_server {
    mod behaviour;
    mod beside;
    mod fake;
    mod interleaved;
    mod leases;
    mod lists;
    mod objects;
    mod outages;
    mod quiet;
    mod relists;
    mod restored;
    mod troubles;
    mod watches;
}
