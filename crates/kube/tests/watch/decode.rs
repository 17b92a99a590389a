//! Tests decoding: both encodings give equal facts, odd values are handled, and no bytes do harm.

mod bytes;
mod differential;
mod edges;
mod health;
mod mangled;
mod sample;
