//! Tests the program on a real control plane.

#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]

#[allow(dead_code, reason = "each test program uses some of it")]
#[path = "../admission"]
mod admission {
    pub(crate) mod account;
    pub(crate) mod api_servers;
    pub(crate) mod client;
    pub(crate) mod differences;
    pub(crate) mod hook;
    pub(crate) mod load;
    pub(crate) mod pods;
    pub(crate) mod register;
    pub(crate) mod review_server;
}
#[allow(dead_code, reason = "each test program uses some of it")]
#[path = "../cli"]
mod cli {
    pub(crate) mod document;
    pub(crate) mod reluctant;
    pub(crate) mod running;
    pub(crate) mod timeout;
}
#[allow(dead_code, reason = "each test program uses some of it")]
#[path = "../install"]
mod install {
    pub(crate) mod attempts;
    pub(crate) mod cluster;
    pub(crate) mod document;
    pub(crate) mod harness;
    pub(crate) mod objects;
}
#[allow(dead_code, reason = "each test program uses some of it")]
#[path = "../parts"]
mod parts {
    pub(crate) mod check;
    pub(crate) mod installed;
    pub(crate) mod place;
    pub(crate) mod programs;
}
mod pools {
    pub(crate) mod cases;
    pub(crate) mod ends;
    pub(crate) mod evicting;
    pub(crate) mod failures;
    pub(crate) mod harness;
    pub(crate) mod usual;
}
#[allow(dead_code, reason = "each test program uses some of it")]
#[path = "../real"]
mod real {
    pub(crate) mod program;
    pub(crate) mod proxy;
}

mod admission_differential;
mod doctor_real;
mod eviction_brake;
mod eviction_policies;
mod guard_limits;
mod install_bounds;
mod install_real;
mod install_story;
mod metrics_delegated;
mod pool_attacks;
mod pool_guard;
mod pool_handover;
mod pool_property;
mod pool_story;
mod pools_live;
mod pools_real;
mod scale;
mod switch_off;
mod taint;
mod turn;
mod webhook;
