//! Wires and runs the controllers: connections, watches, election, control loops, health.
//!
//! - See `control_loop.rs` for the loop, `eviction.rs`, `node_lifecycle.rs`, `dedicated_pools.rs` and
//!   `toleration_seconds.rs` for what each controller adds.

mod clock_watch;
mod control_loops;
mod election;
mod health;
mod permissions;
mod startup;
mod watches;

use crate::admin::{Admin, AdminListener, Check, ListenError, RecordFn};
use crate::control_loop::LoopHealth;
use crate::dedicated_pools::PoolStreamDemand;
use crate::eviction::progress::StalledEvictions;
use crate::eviction::{PolicyDemand, PolicyFollower};
use crate::metrics::{ControllerMetrics, Resource};
use crate::path_readers;
use crate::settings::{ControllerSettings, EvictionScope, Marking, WriteMode};
use crate::shutdown::Shutdown;
use crate::tasks::{AbortOnDrop, TaskSet};
use crate::watch_queues::WatchQueues;
use crate::write_permission::WritePermission;
use control_loops::ControlLoops;
use std::sync::Arc;
use std::time::Duration;
use taintward_core::dedicated_pools::DedicatedPoolInput;
use taintward_core::eviction::{DisruptionConditionPolicy, EvictionConfig, EvictionInput};
use taintward_core::node_lifecycle::{NodeLifecycleConfig, NodeLifecycleInput};
use taintward_core::time::Mono;
use taintward_core::toleration_matching::NumericOperators;
use taintward_core::toleration_seconds::TolerationSecondsInput;
use taintward_kube::api::{ApiClient, RateLimiter, RequestTimeouts};
use taintward_kube::clock::Clock;
use taintward_kube::config::{self, ConnectError, RequestObserver, connect};
use taintward_kube::leader_election::{self, ElectionTimings, InvalidTimings, Leadership};
use taintward_kube::watch::{RelistTrigger, StreamHealth};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// The timeout of one probe of the server.
const PROBE_MAX: Duration = Duration::from_secs(5);

/// Since when the lease can be neither read nor written, and why.
type LeaseProblem = Option<(Mono, String)>;

/// A watch that has not started yet.
struct WatchSlot {
    resource: Resource,
    out: watch::Sender<StreamHealth>,
    health: watch::Receiver<StreamHealth>,
    seed: Option<u64>,
}

/// All watches.
struct WatchSet {
    nodes: WatchSlot,
    pods: WatchSlot,
    /// Only started if node lifecycle runs.
    leases: WatchSlot,
    /// Only started if dedicated pools are enabled.
    pools: WatchSlot,
    /// Only running while there is a dedicated pool, or for backfill and the guard.
    namespaces: WatchSlot,
    /// Only started for backfill.
    policies: WatchSlot,
    /// Only started if eviction policies are enabled.
    eviction_policies: WatchSlot,
    /// Only running while an eviction policy needs it, like the following ones.
    budgets: WatchSlot,
    deployments: WatchSlot,
    replica_sets: WatchSlot,
    stateful_sets: WatchSlot,
    policy_demand: PolicyDemand,
    /// Whether there is a pool, as far as is known.
    demand: PoolStreamDemand,
    /// Triggers a relist of all of them.
    relist_now: RelistTrigger,
}

/// The queues of the control loops.
struct EngineQueues {
    eviction: Option<(WatchQueues<EvictionInput>, PolicyDemand)>,
    node_lifecycle: Option<WatchQueues<NodeLifecycleInput>>,
    pools: Option<(WatchQueues<DedicatedPoolInput>, PoolStreamDemand)>,
    toleration_seconds: Option<WatchQueues<TolerationSecondsInput>>,
}

/// The health that the process publishes.
struct HealthState {
    metrics: Arc<ControllerMetrics>,
    eviction: LoopHealth,
    /// Evictions that do not get on.
    stalled: watch::Sender<StalledEvictions>,
    node_lifecycle: LoopHealth,
    dedicated_pools: LoopHealth,
    toleration_seconds: LoopHealth,
}

/// The result of waiting for the server.
enum StartupOutcome {
    Connected,
    Stopped,
}

/// What exists before the API server answers.
struct StartupState {
    checks: Vec<Check>,
    leadership_out: watch::Sender<Leadership>,
    leadership: watch::Receiver<Leadership>,
    lease_problem_out: watch::Sender<LeaseProblem>,
    waiting: watch::Sender<Option<String>>,
}

/// Why the controller cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Metrics and health cannot be served.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// There is no usable configuration for a client.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The timings of the lease are inconsistent.
    #[error(transparent)]
    Lease(#[from] InvalidTimings),
}

/// Runs the controller until a shutdown is requested.
///
/// It waits, and shows it, for an unreachable server, unavailable credentials and missing permissions. It returns an
/// error for what waiting cannot fix.
///
/// # Errors
/// If the controller cannot start.
pub async fn run(settings: ControllerSettings, mut shutdown: Shutdown) -> Result<(), RunError> {
    let listening = AdminListener::open(&settings.serving).await?;
    let cluster = settings.cluster.connection();
    let connected = tokio::select! {
        biased;
        () = shutdown.requested() => return Ok(()),
        connected = connect(&cluster) => connected?,
    };
    run_in(connected, Clock::system().by_the_server(), listening, settings, shutdown).await
}

/// Runs the controller with an existing client and that cluster's clock.
///
/// # Errors
/// If the controller cannot start.
pub async fn run_on(
    cluster: config::Connected,
    clock: Clock,
    settings: ControllerSettings,
    shutdown: Shutdown,
) -> Result<(), RunError> {
    let listening = AdminListener::open(&settings.serving).await?;
    run_in(cluster, clock, listening, settings, shutdown).await
}

fn log_start(settings: &ControllerSettings, cluster: &str) {
    let controllers = names(settings).join(",");
    tracing::info!(mode = settings.mode.as_str(), controllers, cluster, "taintward starts");
}

async fn run_in(
    connected: config::Connected,
    clock: Clock,
    listening: AdminListener,
    settings: ControllerSettings,
    mut shutdown: Shutdown,
) -> Result<(), RunError> {
    let rules = settings.election.as_ref().map(election::rules).transpose()?;
    log_start(&settings, &connected.where_from);
    let health_state = HealthState::new(&settings, &clock, &connected.host);
    let observer: Arc<dyn RequestObserver> = Arc::new(health_state.metrics.requests.clone());
    let config::Connected { client, streams, heartbeats, lease: lease_client, .. } =
        connected.observed(&clock, &observer);
    let watches = WatchSet::new(&settings);
    let mut startup = StartupState::new(&settings, rules, (&health_state, &watches), &clock);
    let checks = std::mem::take(&mut startup.checks);
    let record =
        settings.recorder.clone().map(|recorder| -> RecordFn { Box::new(move || recorder.to_bytes()) });
    let admin = Arc::new(Admin { metrics: health_state.metrics.clone(), record, checks });
    let listening = path_readers::guard(listening, &client);
    let serving = tokio::spawn(async move { match listening.serve(admin).await {} });

    if let StartupOutcome::Stopped = startup.wait(&client, &health_state, &clock, &mut shutdown).await {
        return Ok(());
    }
    let StartupState { leadership_out, leadership, lease_problem_out, .. } = startup;
    permissions::report_access(&client, &settings).await;

    let other_leases = election::other_leases::report(client.clone(), settings.clone(), clock.clone());
    let mut tasks = TaskSet(vec![serving, tokio::spawn(other_leases)]);
    tasks.0.push(tokio::spawn(clock_watch::report(clock.clone(), Arc::clone(&health_state.metrics))));
    let (nodes_health, leases_health) = (watches.nodes.health.clone(), watches.leases.health.clone());
    let definition = watches.pools.health.clone();
    let policy_definition = watches.eviction_policies.health.clone();
    let relist_now = watches.relist_now.clone();
    let EngineQueues { eviction, node_lifecycle, pools, toleration_seconds } =
        watches.listen((&streams, &heartbeats), &settings, &health_state.metrics, &clock, &mut tasks);
    let shown = election::report_lease(
        leadership.clone(),
        health_state.metrics.lease.clone(),
        election::right_of(&settings),
        lease_problem_out,
    );
    tasks.0.push(tokio::spawn(shown));
    let (end_lease, lease_ended) = tokio::sync::oneshot::channel::<()>();
    let election = rules.zip(settings.election.as_ref()).map(|(rules, chosen)| {
        let candidate = election::candidate(chosen, rules, settings.seed);
        let stop = async move { lease_ended.await.unwrap_or(()) };
        let (clock, relist_now) = (clock.clone(), relist_now.clone());
        tokio::spawn(leader_election::run(lease_client, clock, candidate, leadership_out, relist_now, stop))
    });
    let _lease_too = election.as_ref().map(|election| AbortOnDrop(election.abort_handle()));

    let permission = permission(settings.mode, election.as_ref().map(|_| leadership));
    let api = api(client, &clock, &settings, rules);
    let (hold, held) = watch::channel(may_hold(&settings));
    let shared = ControlLoops {
        settings: &settings,
        health_state: &health_state,
        clock: &clock,
        api: &api,
        permission: &permission,
    };
    let nodes = settings.controllers.node_lifecycle.clone().zip(node_lifecycle).map(|(config, queues)| {
        shared.node_lifecycle(config, (nodes_health, leases_health), hold).run(queues, shutdown.clone())
    });
    let pools = pools
        .map(|(queues, demand)| shared.dedicated_pools(definition, demand).run(queues, shutdown.clone()));
    let eviction = settings.controllers.eviction().zip(eviction);
    let pods = eviction.map(|(scope, (queues, demand))| {
        let policies = settings.eviction_policies.then(|| PolicyFollower::new(policy_definition, demand));
        shared.eviction(scope, held, relist_now, policies).run(queues, shutdown.clone())
    });
    let toleration_seconds =
        toleration_seconds.map(|queues| shared.toleration_seconds().run(queues, shutdown.clone()));
    let (pods, nodes) = (to_its_end(pods), to_its_end(nodes));
    tokio::join!(pods, nodes, to_its_end(pools), to_its_end(toleration_seconds));

    // The next leader may start the moment the lease is free: all requests of this process have ended by then.
    let _ = end_lease.send(());
    if let Some(election) = election {
        finished(election).await;
    }
    drop(tasks);
    tracing::info!("taintward has stopped");
    Ok(())
}

fn permission(mode: WriteMode, elected: Option<watch::Receiver<Leadership>>) -> WritePermission {
    match (mode, elected) {
        (WriteMode::Observe, _) => WritePermission::ReadOnly,
        (WriteMode::Enforce, None) => WritePermission::Always,
        (WriteMode::Enforce, Some(leadership)) => WritePermission::Leader(leadership),
    }
}

/// Until node lifecycle knows otherwise, everything may be down (NL-48).
fn may_hold(settings: &ControllerSettings) -> bool {
    settings.controllers.node_lifecycle.as_ref().is_some_and(NodeLifecycleConfig::may_hold_countdowns)
}

/// Runs a loop to its end, if there is one.
async fn to_its_end(running: Option<impl Future<Output = ()>>) {
    if let Some(running) = running {
        running.await;
    }
}

/// The names of the controllers that run, as upstream names them where it has them.
fn names(settings: &ControllerSettings) -> Vec<&'static str> {
    let controllers = &settings.controllers;
    [
        (controllers.taint_eviction, "taint-eviction-controller"),
        (controllers.node_lifecycle.is_some(), "node-lifecycle-controller"),
        (controllers.dedicated_pools, "dedicated-pool-controller"),
        (controllers.toleration_hold.is_some(), "toleration-hold-controller"),
        (controllers.toleration_backfill.is_some(), "toleration-backfill-controller"),
        (controllers.toleration_guard.is_some(), "toleration-guard-controller"),
    ]
    .into_iter()
    .filter_map(|(runs, name)| runs.then_some(name))
    .collect()
}

fn config(settings: &ControllerSettings) -> EvictionConfig {
    EvictionConfig {
        numeric: if settings.numeric_operators { NumericOperators::On } else { NumericOperators::Off },
        condition: match settings.marking {
            Marking::Always => DisruptionConditionPolicy::Always,
            Marking::Jobs => DisruptionConditionPolicy::Jobs,
            Marking::Never => DisruptionConditionPolicy::Never,
        },
        policies: settings.eviction_policies,
        brake: settings.controllers.brake,
        pods_appear_late: settings.controllers.eviction() == Some(EvictionScope::GuardedPods),
        ..EvictionConfig::default()
    }
}

/// Requests must end before another replica can hold a lost lease (S5): a short lease means short timeouts.
fn api(
    client: kube::Client,
    clock: &Clock,
    settings: &ControllerSettings,
    rules: Option<ElectionTimings>,
) -> ApiClient {
    let host = std::env::var("POD_NAME").unwrap_or_default();
    let mut timeouts = RequestTimeouts::default();
    if let Some(rules) = rules {
        let third = Duration::from_micros((rules.renew.as_micros() / 3).unsigned_abs());
        timeouts.server = timeouts.server.min(Duration::from_secs(third.as_secs().max(1)));
        timeouts.client = timeouts.client.min(third.max(Duration::from_millis(500)));
    }
    let api = ApiClient::new(client, &host).with_timeouts(timeouts);
    match settings.cluster.limit {
        Some(limit) => api.with_rate_limiter(RateLimiter::new(clock.clone(), limit.qps as f32, limit.burst)),
        None => api,
    }
}

/// Waits for a task. If it panicked, ends the process: a process without one of its loops would look healthy (P30).
async fn finished(task: JoinHandle<()>) {
    if let Err(error) = task.await
        && error.is_panic()
    {
        std::panic::resume_unwind(error.into_panic());
    }
}

#[cfg(test)]
mod tests;
