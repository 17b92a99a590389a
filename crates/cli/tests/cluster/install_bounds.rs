//! Tests on a real API server that each account can change only what its component writes.
//!
//! - That the policies reject is shown twice: with them an account is rejected even as cluster-admin, without them the
//!   same requests pass.
//! - See `install_real.rs` for the granted verbs.

use crate::install::attempts::{
    beyond_roles, beyond_seconds, of_controller, of_webhook, write_of_backfill, write_of_guard,
    write_of_holds, writes_of_controller, writes_of_pools, writes_of_webhook,
};
use crate::install::harness::{CONTROLLER, InstallHarness, WEBHOOK};
use crate::turn;

#[test]
fn accounts_change_what_their_parts_write_and_nothing_else() {
    let Some(tools) = turn::for_test("accounts_change_what_their_parts_write_and_nothing_else") else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let harness = InstallHarness::set(&tools).await;
        let (controller, webhook) = (harness.account(CONTROLLER).await, harness.account(WEBHOOK).await);
        let (stolen, snatched) = (of_controller(), of_webhook());
        harness.until_it_holds(&controller, &stolen[0]).await;
        harness.until_it_holds(&webhook, &snatched[0]).await;
        harness.rejected(&controller, &stolen).await;
        harness.rejected(&webhook, &snatched).await;
        harness.taken(&controller, &writes_of_controller()).await;
        harness.taken(&controller, &writes_of_pools()).await;
        harness.taken(&webhook, &writes_of_webhook()).await;
        harness.others_are_not_hindered(stolen.iter().chain(&snatched)).await;
        harness.whatever_roles_grant(&controller, &webhook, &beyond_roles()).await;
        harness.without_policies_it_would_pass(&controller, &stolen).await;
        harness.without_policies_it_would_pass(&webhook, &snatched).await;
    });
}

/// A controller that does not run may not write: the bounds permit nothing for it.
#[test]
fn bounds_are_as_narrow_as_what_runs() {
    let Some(tools) = turn::for_test("bounds_are_as_narrow_as_what_runs") else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let harness = InstallHarness::set(&tools).await;
        harness.everything_is_granted().await;
        let controller = harness.account(CONTROLLER).await;
        let mut writes = writes_of_controller();
        writes.extend([write_of_holds(), write_of_backfill(), write_of_guard()]);
        for (flags, runs) in [
            (&["--controllers=dedicated-pool-controller"][..], &["pools"][..]),
            (&["--controllers=taint-eviction-controller"], &["evicts"]),
            (&["--controllers=taint-eviction-controller", "--stamp-taints"], &["evicts", "stamps"]),
            (&["--controllers=node-lifecycle-controller"], &["health"]),
            // A hold removes a ceiling.
            (&["--controllers=toleration-hold-controller"], &["holds", "backfill: seconds", "guard"]),
            (&["--controllers=toleration-backfill-controller"], &["backfill"]),
            (&["--controllers=toleration-guard-controller"], &["evicts", "backfill: seconds", "guard"]),
            (&["--controllers=*,node-lifecycle-controller", "--mode=observe"], &[]),
        ] {
            harness.apply(flags);
            let (may, not): (Vec<_>, Vec<_>) =
                writes.iter().cloned().partition(|one| runs.iter().any(|part| one.what.starts_with(part)));
            assert_eq!(may.is_empty(), runs.is_empty(), "{flags:?}");
            for (one, passes) in may.iter().map(|one| (one, true)).chain(not.iter().map(|one| (one, false))) {
                harness.until(&controller, one, passes).await;
            }
            if runs.iter().any(|part| part.starts_with("backfill")) {
                let mut beyond = beyond_seconds();
                // For backfill alone, no annotation may be written at all.
                beyond.retain(|one| {
                    runs.contains(&"guard") || !one.message.starts_with("only the annotations")
                });
                harness.rejected(&controller, &beyond).await;
            }
        }
    });
}
