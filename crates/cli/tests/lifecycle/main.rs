//! Tests node lifecycle against a real API server, with Taintward or kube-controller-manager as the controller.
//!
//! The audit log and a watch of the nodes are the evidence. Run one scenario with `cargo test -p taintward --test
//! lifecycle -- NAME`.

#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]

use real::runner::{Group, Play, run};
use std::process::ExitCode;
use taintward_envtest::ClusterConfig;

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

mod beliefs;
mod compare;
mod deaths;
mod differential;
mod documented;
mod doubts;
mod fleet;
mod ours;
mod rejection;
mod reported;
mod roles;
mod script;
mod side;
mod storm;
mod story;
mod trail;

/// Scenarios that need a cluster of their own.
macro_rules! alone {
    ($($room:ident::$name:ident),+ $(,)?) => {
        Play::Alone(vec![$((
            stringify!($name),
            |cluster, witness| Box::pin($room::$name(cluster, witness)),
        )),+])
    };
}

fn main() -> ExitCode {
    run(vec![original(), beliefs(), deaths(), doubts(), others()])
}

/// The same script for kube-controller-manager and for Taintward.
fn original() -> Group {
    Group {
        name: "original",
        options: ClusterConfig::default(),
        kwok: false,
        play: alone![differential::differences_are_the_documented_ones],
    }
}

/// How kube-controller-manager handles interruptions.
fn beliefs() -> Group {
    Group {
        name: "beliefs",
        options: ClusterConfig::default(),
        kwok: false,
        play: alone![beliefs::nodes_that_kube_controller_manager_declares_silent],
    }
}

/// Hundreds of nodes that die and come back.
fn deaths() -> Group {
    Group {
        name: "deaths",
        options: ClusterConfig::default(),
        kwok: false,
        play: alone![deaths::exactly_the_dead_are_tainted, deaths::kill_9_in_every_phase],
    }
}

/// Controllers that observe nothing, or late.
fn doubts() -> Group {
    Group {
        name: "doubts",
        options: ClusterConfig::default(),
        kwok: false,
        play: alone![
            doubts::a_paused_controller_declares_no_node_silent,
            doubts::a_disconnected_controller_declares_no_node_silent,
            doubts::a_paused_server_makes_no_node_silent,
        ],
    }
}

/// What other clients see of it, and concurrent writes.
fn others() -> Group {
    Group {
        name: "others",
        options: ClusterConfig::default(),
        kwok: false,
        play: alone![
            reported::upstreams_words_and_series,
            reported::its_pods_go_when_their_time_is_over,
            roles::a_follower_takes_over,
            roles::observing_writes_nothing,
            storm::no_taint_of_another_client_is_lost_or_resurrected,
        ],
    }
}
