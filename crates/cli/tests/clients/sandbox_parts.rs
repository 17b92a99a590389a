//! Tests the real kube-scheduler and kube-controller-manager on a sandbox without its own, and reads their logs.
//!
//! - `TAINTWARD_PARTS_SECONDS` (60) sets the length, `TAINTWARD_PARTS_LOGS` a folder that keeps the logs.

use std::env;
use std::time::{Duration, Instant};
use taintward_envtest::{Binaries, binaries};

use crate::parts::check::until;
use crate::parts::ledger::Ledger;
use crate::parts::place::Place;
use crate::parts::programs::PartPrograms;
use crate::parts::{logs, work};

/// One after the other: each has a whole control plane to itself.
static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

fn seconds() -> Duration {
    let given = env::var("TAINTWARD_PARTS_SECONDS").ok();
    Duration::from_secs(given.map_or(60, |text| text.parse().unwrap()))
}

/// The binaries, including these; `None` after a message, if they are not available.
fn tools(test: &str, programs: &[&str]) -> Option<Binaries> {
    let tools = binaries::for_test(test)?;
    let why = programs.iter().find_map(|program| tools.path(program).err());
    let Some(why) = why else { return Some(tools) };
    assert!(env::var("CI").as_deref() != Ok("true"), "{test}: {why:#}");
    binaries::skipped(test, &format!("{why:#}"));
    None
}

/// Runs rounds of work until the time is over, at least one, and checks that both programs' logs are as usual.
async fn spend(place: &Place, tools: &Binaries, length: Duration) {
    let ledger = Ledger::open(&place.api).await;
    let mut programs = PartPrograms::start(place, tools);
    let began = Instant::now();
    let mut rounds = 0;
    let mut responses = work::WorkResponses::default();
    while rounds == 0 || began.elapsed() < length {
        work::round(place, rounds, &mut responses).await;
        programs.expect_running();
        rounds += 1;
    }
    until("the last to be gone", async || Ok((ledger.counts().there() == 0).then_some(()))).await;
    let counts = ledger.counts();
    println!(
        "{}: {rounds} rounds in {:.0} s; {responses:?}; {counts:?}",
        place.what,
        began.elapsed().as_secs_f64()
    );
    assert!(counts.by_taint >= rounds, "in each round some pod had to leave: {counts:?}");
    assert_eq!(counts.by_request, responses.granted, "pods with a granted eviction have gone: {counts:?}");
    programs.end();
    let judged = logs::judge(&programs.logs());
    println!("{}", judged.reported);
    assert!(judged.unusual.is_empty(), "not what a real server causes:\n{}", judged.unusual.join("\n"));
}

#[tokio::test]
async fn they_work_on_the_sandbox() {
    let programs = ["kube-scheduler", "kube-controller-manager"];
    let Some(tools) = tools("they_work_on_the_sandbox", &programs) else { return };
    let _turn = TURN.lock().await;
    let place = Place::sandbox().await;
    spend(&place, &tools, seconds()).await;
}

/// The same work where only the kubelets are simulated: the list of usual lines must hold here, too.
#[tokio::test]
async fn they_work_as_well_on_a_real_server() {
    let test = "they_work_as_well_on_a_real_server";
    let programs = ["kube-scheduler", "kube-controller-manager", "kube-apiserver", "etcd"];
    let Some(tools) = tools(test, &programs) else { return };
    if let Err(why) = binaries::KWOK.find() {
        assert!(env::var("CI").as_deref() != Ok("true"), "{test}: {why:#}");
        return binaries::skipped(test, &format!("{why:#}"));
    }
    let _turn = TURN.lock().await;
    let place = Place::real(&tools).await;
    spend(&place, &tools, seconds() / 2).await;
}
