//! Tests the built program against a real API server, with the audit log as evidence.
//!
//! - Run one scenario with `cargo test -p taintward --test real_server -- NAME`.

#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]

use real::runner::{ScenarioGroup, Schedule, run};
use std::process::ExitCode;
use taintward_envtest::ClusterConfig;

mod real {
    pub(crate) mod accounts;
    pub(crate) mod busy;
    pub(crate) mod countdown;
    pub(crate) mod credentials;
    pub(crate) mod faults;
    pub(crate) mod flags;
    pub(crate) mod harness;
    pub(crate) mod identity;
    pub(crate) mod kubelet;
    pub(crate) mod matching;
    pub(crate) mod other_controller;
    pub(crate) mod outages;
    pub(crate) mod partial_deletions;
    pub(crate) mod program;
    #[allow(dead_code, reason = "shared with lifecycle, which cuts connections, too")]
    pub(crate) mod proxy;
    pub(crate) mod relists;
    pub(crate) mod restart;
    pub(crate) mod restored;
    pub(crate) mod runner;
    pub(crate) mod starting;
    pub(crate) mod suspend;
    pub(crate) mod witness;
}

/// Scenarios by name.
macro_rules! concurrent {
    ($($module:ident::$name:ident),+ $(,)?) => {
        Schedule::Concurrent(vec![$((stringify!($name), |harness| Box::pin(real::$module::$name(harness)))),+])
    };
}

/// The same, for scenarios that need a cluster of their own.
macro_rules! sequential {
    ($($module:ident::$name:ident),+ $(,)?) => {
        Schedule::Sequential(vec![$((
            stringify!($name),
            |cluster, witness| Box::pin(real::$module::$name(cluster, witness)),
        )),+])
    };
}

fn main() -> ExitCode {
    run(vec![evictions(), processes(), servers(), outages(), lists(), identities(), stores(), kubelets()])
}

/// The server must accept Lt and Gt, so that tests can observe that they match, or match nothing.
fn numeric() -> ClusterConfig {
    ClusterConfig { comparison_operators: true, ..ClusterConfig::default() }
}

/// Scenarios on nodes of their own, watching one taintward with default flags.
fn evictions() -> ScenarioGroup {
    ScenarioGroup {
        name: "evictions",
        options: numeric(),
        kwok: false,
        schedule: concurrent![
            matching::an_untolerated_pod_is_marked_deleted_and_reported,
            matching::other_effects_evict_no_pod,
            matching::seconds_count_from_the_taint_and_saturate,
            matching::the_first_matching_toleration_decides,
            matching::odd_names_are_names,
            matching::a_thousand_taints_are_answered_each,
            countdown::untainted_in_time_stays,
            countdown::a_toleration_added_in_time_counts_where_it_stands,
            countdown::changed_seconds_change_the_deadline,
            countdown::a_second_taint_moves_the_deadline_and_its_end_moves_it_back,
            countdown::another_value_is_the_same_taint,
            identity::a_successor_gets_its_own_time,
            identity::exempt_pods_are_not_evicted,
            identity::a_deleted_node_takes_its_countdowns_along,
            identity::a_pod_bound_later_has_its_full_time,
            starting::what_waiting_cannot_heal_ends_it_with_one_sentence,
            starting::an_unreachable_server_is_waited_for,
            starting::a_certificate_that_does_not_fit_is_waited_for,
            starting::a_wait_for_the_server_can_be_ended,
            starting::a_missing_permission_is_named_with_its_rule,
        ],
    }
}

/// Scenarios that start, kill and restart taintward.
fn processes() -> ScenarioGroup {
    ScenarioGroup {
        name: "processes",
        options: numeric(),
        kwok: false,
        schedule: sequential![
            flags::observe_writes_nothing,
            restart::kill_9_in_mid_countdown_moves_no_deadline,
            restart::sigterm_hands_over,
            restart::a_follower_takes_over_warm,
            suspend::a_resumed_process_reads_before_it_acts,
            suspend::a_leader_that_overslept_follows,
            flags::only_the_selected_pods_get_the_condition,
            flags::numbers_are_compared_with_the_gate_on,
            flags::stamping_without_permission_warns_once,
            flags::a_taint_is_stamped_once,
            busy::busy_pods_are_evicted_anyway,
            other_controller::upstreams_controller_is_noticed_pod_by_pod,
            other_controller::upstreams_controller_alongside_taintward_is_noticed,
        ],
    }
}

/// Scenarios in which API servers reject, fall silent, die and come back.
fn servers() -> ScenarioGroup {
    ScenarioGroup {
        name: "servers",
        options: ClusterConfig { servers: 2, ..ClusterConfig::default() },
        kwok: false,
        schedule: sequential![
            faults::a_denied_deletion_is_never_forgotten,
            faults::a_restored_permission_is_used,
            faults::a_silent_server_only_delays,
            faults::a_silent_server_cannot_hold_up_the_end,
            faults::what_happened_while_the_server_was_away_counts,
            faults::one_of_two_servers_may_die,
        ],
    }
}

/// Scenarios that measure how soon evictions continue.
fn outages() -> ScenarioGroup {
    ScenarioGroup {
        name: "outages",
        options: ClusterConfig { servers: 2, ..ClusterConfig::default() },
        kwok: false,
        schedule: sequential![
            outages::evictions_continue_when_the_network_heals,
            outages::evictions_continue_by_the_other_server,
            outages::evictions_continue_when_a_server_resumes,
            outages::evictions_continue_when_etcd_resumes,
            outages::evictions_continue_when_etcd_is_killed,
            outages::evictions_continue_when_a_server_is_back,
        ],
    }
}

/// Scenarios on a server without streamed lists.
fn lists() -> ScenarioGroup {
    ScenarioGroup {
        name: "lists",
        options: ClusterConfig { feature_gates: "WatchList=false".into(), ..ClusterConfig::default() },
        kwok: false,
        schedule: sequential![relists::evictions_continue_while_everything_is_listed_again],
    }
}

/// Scenarios in which Taintward's credentials expire.
fn identities() -> ScenarioGroup {
    ScenarioGroup {
        name: "identities",
        options: ClusterConfig::default(),
        kwok: false,
        schedule: sequential![
            credentials::an_expired_certificate_that_is_replaced_is_used,
            credentials::a_revoked_token_whose_file_is_replaced_is_used,
            credentials::a_plugin_of_four_seconds_is_waited_for,
        ],
    }
}

/// Scenarios in which etcd fails.
fn stores() -> ScenarioGroup {
    ScenarioGroup {
        name: "stores",
        options: ClusterConfig::default(),
        kwok: false,
        schedule: sequential![
            restored::only_what_the_restored_store_says_counts,
            restored::a_taint_after_a_restore_counts_although_nothing_counted_down,
            partial_deletions::a_deletion_cut_in_two_is_brought_to_its_end,
        ],
    }
}

/// Scenarios in which a kubelet removes deleted pods. Building KWOK takes minutes, which every first run would have to
/// wait for: these scenarios run in CI and where KWOK has been built, and otherwise report that they were skipped.
fn kubelets() -> ScenarioGroup {
    ScenarioGroup {
        name: "kubelets",
        options: ClusterConfig::default(),
        kwok: true,
        schedule: sequential![kubelet::evicted_pods_are_ended_and_removed],
    }
}
