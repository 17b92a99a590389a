//! Tests credentials that change, expire or come late, with real files, programs and connections.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

mod credentials {
    mod certificates;
    mod plugins;
    mod proxies;
    mod server;
    mod setting;
    mod tokens;
}
