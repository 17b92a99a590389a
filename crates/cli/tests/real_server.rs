//! The built program against a real API server: what is visible from outside, with the audit log as the witness.
//!
//! Run one scenario: `cargo test -p taintward --test real_server -- NAME`.
#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]

use real::runner::{Group, Play, run};
use std::process::ExitCode;
use taintward_cluster::Options;

mod real {
    pub(crate) mod countdown;
    pub(crate) mod identity;
    pub(crate) mod program;
    pub(crate) mod runner;
    pub(crate) mod stage;
    pub(crate) mod who;
    pub(crate) mod witness;
}

/// Scenarios by name.
macro_rules! scenarios {
    ($($room:ident::$name:ident),+ $(,)?) => {
        vec![$((stringify!($name), |on| Box::pin(real::$room::$name(on)))),+]
    };
}

fn main() -> ExitCode {
    run(vec![evictions()])
}

/// Scenarios on nodes of their own, watching one taintward with default flags.
fn evictions() -> Group {
    Group {
        name: "evictions",
        // The server must accept Lt and Gt, so that they can be seen to match nothing.
        options: Options {
            feature_gates: "TaintTolerationComparisonOperators=true".into(),
            ..Options::default()
        },
        play: Play::Beside(scenarios![
            who::an_untolerated_pod_is_marked_deleted_and_told_of,
            who::other_effects_send_nobody_away,
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
            identity::who_cannot_leave_is_left_alone,
            identity::a_deleted_node_takes_its_countdowns_along,
            identity::who_comes_later_has_its_whole_time,
        ]),
    }
}
