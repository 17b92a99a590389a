//! Tests the built program against a real API server, with the audit log as evidence.
//!
//! - Run one scenario with `cargo test -p taintward --test real_server -- NAME`.

#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]

use real::runner::{Group, Play, run};
use std::process::ExitCode;
use taintward_envtest::ClusterConfig;

mod real {
    pub(crate) mod accounts;
    pub(crate) mod beside;
    pub(crate) mod busy;
    pub(crate) mod countdown;
    pub(crate) mod credentials;
    pub(crate) mod faults;
    pub(crate) mod flags;
    pub(crate) mod halves;
    pub(crate) mod identity;
    pub(crate) mod kubelet;
    pub(crate) mod outages;
    pub(crate) mod program;
    #[allow(dead_code, reason = "shared with lifecycle, which cuts connections, too")]
    pub(crate) mod proxy;
    pub(crate) mod relists;
    pub(crate) mod restart;
    pub(crate) mod restored;
    pub(crate) mod runner;
    pub(crate) mod slumber;
    pub(crate) mod stage;
    pub(crate) mod starting;
    pub(crate) mod who;
    pub(crate) mod witness;
}

/// Scenarios by name.
macro_rules! beside {
    ($($room:ident::$name:ident),+ $(,)?) => {
        Play::Beside(vec![$((stringify!($name), |scene| Box::pin(real::$room::$name(scene)))),+])
    };
}

/// The same, for scenarios that need a cluster of their own.
macro_rules! alone {
    ($($room:ident::$name:ident),+ $(,)?) => {
        Play::Alone(vec![$((
            stringify!($name),
            |cluster, witness| Box::pin(real::$room::$name(cluster, witness)),
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
fn evictions() -> Group {
    Group {
        name: "evictions",
        options: numeric(),
        kwok: false,
        play: beside![
            who::an_untolerated_pod_is_marked_deleted_and_reported,
            who::other_effects_evict_no_pod,
            who::seconds_count_from_the_taint_and_saturate,
            who::the_first_matching_toleration_decides,
            who::odd_names_are_names,
            who::a_thousand_taints_are_answered_each,
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
fn processes() -> Group {
    Group {
        name: "processes",
        options: numeric(),
        kwok: false,
        play: alone![
            flags::observe_writes_nothing,
            restart::kill_9_in_mid_countdown_moves_no_deadline,
            restart::sigterm_hands_over,
            restart::a_follower_takes_over_warm,
            slumber::a_resumed_process_reads_before_it_acts,
            slumber::a_leader_that_overslept_follows,
            flags::only_the_selected_pods_get_the_condition,
            flags::numbers_are_compared_with_the_gate_on,
            flags::stamping_without_permission_warns_once,
            flags::a_taint_is_stamped_once,
            busy::busy_pods_are_evicted_anyway,
            beside::upstreams_controller_is_noticed_pod_by_pod,
            beside::upstreams_controller_alongside_taintward_is_noticed,
        ],
    }
}

/// Scenarios in which API servers reject, fall silent, die and come back.
fn servers() -> Group {
    Group {
        name: "servers",
        options: ClusterConfig { servers: 2, ..ClusterConfig::default() },
        kwok: false,
        play: alone![
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
fn outages() -> Group {
    Group {
        name: "outages",
        options: ClusterConfig { servers: 2, ..ClusterConfig::default() },
        kwok: false,
        play: alone![
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
fn lists() -> Group {
    Group {
        name: "lists",
        options: ClusterConfig { feature_gates: "WatchList=false".into(), ..ClusterConfig::default() },
        kwok: false,
        play: alone![relists::evictions_continue_while_everything_is_listed_again],
    }
}

/// Scenarios in which Taintward's credentials expire.
fn identities() -> Group {
    Group {
        name: "identities",
        options: ClusterConfig::default(),
        kwok: false,
        play: alone![
            credentials::an_expired_certificate_that_is_replaced_is_used,
            credentials::a_revoked_token_whose_file_is_replaced_is_used,
            credentials::a_plugin_of_four_seconds_is_waited_for,
        ],
    }
}

/// Scenarios in which etcd fails.
fn stores() -> Group {
    Group {
        name: "stores",
        options: ClusterConfig::default(),
        kwok: false,
        play: alone![
            restored::only_what_the_restored_store_says_counts,
            restored::a_taint_after_a_restore_counts_although_nothing_counted_down,
            halves::a_deletion_cut_in_two_is_brought_to_its_end,
        ],
    }
}

/// Scenarios in which a kubelet removes deleted pods. Building KWOK takes minutes, which every first run would have to
/// wait for: these scenarios run in CI and where KWOK has been built, and otherwise report that they were skipped.
fn kubelets() -> Group {
    Group {
        name: "kubelets",
        options: ClusterConfig::default(),
        kwok: true,
        play: alone![kubelet::evicted_pods_are_ended_and_removed],
    }
}
