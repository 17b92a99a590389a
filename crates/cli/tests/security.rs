//! Checks the items of the security checklist and compares the results with docs/security-checklist.md.
//!
//! - `EXAMPLES=overwrite` writes the page; `cargo test -p taintward --test security -- 16 17` checks some items.
//! - Without kubelets and pod networks, some items are checked in the printed manifests only.

#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]

#[allow(dead_code, reason = "each test binary uses some of it")]
mod admission {
    pub(crate) mod account;
    pub(crate) mod client;
    pub(crate) mod hook;
    pub(crate) mod pods;
    pub(crate) mod register;
}

#[allow(dead_code, reason = "each test binary uses some of it")]
mod install {
    pub(crate) mod cluster;
    pub(crate) mod objects;
}

mod checklist {
    pub(crate) mod abuse;
    pub(crate) mod corpus;
    pub(crate) mod crowd;
    pub(crate) mod elsewhere;
    pub(crate) mod harness;
    pub(crate) mod installed;
    pub(crate) mod items;
    pub(crate) mod manifests;
    pub(crate) mod outside;
    pub(crate) mod page;
    pub(crate) mod rate;
    pub(crate) mod renewal;
    pub(crate) mod rights;
    pub(crate) mod sources;
    pub(crate) mod spiral;
    pub(crate) mod transport;
}

use checklist::harness::{ChecklistHarness, ItemResult};
use checklist::items::ITEMS;
use checklist::page::{self, ChecklistResults};
use checklist::{
    abuse, corpus, crowd, elsewhere, installed, manifests, outside, rate, renewal, rights, sources, spiral,
    transport,
};
use futures::FutureExt as _;
use install::cluster::InstalledCluster;
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use taintward_envtest::binaries;

/// The timeout of one item; on an idle machine none takes more than 20 s.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(240);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|one| one == "--list") {
        println!("security: test");
        return ExitCode::SUCCESS;
    }
    let filters: Vec<&String> = arguments.iter().filter(|one| !one.starts_with('-')).collect();
    let some: Vec<usize> = filters.iter().filter_map(|one| one.parse().ok()).collect();
    if some.is_empty() && !filters.is_empty() && !filters.iter().any(|one| "security".contains(one.as_str()))
    {
        return ExitCode::SUCCESS;
    }
    let Some(tools) = binaries::for_test("security") else { return ExitCode::SUCCESS };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (results, failed) = runtime.block_on(async {
        let mut harness = ChecklistHarness::lay(&tools).await;
        checklist(&mut harness, &some).await
    });
    let table = page::table(&results);
    println!("\n{table}");
    let shown = !some.is_empty() || failed > 0 || page::shows(&table);
    if !shown {
        eprintln!(
            "docs/security-checklist.md shows another table; the same with EXAMPLES=overwrite writes it again"
        );
    }
    println!("security checklist: {} items, {failed} failed\n", results.len());
    if failed == 0 && shown { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Checked after all others, because they need the whole installation, which the others do without.
const INSTALLED: [usize; 5] = [1, 2, 3, 7, 29];

async fn checklist(harness: &mut ChecklistHarness, some: &[usize]) -> (ChecklistResults, usize) {
    let (mut results, mut failed) = (ChecklistResults::new(), 0);
    let (last, first): (Vec<_>, Vec<_>) = (1..=ITEMS.len())
        .filter(|one| some.is_empty() || some.contains(one))
        .partition(|one| INSTALLED.contains(one));
    for number in first {
        let result = send(number, check(number, harness)).await;
        failed += usize::from(result.is_err());
        results.insert(number, result.unwrap_or_else(|why| why));
    }
    if !last.is_empty() {
        let there = installed::on(harness);
        for number in last {
            let result = send(number, check_installed(number, &there)).await;
            failed += usize::from(result.is_err());
            results.insert(number, result.unwrap_or_else(|why| why));
        }
    }
    (results, failed)
}

/// The result of an item, unless it takes too long.
async fn send(number: usize, check: impl Future<Output = ItemResult>) -> Result<String, String> {
    let began = Instant::now();
    let guarded = AssertUnwindSafe(tokio::time::timeout(STARTUP_TIMEOUT, check)).catch_unwind();
    let found = match guarded.await {
        Ok(Ok(found)) => found,
        Ok(Err(_)) => Err(format!("not done within {STARTUP_TIMEOUT:?}")),
        Err(_) => Err("it broke down; see above".into()),
    };
    let took = began.elapsed().as_secs_f64();
    match found {
        Ok(shown) => {
            println!("test {number} ... ok ({took:.1} s) {}", shown.figures);
            Ok(shown.result)
        }
        Err(why) => {
            println!("test {number} ... FAILED ({took:.1} s)");
            Err(format!("FAILED: {why}"))
        }
    }
}

async fn check(number: usize, harness: &mut ChecklistHarness) -> ItemResult {
    match number {
        4 => manifests::bounds().await,
        5 => rights::what_the_account_may_do(harness).await,
        6 => manifests::tokens().await,
        8 => manifests::network().await,
        9 => transport::clients_must_present_a_certificate(harness).await,
        10 => transport::old_versions(harness).await,
        11 => renewal::under_load(harness).await,
        12 => renewal::garbage(harness).await,
        13 => manifests::configurations(harness).await,
        14 => spiral::two_replicas_die(harness).await,
        15 => rate::at_a_thousand_a_second(harness).await,
        16 => abuse::bodies(harness).await,
        17 => crowd::good_clients(harness).await,
        18 => corpus::senseless(harness).await,
        19 => corpus::responses(harness).await,
        20 => corpus::nothing_is_lost(harness).await,
        25 => outside::metrics(harness).await,
        26 => outside::pages(harness).await,
        27 => outside::log(harness).await,
        30 => sources::no_unsafe_code(),
        33 => sources::dependencies(),
        37 => sources::actions(),
        38 => sources::image(),
        39 => rights::what_the_account_did(harness).await,
        other => elsewhere::of(other),
    }
}

async fn check_installed(number: usize, there: &InstalledCluster<'_>) -> ItemResult {
    match number {
        1 => installed::golden(there),
        2 => installed::wildcards(there),
        3 => installed::escalation(there),
        7 => installed::restricted(there),
        _ => installed::fairness(there).await,
    }
}
