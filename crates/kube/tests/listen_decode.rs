//! Tests decoding: both encodings give equal facts, odd values are handled, and no bytes do harm.

#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]

mod listen_decode {
    mod bytes;
    mod differential;
    mod edges;
    mod health;
    mod mangled;
    mod sample;
}
