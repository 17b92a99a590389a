//! Compares the responses of the sandbox with those of a real API server.
//!
//! - Run some cases with `cargo test -p taintward-sandbox --test conformance -- watch::`.
//! - `TAINTWARD_CONFORMANCE_RECORDS` names a folder for the compared records, one file for each case and target.

#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]

mod harness;
mod record;
mod runner;
mod target;
mod watching;
mod wire;

mod applying;
mod autoscaling;
mod coming;
mod creating;
mod deleting;
mod discovery;
mod events;
mod evicting;
mod extending;
mod listing;
mod misfits;
mod namespaces;
mod patching;
mod pools;
mod reading;
mod scaling;
mod tainting;
mod tolerating;
mod updating;
mod verbs;
mod watches;

use fakekube::defaults::AdmissionDefaults;
use fakekube::serve::ApiListener;
use runner::{CaseGroup, run};
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use taintward_sandbox::world::{self, World};
use target::ConformanceTarget;
use tokio::runtime::Builder;

/// The sandbox's API server alone, without nodes, scheduler or workload controllers, with the admission plugins of
/// `crates/envtest`'s real server, and a history that begins after version 1. It serves until the process ends.
fn sandbox() -> Option<ConformanceTarget> {
    let (send, reported) = mpsc::channel();
    thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let admission = AdmissionDefaults {
                service_account: false,
                taint_new_nodes: false,
                ..AdmissionDefaults::default()
            };
            let settings = world::WorldSettings {
                nodes: 0,
                roles: Vec::new(),
                admission,
                ..world::WorldSettings::default()
            };
            let world = World::new(&settings);
            world.server().store().compact();
            let listening = ApiListener::open("127.0.0.1:0".parse().unwrap(), false).await.unwrap();
            let token = world.server().token().text().to_owned();
            send.send((listening.url(), token)).unwrap();
            listening.serve(world.server().clone()).await
        })
    });
    let (url, token) = reported.recv().unwrap();
    Some(ConformanceTarget::open("sandbox", &url, &token))
}

/// Known differences of the sandbox, and why they remain.
const KNOWN: [(&str, &str); 3] = [
    ("events::a_series", "the owners of fields of an event in its other form are not forgotten"),
    ("creating::yaml", "text that is not YAML is refused in this YAML reader's words"),
    ("applying::an_apply_in_yaml", "text that is not YAML is refused in this YAML reader's words"),
];

/// Cases whose error messages come from a Go decoder or print a Go struct; the sandbox has its own messages. These
/// messages are not compared; everything else in the responses is.
const OWN_WORDS: [&str; 41] = [
    "coming::a_time_that_is_none",
    "coming::a_version_that_is_none",
    "creating::a_field_of_another_type",
    "creating::another_kind",
    "creating::another_version",
    "creating::malformed_json",
    "creating::no_body",
    "creating::owners_and_finalizers_are_checked",
    "creating::protobuf",
    "deleting::grace_that_is_none",
    "deleting::options_that_are_none",
    "discovery::forms_of_discovery",
    "events::a_lease_that_can_not_be",
    "evicting::a_binding_for_a_uid",
    "evicting::a_budget_is_checked",
    "listing::a_continuation_of_nothing",
    "listing::limits_that_are_none",
    "listing::unknown_parameters",
    "listing::versions_and_matches",
    "misfits::bodies_that_are_something_else",
    "misfits::unknown_fields_of_pools",
    "misfits::metadata_rejected",
    "patching::a_json_patch_that_is_none",
    "patching::a_merge_patch_that_is_none",
    "patching::a_patch_of_the_name",
    "patching::a_patch_that_makes_it_invalid",
    "patching::containers_strategically",
    "patching::strategic_directives",
    "patching::strategic_that_is_none",
    "patching::unknown_fields_in_a_patch",
    "pools::applied",
    "pools::forms",
    "reading::an_unsupported_response_format",
    "reading::a_version_to_read_at",
    "reading::forms_that_are_written",
    "scaling::a_scale_below_zero",
    "tainting::val_8_unique_by_key_and_effect",
    "tainting::val_9_time_added_may_change",
    "updating::an_update_that_is_not_read",
    "updating::another_uid",
    "watches::an_unsupported_response_format",
];

fn main() -> ExitCode {
    // The types for decoding protobuf must be registered before there is a sandbox.
    taintward_sandbox::custom_resources::register();
    let groups: [CaseGroup; 21] = [
        ("autoscaling", autoscaling::CASES),
        ("creating", creating::CASES),
        ("reading", reading::CASES),
        ("listing", listing::CASES),
        ("updating", updating::CASES),
        ("patching", patching::CASES),
        ("applying", applying::CASES),
        ("deleting", deleting::CASES),
        ("watches", watches::CASES),
        ("coming", coming::CASES),
        ("evicting", evicting::CASES),
        ("scaling", scaling::CASES),
        ("namespaces", namespaces::CASES),
        ("tolerating", tolerating::CASES),
        ("tainting", tainting::CASES),
        ("events", events::CASES),
        ("extending", extending::CASES),
        ("discovery", discovery::CASES),
        ("verbs", verbs::CASES),
        ("pools", pools::CASES),
        ("misfits", misfits::CASES),
    ];
    run(&groups, &KNOWN, &OWN_WORDS)
}

/// Cases by name.
macro_rules! cases {
    ($($name:ident),+ $(,)?) => {
        pub(crate) const CASES: &[super::runner::ConformanceCase] = &[$((stringify!($name), $name)),+];
    };
}
use cases;
