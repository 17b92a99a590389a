//! Tests node lifecycle against a real API server, with Taintward or kube-controller-manager as the controller.
//!
//! The audit log and a watch of the nodes are the evidence. Run one scenario with `cargo test -p taintward --test
//! lifecycle -- NAME`.

#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]

use real::runner::{ScenarioGroup, Schedule, run};
use std::process::ExitCode;
use taintward_envtest::ClusterConfig;

#[allow(dead_code, reason = "shared with real_server.rs, which uses all of it")]
#[path = "../real"]
mod real {
    pub(crate) mod accounts;
    pub(crate) mod harness;
    pub(crate) mod program;
    pub(crate) mod proxy;
    pub(crate) mod runner;
    pub(crate) mod witness;
}

mod compare;
mod deaths;
mod differential;
mod documented;
mod false_silence;
mod fleet;
mod fleet_controller;
mod observation_gaps;
mod rejection;
mod reported;
mod roles;
mod script;
mod side;
mod storm;
mod story;
mod trail;

/// Scenarios that need a cluster of their own.
macro_rules! sequential {
    ($($module:ident::$name:ident),+ $(,)?) => {
        Schedule::Sequential(vec![$((
            stringify!($name),
            |cluster, witness| Box::pin($module::$name(cluster, witness)),
        )),+])
    };
}

fn main() -> ExitCode {
    run(vec![original(), false_silence(), deaths(), observation_gaps(), others()])
}

/// The same script for kube-controller-manager and for Taintward.
fn original() -> ScenarioGroup {
    ScenarioGroup {
        name: "original",
        options: ClusterConfig::default(),
        kwok: false,
        schedule: sequential![differential::differences_are_the_documented_ones],
    }
}

/// How kube-controller-manager handles interruptions.
fn false_silence() -> ScenarioGroup {
    ScenarioGroup {
        name: "beliefs",
        options: ClusterConfig::default(),
        kwok: false,
        schedule: sequential![false_silence::nodes_that_kube_controller_manager_declares_silent],
    }
}

/// Hundreds of nodes that die and come back.
fn deaths() -> ScenarioGroup {
    ScenarioGroup {
        name: "deaths",
        options: ClusterConfig::default(),
        kwok: false,
        schedule: sequential![deaths::exactly_the_dead_are_tainted, deaths::kill_9_in_every_phase],
    }
}

/// Controllers that observe nothing, or late.
fn observation_gaps() -> ScenarioGroup {
    ScenarioGroup {
        name: "doubts",
        options: ClusterConfig::default(),
        kwok: false,
        schedule: sequential![
            observation_gaps::a_paused_controller_declares_no_node_silent,
            observation_gaps::a_disconnected_controller_declares_no_node_silent,
            observation_gaps::a_paused_server_makes_no_node_silent,
        ],
    }
}

/// What other clients see of it, and concurrent writes.
fn others() -> ScenarioGroup {
    ScenarioGroup {
        name: "others",
        options: ClusterConfig::default(),
        kwok: false,
        schedule: sequential![
            reported::upstreams_words_and_series,
            reported::its_pods_go_when_their_time_is_over,
            roles::a_follower_takes_over,
            roles::observing_writes_nothing,
            storm::no_taint_of_another_client_is_lost_or_resurrected,
        ],
    }
}
