//! Configures leader election and reports leadership as metrics, log lines and health checks.

pub(super) mod other_leases;

use super::LeaseProblem;
use crate::control_loop::LOOP_SILENCE_MAX;
use crate::metrics;
use crate::settings::{ControllerSettings, ElectionSettings, WriteMode};
use std::time::Duration;
use taintward_core::time::Span;
use taintward_kube::clock::Clock;
use taintward_kube::leader_election::{self, ElectionTimings, InvalidTimings, Leadership};
use tokio::sync::watch;

/// A leader that still leads this long after its lease has ended is stuck; client-go's controllers allow the same.
const EXPIRED_MAX: Span = Span::from_secs(20);

pub(super) fn rules(election: &ElectionSettings) -> Result<ElectionTimings, InvalidTimings> {
    let span = |length: Duration| Span::from_micros(i64::try_from(length.as_micros()).unwrap_or(i64::MAX));
    let (lease, renew) = (span(election.lease_duration), span(election.renew_deadline));
    ElectionTimings { lease, renew, retry: span(election.retry_period) }.check()
}

pub(super) fn candidate(
    election: &ElectionSettings,
    rules: ElectionTimings,
    seed: Option<u64>,
) -> leader_election::LeaseSettings {
    leader_election::LeaseSettings {
        namespace: election.namespace.clone(),
        name: election.name.clone(),
        identity: seed.map_or_else(leader_election::identity, |seed| format!("seed_{seed:016x}")),
        rules,
    }
}

/// The mode of a process without an election.
pub(super) fn right_of(settings: &ControllerSettings) -> Option<WriteMode> {
    settings.election.is_none().then_some(settings.mode)
}

/// Publishes leadership in metrics and in the log, and problems with the lease in `problem_out`.
pub(super) async fn report_lease(
    mut leadership: watch::Receiver<Leadership>,
    lease: metrics::LeaseMetrics,
    alone: Option<WriteMode>,
    problem_out: watch::Sender<LeaseProblem>,
) {
    match alone {
        Some(WriteMode::Enforce) => return lease.leads_alone(),
        Some(WriteMode::Observe) => return lease.follows(),
        None => {}
    }
    let mut logged = None;
    loop {
        let now = leadership.borrow_and_update().clone();
        match now.leading {
            true => lease.leads_until(now.valid_until),
            false => lease.follows(),
        }
        problem_out.send_modify(|problem| {
            let since = problem.take().map_or(now.loop_alive_at, |(since, _)| since);
            *problem = now.last_error.clone().map(|why| (since, why));
        });
        let state = (now.leading, now.holder.clone(), now.last_error.is_some());
        if logged.as_ref() != Some(&state) {
            let (leading, holder, problem) = (now.leading, now.holder, now.last_error);
            match problem {
                Some(problem) => {
                    tracing::warn!(leading, holder, err = problem, "cannot read or write the lease")
                }
                None => tracing::info!(leading, holder, "the lease was read"),
            }
            logged = Some(state);
        }
        if leadership.changed().await.is_err() {
            return;
        }
    }
}

/// Alive unless the election is stuck (it always does something, even if it only waits), or is the leader beyond its lease
/// (client-go's `HealthzAdaptor`).
pub(super) fn is_alive(
    leadership: watch::Receiver<Leadership>,
    clock: Clock,
) -> impl Fn() -> Result<(), String> + Send + Sync + 'static {
    move || {
        let (now, known) = (clock.now().mono, leadership.borrow());
        let silent = now.since(known.loop_alive_at);
        if silent > LOOP_SILENCE_MAX {
            return Err(format!("the leader election loop has not run for {:.0} s", silent.as_secs_f64()));
        }
        let over = now.since(known.valid_until);
        match known.leading && over > EXPIRED_MAX {
            true => {
                Err(format!("still the leader, although the lease expired {:.0} s ago", over.as_secs_f64()))
            }
            false => Ok(()),
        }
    }
}

/// Ready unless the lease could be neither read nor written for longer than it lasts: such a follower cannot see that
/// the lease is free, so it could not take over.
pub(super) fn is_within_reach(
    problem: watch::Receiver<LeaseProblem>,
    lease: Span,
    clock: Clock,
) -> impl Fn() -> Result<(), String> + Send + Sync + 'static {
    move || match &*problem.borrow() {
        Some((since, why)) if clock.now().mono.since(*since) > lease => {
            let length = clock.now().mono.since(*since).as_secs_f64();
            Err(format!("the lease could not be read or written for {length:.0} s: {why}"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{BuildInfo, ControllerMetrics};
    use std::sync::Arc;
    use taintward_core::time::{Mono, Wall};

    const LEASE: Span = Span::from_secs(15);

    /// The lease is out of reach from the fifth to the sixtieth second.
    #[tokio::test(start_paused = true)]
    async fn a_lease_out_of_reach_for_longer_than_it_lasts_is_not_ready_and_alive() {
        let clock = Clock::of_runtime(Wall::from_secs(1_800_000_000));
        let about = BuildInfo {
            version: "",
            mode: "",
            lease: String::new(),
            started: Wall::from_secs(0),
            host: String::new(),
        };
        let metrics = ControllerMetrics::new(Arc::new(|| Mono::from_secs(0)), &about);
        let (out, leadership) = watch::channel(Leadership::none(clock.now().mono));
        let (problem_out, problem) = watch::channel(None);
        let ready = is_within_reach(problem, LEASE, clock.clone());
        let alive = is_alive(leadership.clone(), clock.clone());
        tokio::spawn(report_lease(leadership, metrics.lease.clone(), None, problem_out));
        for second in 0..90 {
            out.send_modify(|known| {
                known.loop_alive_at = clock.now().mono;
                known.last_error = (5..60).contains(&second).then(|| "may not get leases".to_owned());
            });
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_eq!(alive(), Ok(()), "{second}");
            assert_eq!(ready().is_err(), (20..60).contains(&second), "{second}: {:?}", ready());
            if let Err(why) = ready() {
                assert!(why.ends_with(" s: may not get leases"), "{why}");
            }
        }
        tokio::time::sleep(Duration::from_secs(31)).await;
        assert!(alive().unwrap_err().contains("has not run for 32 s"), "{:?}", alive());
    }

    #[tokio::test(start_paused = true)]
    async fn a_leader_that_leads_after_its_lease_is_stuck() {
        let clock = Clock::of_runtime(Wall::from_secs(1_800_000_000));
        let now = clock.now().mono;
        let leading = Leadership { leading: true, valid_until: now, ..Leadership::none(now) };
        let (_out, leadership) = watch::channel(leading);
        let alive = is_alive(leadership, clock.clone());
        tokio::time::sleep(Duration::from_secs(20)).await;
        assert_eq!(alive(), Ok(()));
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(alive(), Err("still the leader, although the lease expired 21 s ago".to_owned()));
    }
}
