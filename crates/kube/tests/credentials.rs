//! Credentials that change, end, come late or not at all: a server of our own that believes only some, and real files,
//! programs and connections. What needs no server is in `src/connect/`.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod credentials {
    mod certificates;
    mod plugins;
    mod proxies;
    mod server;
    mod setting;
    mod tokens;
}
