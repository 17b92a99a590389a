//! Tests credentials that change, expire or come late, with real files, programs and connections.

mod certificates;
mod plugins;
mod proxies;
mod server;
mod setting;
mod tokens;
