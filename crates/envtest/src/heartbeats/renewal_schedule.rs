//! Renews leases spread evenly over each period, a bounded number at a time.

use super::{HeartbeatState, objects};
use crate::api::TestApi;
use anyhow::Result;
use futures::stream::{FuturesUnordered, StreamExt as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Renewals in flight: more would not be answered sooner.
const IN_FLIGHT: usize = 48;

/// The timeout of one renewal.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(5);

/// The pause before a failed renewal is retried, as in a kubelet.
const PAUSE: Duration = Duration::from_millis(200);

/// How long it may take to notice the end.
const NAP: Duration = Duration::from_millis(50);

/// A scheduled renewal.
struct Renewal {
    node: usize,
    name: String,
    skew: i64,
    /// The node's count of changes: if it differs afterwards, the node was silenced meanwhile.
    turns: u64,
}

/// Starts the renewals.
pub(super) fn spawn(shared: &Arc<HeartbeatState>, kubeconfig: &Path) -> Result<JoinHandle<Result<()>>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (shared, kubeconfig) = (Arc::clone(shared), kubeconfig.to_owned());
    let body = async move {
        // A client belongs to the runtime in which it is created.
        let api = TestApi::from_kubeconfig(&kubeconfig).await?;
        rounds(&shared, &api).await;
        Ok(())
    };
    Ok(thread::Builder::new().name("heartbeats".into()).spawn(move || runtime.block_on(body))?)
}

async fn rounds(shared: &HeartbeatState, api: &TestApi) {
    let began = Instant::now();
    let count = shared.state().nodes.len() as u64;
    let mut out = FuturesUnordered::new();
    let mut slot: u64 = 0;
    while !shared.ends.load(Ordering::Relaxed) {
        let due = began + shared.period.mul_f64(slot as f64 / count as f64);
        let wait = due.saturating_duration_since(Instant::now());
        if !wait.is_zero() || out.len() >= IN_FLIGHT {
            // Waits for a response, the next renewal, or the next check for the end, whichever is first.
            let nap = if out.len() >= IN_FLIGHT { NAP } else { wait.min(NAP) };
            tokio::select! {
                biased;
                Some(()) = out.next(), if !out.is_empty() => {}
                () = tokio::time::sleep(nap) => {}
            }
            continue;
        }
        slot += missed_slots(due.elapsed(), shared.period, count);
        if let Some(turn) = take(shared, slot % count, due) {
            out.push(renew(shared, api, turn));
        }
        slot += 1;
    }
}

/// The slots to skip when a slot is late by whole periods: whole rounds, so that the same node is next. A schedule that jumped
/// to the begin of a round would never renew the nodes at its end as long as it is late.
fn missed_slots(late: Duration, period: Duration, count: u64) -> u64 {
    (late.as_secs_f64() / period.as_secs_f64()) as u64 * count
}

fn take(shared: &HeartbeatState, place: u64, due: Instant) -> Option<Renewal> {
    let place = usize::try_from(place).ok()?;
    let mut state = shared.state();
    let node = state.nodes.get(place).filter(|node| node.alive)?;
    let turn = Renewal { node: place, name: node.name.clone(), skew: node.skew, turns: node.turns };
    let late = due.elapsed();
    state.lateness.latest_start = state.lateness.latest_start.max(late);
    Some(turn)
}

/// Renews until it succeeds, the node is silenced, or its next renewal is due.
async fn renew(shared: &HeartbeatState, api: &TestApi, turn: Renewal) {
    let began = Instant::now();
    let path = objects::lease_path(&turn.name);
    while began.elapsed() < shared.period && goes_on(shared, &turn) {
        let request = async { api.patch_text(&path, &objects::renewal(turn.skew)).await };
        let worked = matches!(tokio::time::timeout(STARTUP_TIMEOUT, request).await, Ok(Ok(())));
        note(shared, &turn, worked);
        if worked {
            return;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn goes_on(shared: &HeartbeatState, turn: &Renewal) -> bool {
    !shared.ends.load(Ordering::Relaxed) && shared.state().nodes[turn.node].turns == turn.turns
}

fn note(shared: &HeartbeatState, turn: &Renewal, worked: bool) {
    let mut state = shared.state();
    if !worked {
        state.lateness.failures += 1;
        return;
    }
    state.lateness.renewals += 1;
    let node = &mut state.nodes[turn.node];
    let gap = node.renewed.replace(Instant::now()).map(|before| before.elapsed());
    if node.turns == turn.turns {
        state.lateness.longest_gap = state.lateness.longest_gap.max(gap.unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a machine that renews only a quarter as fast as it should, each node is renewed every fourth period.
    #[test]
    fn no_node_starves_on_a_slow_machine() {
        const COUNT: u64 = 10;
        let (period, each) = (Duration::from_secs(3), Duration::from_millis(1_200));
        let (mut now, mut slot) = (Duration::ZERO, 0);
        let mut renewed = [Duration::ZERO; COUNT as usize];
        let mut longest = Duration::ZERO;
        for _ in 0..1_000 {
            let due = period.mul_f64(slot as f64 / COUNT as f64);
            slot += missed_slots(now.saturating_sub(due), period, COUNT);
            let node = &mut renewed[(slot % COUNT) as usize];
            longest = longest.max(now - *node);
            *node = now;
            now += each;
            slot += 1;
        }
        assert_eq!(longest, 4 * period);
    }
}
