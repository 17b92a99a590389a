//! What an API server answers: the same cases are asked of a real one and of the sandbox, and must be answered the same.
//!
//! Run some: `cargo test -p taintward-sandbox --test conformance -- watch::`. With `TAINTWARD_CONFORMANCE_RECORDS`
//! naming a folder, what was compared is written there, one file for each case and target.
#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]

mod play;
mod record;
mod runner;
mod target;
mod watching;
mod wire;

mod applying;
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
mod services;
mod tainting;
mod tolerating;
mod updating;
mod verbs;
mod watches;

use runner::{Group, run};
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use taintward_sandbox::defaults::Admission;
use taintward_sandbox::serve::Listening;
use taintward_sandbox::world::{self, World};
use target::Target;
use tokio::runtime::Builder;

/// The sandbox's server alone, without nodes, scheduler or workload controllers, with the admission plugins of
/// `crates/envtest`'s real server, and a history that begins after version 1. It serves until the process ends.
fn sandbox() -> Option<Target> {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let admission =
                Admission { service_account: false, taint_new_nodes: false, ..Admission::default() };
            let settings =
                world::Settings { nodes: 0, roles: Vec::new(), admission, ..world::Settings::default() };
            let world = World::new(&settings);
            world.server().store().compact();
            let listening = Listening::open("127.0.0.1:0".parse().unwrap(), false).await.unwrap();
            let token = world.server().token().text().to_owned();
            tell.send((listening.url(), token)).unwrap();
            listening.serve(world.server().clone()).await
        })
    });
    let (url, token) = told.recv().unwrap();
    Some(Target::open("sandbox", &url, &token))
}

/// What the sandbox is known to answer otherwise, and why that stays.
const KNOWN: [(&str, &str); 5] = [
    (
        "creating::no_content_type",
        "a body without a type is what a web page can send unasked; no client of Kubernetes leaves the type out",
    ),
    (
        "verbs::a_review_without_a_question",
        "the refusal of a review that has a name prints all its metadata, with who manages which field; nobody manages \
         fields of what is not kept",
    ),
    ("events::a_series", "who owned fields of an event in its other form is not forgotten"),
    ("creating::yaml", "text that is no YAML is refused in this YAML reader's words"),
    ("applying::an_apply_in_yaml", "text that is no YAML is refused in this YAML reader's words"),
];

fn main() -> ExitCode {
    let groups: [Group; 21] = [
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
        ("services", services::CASES),
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
    run(&groups, &KNOWN)
}

/// Cases by name.
macro_rules! cases {
    ($($name:ident),+ $(,)?) => {
        pub(crate) const CASES: &[super::runner::Case] = &[$((stringify!($name), $name)),+];
    };
}
use cases;
