//! The security checklist of the webhook, item by item: what was done and what came of it. It fails if one fails.
//!
//! What needs a kubelet or a network of pods cannot be done here: it is read in what `taintward install` prints.
#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]

#[allow(dead_code, reason = "each test binary uses some of it")]
mod admission {
    pub(crate) mod account;
    pub(crate) mod client;
    pub(crate) mod hook;
    pub(crate) mod pods;
    pub(crate) mod register;
}

mod checklist {
    pub(crate) mod abuse;
    pub(crate) mod corpus;
    pub(crate) mod crowd;
    pub(crate) mod ground;
    pub(crate) mod manifests;
    pub(crate) mod pace;
    pub(crate) mod renewal;
    pub(crate) mod rights;
    pub(crate) mod spiral;
    pub(crate) mod transport;
}

use checklist::ground::{Found, Ground};
use checklist::{abuse, corpus, crowd, manifests, pace, renewal, rights, spiral, transport};
use futures::FutureExt as _;
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use taintward_cluster::tools;

/// For one item; on a machine to itself none takes more than 20 s.
const PATIENCE: Duration = Duration::from_secs(240);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|one| one == "--list") {
        println!("security: test");
        return ExitCode::SUCCESS;
    }
    let filters: Vec<&String> = arguments.iter().filter(|one| !one.starts_with('-')).collect();
    if !filters.is_empty() && !filters.iter().any(|one| "security".contains(one.as_str())) {
        return ExitCode::SUCCESS;
    }
    let Some(tools) = tools::for_test("security") else { return ExitCode::SUCCESS };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let failed = runtime.block_on(async {
        let mut ground = Ground::lay(&tools).await;
        checklist(&mut ground).await
    });
    println!("\nsecurity checklist: {failed} failed\n");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What an item says, if it does not take too long.
async fn item(number: &str, what: &str, check: impl Future<Output = Found>) -> bool {
    let began = Instant::now();
    let guarded = AssertUnwindSafe(tokio::time::timeout(PATIENCE, check)).catch_unwind();
    let found = match guarded.await {
        Ok(Ok(found)) => found,
        Ok(Err(_)) => Err(format!("not done within {PATIENCE:?}")),
        Err(_) => Err("it broke down; see above".into()),
    };
    let took = began.elapsed().as_secs_f64();
    match &found {
        Ok(result) => println!("{number:>3} ok      {what}: {result} ({took:.1} s)"),
        Err(why) => println!("{number:>3} FAILED  {what}: {why} ({took:.1} s)"),
    }
    found.is_ok()
}

async fn checklist(ground: &mut Ground) -> usize {
    let done = [
        item("4", "policies bound both accounts to single fields", manifests::bounds()).await,
        item("5", "the webhook's account", rights::what_the_account_may_do(ground)).await,
        item("6", "its token", manifests::tokens()).await,
        item("8", "pods cannot reach it", manifests::network()).await,
        item("9", "clients without a certificate", transport::clients_must_show_who_they_are(ground)).await,
        item("10", "versions of TLS, one crypto stack", transport::old_versions(ground)).await,
        item("11", "a renewal under load", renewal::under_load(ground)).await,
        item("12", "garbage in the certificate's files", renewal::garbage(ground)).await,
        item("13", "webhook configurations", manifests::configurations(ground)).await,
        item("14", "no death spiral", spiral::two_replicas_die(ground)).await,
        item("15", "1,000 questions a second", pace::at_a_thousand_a_second(ground)).await,
        item("16", "bodies of 3 and 10 MiB", abuse::bodies(ground)).await,
        item("17", "thousands of connections, slow and idle clients, floods", crowd::good_clients(ground))
            .await,
        item("18", "questions that make no sense", corpus::senseless(ground)).await,
        item("19", "uids and paths of answers", corpus::answers(ground)).await,
        item("20", "nothing of a pod is lost", corpus::nothing_is_lost(ground)).await,
        item("39", "what the account did all the while", rights::what_the_account_did(ground)).await,
    ];
    done.iter().filter(|ok| !**ok).count()
}
