//! Reports the health of watches as readiness check, metrics and log lines.

use crate::metrics::{self, Resource, Restart, WatchMetrics};
use std::time::Duration;
use taintward_kube::clock::Clock;
use taintward_kube::decode::WatchedObject;
use taintward_kube::watch::{
    RelistTrigger, StreamCounters, StreamHealth, StreamPhase, WatchSettings, Watcher,
};
use tokio::sync::watch;
use tokio::time::Instant;

/// How long a watch may be interrupted before the process is no longer ready. A dead connection is detected within
/// four seconds (`connect`), which is less.
pub(crate) const INTERRUPTED_MAX: Duration = Duration::from_secs(10);

/// How often the log repeats the same reason for an interruption.
const REPEAT_AFTER: Duration = Duration::from_secs(30);

/// Creates a watcher for one kind, which relists at this interval and on request; equal seeds give equal jitter.
pub fn listener<F: WatchedObject>(
    client: kube::Client,
    clock: Clock,
    relist_every: Option<Duration>,
    relist_now: RelistTrigger,
    seed: Option<u64>,
) -> Watcher<F> {
    let usual = WatchSettings::default();
    Watcher::new(
        client,
        clock,
        WatchSettings { relist_every, relist_now, seed: seed.unwrap_or(usual.seed), ..usual },
    )
}

/// Runs a watch whenever, and as long as, it is demanded; ends with the loop that demands it.
pub(crate) async fn while_demanded<L: Future<Output = ()>>(
    mut demanded: watch::Receiver<bool>,
    health: watch::Sender<StreamHealth>,
    listen: impl Fn() -> L,
) {
    while demanded.wait_for(|on| *on).await.is_ok() {
        tokio::select! {
            biased;
            ended = demanded.wait_for(|on| !on) => {
                if ended.is_err() {
                    return;
                }
            }
            () = listen() => return,
        }
        health.send_replace(StreamHealth::default());
    }
}

/// Ready while the watch is synced, or has been interrupted for no longer than `grace`. Also ready if the server does
/// not have the kind: then there is nothing to sync.
pub fn check(
    health: watch::Receiver<StreamHealth>,
    grace: Duration,
) -> impl Fn() -> Result<(), String> + Send + Sync + 'static {
    move || {
        let health = health.borrow();
        if health.absent || (health.missing.is_none() && health.is_in_step(grace)) {
            return Ok(());
        }
        if let Some(missing) = health.missing {
            return Err(format!("may not {} {}", missing.verb, missing.resource));
        }
        let why = health.last_error.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        match health.interrupted_since {
            Some(since) if health.synced_once => {
                Err(format!("interrupted for {} s{why}", since.elapsed().as_secs()))
            }
            _ => Err(format!("not listed yet{why}")),
        }
    }
}

/// Publishes a watch's health in metrics and in the log, for as long as the watch lives.
pub(crate) async fn report(
    resource: Resource,
    mut health: watch::Receiver<StreamHealth>,
    watches: WatchMetrics,
    clock: Clock,
) {
    let mut before = StreamHealth::default();
    let mut complaints = StreamLog::default();
    loop {
        let now = health.borrow_and_update().clone();
        watches.entered(resource, phase(&now.phase));
        if now.last_active != before.last_active {
            watches.active(resource, clock.now().mono);
        }
        count(resource, &before.counters, &now.counters, &watches);
        if now.absent && !before.absent {
            tracing::info!(
                resource = resource.as_str(),
                "the API server has no such resource, retrying at least every 30 s"
            );
        }
        if let Some(why) = complaints.change_text(&now) {
            tracing::warn!(resource = resource.as_str(), err = why, "watch interrupted, resuming it");
        }
        if let Some(missing) = now.missing.filter(|_| before.missing.is_none()) {
            tracing::error!(missing = %missing.permission(), "permission missing");
        }
        before = now;
        if health.changed().await.is_err() {
            return;
        }
    }
}

/// Limits the log lines about interruptions: an unreachable server is retried every other second.
#[derive(Default)]
pub struct StreamLog {
    logged: Option<(String, Instant)>,
}

impl StreamLog {
    /// Why the watch is interrupted, if the reason is new or was not logged for a while.
    pub fn change_text<'h>(&mut self, health: &'h StreamHealth) -> Option<&'h str> {
        if health.interrupted_since.is_none() {
            self.logged = None;
        }
        let StreamPhase::Waiting { why, .. } = &health.phase else { return None };
        let old = |(logged, at): &(String, Instant)| logged == why && at.elapsed() < REPEAT_AFTER;
        if health.absent || health.last_error.as_ref() != Some(why) || self.logged.as_ref().is_some_and(old) {
            return None;
        }
        self.logged = Some((why.clone(), Instant::now()));
        Some(why)
    }
}

const fn phase(phase: &StreamPhase) -> metrics::Phase {
    match phase {
        StreamPhase::Connecting => metrics::Phase::Connecting,
        StreamPhase::Listing => metrics::Phase::Listing,
        StreamPhase::Watching => metrics::Phase::Watching,
        StreamPhase::Waiting { .. } => metrics::Phase::Waiting,
    }
}

fn count(resource: Resource, before: &StreamCounters, now: &StreamCounters, watches: &WatchMetrics) {
    let failed = |counters: &StreamCounters| {
        let named = counters.relists_410
            + counters.watch_lists_rejected
            + counters.throttled
            + counters.forbidden
            + counters.stalls;
        counters.failures.saturating_sub(named)
    };
    for (reason, before, now) in [
        (Restart::Expired, before.relists_410, now.relists_410),
        (Restart::Unsupported, before.watch_lists_rejected, now.watch_lists_rejected),
        (Restart::Throttled, before.throttled, now.throttled),
        (Restart::Forbidden, before.forbidden, now.forbidden),
        (Restart::Stalled, before.stalls, now.stalls),
        (Restart::Failed, failed(before), failed(now)),
        (Restart::Closed, before.watches_closed, now.watches_closed),
        (Restart::Relist, before.relists_due, now.relists_due),
    ] {
        watches.restarts.of((resource, reason)).inc_by(now.saturating_sub(before));
    }
    watches.undecodable.of(resource).inc_by(now.undecodable.saturating_sub(before.undecodable));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{BuildInfo, ControllerMetrics};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use taintward_core::time::{Mono, Wall};

    fn judged(change: impl FnOnce(&mut StreamHealth)) -> Result<(), String> {
        let mut health = StreamHealth { synced_once: true, ..StreamHealth::default() };
        change(&mut health);
        let (_open, health) = watch::channel(health);
        check(health, INTERRUPTED_MAX)()
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_runs_while_it_is_demanded_and_ends_with_the_loop_that_demands_it() {
        let (demand, demanded) = watch::channel(false);
        let starts = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&starts);
        let listen = move || {
            counted.fetch_add(1, Ordering::Relaxed);
            std::future::pending()
        };
        let (health, _open) = watch::channel(StreamHealth::default());
        let running = tokio::spawn(while_demanded(demanded, health, listen));
        for (on, expected) in [(false, 0), (true, 1), (false, 1), (true, 2)] {
            demand.send_replace(on);
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_eq!(starts.load(Ordering::Relaxed), expected, "demanded: {on}");
        }
        assert!(!running.is_finished());
        // The last demand stays true for ever.
        drop(demand);
        tokio::time::timeout(Duration::from_secs(1), running).await.unwrap().unwrap();
        assert_eq!(starts.load(Ordering::Relaxed), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_synced_watch_is_ready_and_an_interrupted_one_says_why() {
        let ago = |seconds| Some(Instant::now() - Duration::from_secs(seconds));
        tokio::time::advance(Duration::from_secs(7200)).await;
        assert_eq!(judged(|health| health.last_active = ago(3600)), Ok(()), "silent, and in step");
        assert_eq!(judged(|health| health.interrupted_since = ago(10)), Ok(()));
        let away = judged(|health| {
            health.interrupted_since = ago(11);
            health.last_error = Some("the connection failed".into());
        });
        assert_eq!(away, Err("interrupted for 11 s: the connection failed".into()));
        assert_eq!(judged(|health| health.synced_once = false), Err("not listed yet".into()));
        assert_eq!(judged(|health| (health.synced_once, health.absent) = (false, true)), Ok(()));
        let missing = taintward_kube::watch::MissingAccess { verb: "list", group: "", resource: "pods" };
        assert_eq!(judged(|health| health.missing = Some(missing)), Err("may not list pods".into()));
    }

    #[tokio::test(start_paused = true)]
    async fn an_outage_of_an_hour_is_logged_twice_a_minute_and_for_each_new_reason() {
        let mut complaints = StreamLog::default();
        let waiting = |why: &str| StreamHealth {
            phase: StreamPhase::Waiting { why: why.into(), until: Instant::now() },
            last_error: Some(why.into()),
            interrupted_since: Some(Instant::now()),
            ..StreamHealth::default()
        };
        let mut lines = 0;
        for _ in 0..1800 {
            lines += usize::from(complaints.change_text(&waiting("refused")).is_some());
            tokio::time::advance(Duration::from_secs(2)).await;
        }
        assert_eq!(lines, 120);
        assert_eq!(complaints.change_text(&waiting("503")), Some("503"));
        assert_eq!(complaints.change_text(&StreamHealth::default()), None);
        assert_eq!(complaints.change_text(&waiting("503")), Some("503"), "it was synced in between");
    }

    #[test]
    fn l4_a_list_for_its_age_has_a_reason_of_its_own_and_is_not_a_failure() {
        let about = BuildInfo {
            version: "",
            mode: "",
            lease: String::new(),
            started: Wall::from_secs(0),
            host: String::new(),
        };
        let watches = ControllerMetrics::new(Arc::new(|| Mono::from_secs(0)), &about).watches;
        let restarts = |reason| watches.restarts.of((Resource::Pods, reason)).get();
        let first = StreamCounters { watches_started: 1, ..StreamCounters::default() };
        count(Resource::Pods, &StreamCounters::default(), &first, &watches);
        let all = [Restart::Closed, Restart::Failed, Restart::Expired, Restart::Stalled, Restart::Relist];
        assert_eq!(all.map(restarts), [0; 5], "the first start does not count as a restart");
        let again = StreamCounters { watches_started: 2, relists_due: 1, ..first };
        count(Resource::Pods, &first, &again, &watches);
        assert_eq!(all.map(restarts), [0, 0, 0, 0, 1]);
        let closed = StreamCounters { watches_started: 3, watches_closed: 1, ..again };
        count(Resource::Pods, &again, &closed, &watches);
        // A relist for its age that fails is a failure as well.
        let failed = StreamCounters { relists_due: 2, failures: 1, ..closed };
        count(Resource::Pods, &closed, &failed, &watches);
        assert_eq!(all.map(restarts), [1, 1, 0, 0, 2]);
    }
}
