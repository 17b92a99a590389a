//! Node health against a real API server: nodes that renew their leases, fall silent and come back, while taintward or
//! the original decides about their taints. The audit log and a watch of the nodes are the witnesses.
//!
//! Run one scenario: `cargo test -p taintward --test lifecycle -- NAME`.
#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]

use real::runner::{Group, Play, run};
use std::process::ExitCode;
use taintward_cluster::Options;

#[allow(dead_code, reason = "shared with real_server.rs, which uses all of it")]
#[path = "../real"]
mod real {
    pub(crate) mod accounts;
    pub(crate) mod program;
    pub(crate) mod proxy;
    pub(crate) mod runner;
    pub(crate) mod stage;
    pub(crate) mod witness;
}

mod compare;
mod differential;
mod documented;
mod fleet;
mod script;
mod side;
mod trail;

/// Scenarios that want a cluster to themselves.
macro_rules! alone {
    ($($room:ident::$name:ident),+ $(,)?) => {
        Play::Alone(vec![$((
            stringify!($name),
            |cluster, witness| Box::pin($room::$name(cluster, witness)),
        )),+])
    };
}

fn main() -> ExitCode {
    run(vec![original()])
}

/// The same script for the original and for taintward.
fn original() -> Group {
    Group {
        name: "original",
        options: Options::default(),
        kwok: false,
        play: alone![differential::differences_are_the_documented_ones],
    }
}
