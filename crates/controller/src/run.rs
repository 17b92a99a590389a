//! # Run: the whole controller
//! Room:     wiring the rooms together; the errors that end the process.
//! Comes in: settings, and the request to stop.
//! Goes out: an error in one sentence, or the end the operator asked for.
//! Not here: flags, signals, log formats; the loops (`brain.rs`, `lifecycle.rs`, `pools.rs`).

mod beginning;
mod ears;
mod election;
mod needs;
mod reach;
mod signs;
mod time;

use crate::admin::{Admin, ListenError, Listening};
use crate::brain::{self, Brain};
use crate::lifecycle::{self, Lifecycle};
use crate::pools::{self, Demand, Pools};
use crate::readers;
use crate::right::Right;
use crate::settings::{Marking, Mode, Settings};
use crate::shutdown::Shutdown;
use crate::tasks::{AbortOnDrop, Tasks};
use beginning::Beginning;
use ears::{Ears, Heard};
use reach::Asked;
use signs::Signs;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;
use taintward_client::act::{Actor, Pace, Patience};
use taintward_client::clock::Clock;
use taintward_client::connect::{self, ConnectError, Observer, connect};
use taintward_client::lease::{self, Leadership, Rules, RulesError};
use taintward_client::listen::StreamHealth;
use taintward_core::eviction::{DisruptionConditionPolicy, EvictionConfig, EvictionEngine};
use taintward_core::node_lifecycle;
use taintward_core::time::Span;
use taintward_core::toleration_matching::NumericOperators;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Why the controller could not go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Metrics and health cannot be served.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// There is no usable configuration for a client.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The lease's times do not fit together.
    #[error(transparent)]
    Lease(#[from] RulesError),
}

/// How long one look at the server may take.
const PROBE_MAX: Duration = Duration::from_secs(5);

/// Without a turn for this long, a loop is stuck.
const LOOP_SILENCE_MAX: Span = Span::from_secs(30);

/// Runs the controller until it is asked to stop.
///
/// An unreachable server, credentials that cannot be had and missing permissions are waited for, visibly; what waiting
/// cannot heal is an error.
///
/// # Errors
/// If the controller cannot start.
pub async fn run(settings: Settings, mut shutdown: Shutdown) -> Result<(), RunError> {
    let listening = Listening::open(&settings.serving).await?;
    let cluster = settings.cluster.connection();
    let connected = tokio::select! {
        biased;
        () = shutdown.requested() => return Ok(()),
        connected = connect(&cluster) => connected?,
    };
    run_in(connected, Clock::system().by_the_server(), listening, settings, shutdown).await
}

/// Runs the controller on a cluster that is at hand already, by the clock of that cluster.
///
/// # Errors
/// If the controller cannot start.
pub async fn run_on(
    cluster: connect::Connected,
    clock: Clock,
    settings: Settings,
    shutdown: Shutdown,
) -> Result<(), RunError> {
    let listening = Listening::open(&settings.serving).await?;
    run_in(cluster, clock, listening, settings, shutdown).await
}

async fn run_in(
    connected: connect::Connected,
    clock: Clock,
    listening: Listening,
    settings: Settings,
    mut shutdown: Shutdown,
) -> Result<(), RunError> {
    let rules = settings.election.as_ref().map(election::rules).transpose()?;
    let controllers = names(&settings);
    tracing::info!(
        mode = mode(&settings),
        controllers = controllers.join(","),
        cluster = connected.where_from,
        "taintward starts"
    );
    let signs = Signs::new(&settings, &clock, &connected.host);
    let observer: Arc<dyn Observer> = Arc::new(signs.metrics.requests.clone());
    let connect::Connected { client, streams, heartbeats, lease: lease_client, .. } =
        connected.observed(&clock, &observer);
    let ears = Ears::new(&settings, clock.now().mono);
    let mut beginning = Beginning::new(&settings, rules, (&signs, &ears), &clock);
    let checks = std::mem::take(&mut beginning.checks);
    let admin = Arc::new(Admin { metrics: signs.metrics.clone(), checks });
    let listening = readers::guard(listening, &client);
    let serving = tokio::spawn(async move { match listening.serve(admin).await {} });

    if let Asked::ToStop = beginning.reach(&client, &signs, &clock, &mut shutdown).await {
        return Ok(());
    }
    let Beginning { leadership_out, leadership, lease_told, .. } = beginning;
    needs::report_access(&client, &settings).await;

    let mut tasks = Tasks(vec![serving]);
    tasks.0.push(tokio::spawn(time::report(clock.clone(), Arc::clone(&signs.metrics))));
    let (nodes_health, leases_health) = (ears.nodes.health.clone(), ears.leases.health.clone());
    let definition = ears.pools.health.clone();
    let relist_now = ears.relist_now.clone();
    let Heard { eviction, node_health, pools } =
        ears.listen((&streams, &heartbeats), &settings, &signs, &clock, &mut tasks);
    let shown = election::report_lease(
        leadership.clone(),
        signs.metrics.lease.clone(),
        election::right_of(&settings),
        lease_told,
    );
    tasks.0.push(tokio::spawn(shown));
    let (end_lease, lease_ended) = tokio::sync::oneshot::channel::<()>();
    let election = rules.zip(settings.election.as_ref()).map(|(rules, chosen)| {
        let candidate = election::candidate(chosen, rules, settings.seed);
        let stop = async move { lease_ended.await.unwrap_or(()) };
        tokio::spawn(lease::run(lease_client, clock.clone(), candidate, leadership_out, stop))
    });
    let _lease_too = election.as_ref().map(|election| AbortOnDrop(election.abort_handle()));

    let right = right(settings.mode, election.as_ref().map(|_| leadership));
    let actor = actor(client, &clock, &settings, rules);
    let (hold, held) = watch::channel(may_hold(&settings));
    let common = Common { settings: &settings, signs: &signs, clock: &clock, actor: &actor, right: &right };
    let nodes = settings.controllers.node_lifecycle.clone().zip(node_health).map(|(config, news)| {
        let parts = common.of_nodes(config, (nodes_health, leases_health), hold);
        Lifecycle::new(parts).run(news, shutdown.clone())
    });
    let pools = pools
        .map(|(news, demand)| Pools::new(common.of_pools(definition, demand)).run(news, shutdown.clone()));
    let pods = eviction.map(|news| {
        let parts = brain::Parts {
            engine: EvictionEngine::new(config(&settings)),
            actor,
            clock,
            right,
            mode: settings.mode,
            stamp_taints: settings.stamp_taints && settings.mode == Mode::Enforce,
            metrics: signs.metrics,
            heartbeat: signs.heartbeat,
            synced: signs.synced,
            hold: held,
            relist_now,
        };
        Brain::new(parts).run(news, shutdown)
    });
    tokio::join!(to_its_end(pods), to_its_end(nodes), to_its_end(pools));

    // The next holder may begin the moment the lease is free: everything of ours has ended by then.
    let _ = end_lease.send(());
    if let Some(election) = election {
        finished(election).await;
    }
    drop(tasks);
    tracing::info!("taintward has stopped");
    Ok(())
}

/// What every loop is made of.
struct Common<'r> {
    settings: &'r Settings,
    signs: &'r Signs,
    clock: &'r Clock,
    actor: &'r Actor,
    right: &'r Right,
}

impl Common<'_> {
    fn of_nodes(
        &self,
        config: node_lifecycle::NodeLifecycleConfig,
        (nodes, leases): (watch::Receiver<StreamHealth>, watch::Receiver<StreamHealth>),
        hold: watch::Sender<bool>,
    ) -> lifecycle::Parts {
        lifecycle::Parts {
            config,
            clock: self.clock.clone(),
            actor: self.actor.clone(),
            nodes,
            leases,
            right: self.right.clone(),
            mode: self.settings.mode,
            metrics: Arc::clone(&self.signs.metrics),
            heartbeat: self.signs.node_heartbeat.clone(),
            synced: Arc::clone(&self.signs.nodes_synced),
            hold,
        }
    }

    fn of_pools(&self, definition: watch::Receiver<StreamHealth>, demand: Demand) -> pools::Parts {
        pools::Parts {
            clock: self.clock.clone(),
            actor: self.actor.clone(),
            definition,
            demand,
            right: self.right.clone(),
            mode: self.settings.mode,
            metrics: Arc::clone(&self.signs.metrics),
            heartbeat: self.signs.pool_heartbeat.clone(),
            synced: Arc::clone(&self.signs.pools_synced),
            seed: self.settings.seed.unwrap_or_else(|| RandomState::new().hash_one("pools")),
            namespace: self.settings.election.as_ref().map(|election| election.namespace.as_str().into()),
            exemptions: self.settings.exemptions(),
        }
    }
}

fn right(mode: Mode, elected: Option<watch::Receiver<Leadership>>) -> Right {
    match (mode, elected) {
        (Mode::Observe, _) => Right::Never,
        (Mode::Enforce, None) => Right::Always,
        (Mode::Enforce, Some(leadership)) => Right::Elected(leadership),
    }
}

/// Until node health knows better, everything may be down (NL-48).
fn may_hold(settings: &Settings) -> bool {
    settings
        .controllers
        .node_lifecycle
        .as_ref()
        .is_some_and(node_lifecycle::NodeLifecycleConfig::may_hold_countdowns)
}

/// A loop, if it runs.
async fn to_its_end(running: Option<impl Future<Output = ()>>) {
    if let Some(running) = running {
        running.await;
    }
}

/// The controllers that run, by upstream's names where it has them.
fn names(settings: &Settings) -> Vec<&'static str> {
    let controllers = &settings.controllers;
    [
        (controllers.taint_eviction, "taint-eviction-controller"),
        (controllers.node_lifecycle.is_some(), "node-lifecycle-controller"),
        (controllers.dedicated_pools, "dedicated-pool-controller"),
    ]
    .into_iter()
    .filter_map(|(runs, name)| runs.then_some(name))
    .collect()
}

fn config(settings: &Settings) -> EvictionConfig {
    EvictionConfig {
        numeric: if settings.numeric_operators { NumericOperators::On } else { NumericOperators::Off },
        condition: match settings.marking {
            Marking::Always => DisruptionConditionPolicy::Always,
            Marking::Jobs => DisruptionConditionPolicy::Jobs,
            Marking::Never => DisruptionConditionPolicy::Never,
        },
        ..EvictionConfig::default()
    }
}

/// Requests must be over before a lost lease could be another's (S5): a short lease means short patience.
fn actor(client: kube::Client, clock: &Clock, settings: &Settings, rules: Option<Rules>) -> Actor {
    let host = std::env::var("POD_NAME").unwrap_or_default();
    let mut patience = Patience::default();
    if let Some(rules) = rules {
        let third = Duration::from_micros((rules.renew.as_micros() / 3).unsigned_abs());
        patience.server = patience.server.min(Duration::from_secs(third.as_secs().max(1)));
        patience.client = patience.client.min(third.max(Duration::from_millis(500)));
    }
    let actor = Actor::new(client, &host).with_patience(patience);
    match settings.cluster.limit {
        Some(limit) => actor.with_pace(Pace::new(clock.clone(), limit.qps as f32, limit.burst)),
        None => actor,
    }
}

fn mode(settings: &Settings) -> &'static str {
    match settings.mode {
        Mode::Enforce => "enforce",
        Mode::Observe => "observe",
    }
}

/// Waits for a task. One that panicked takes the process down: a dead loop in a live process helps nobody (P30).
async fn finished(task: JoinHandle<()>) {
    if let Err(error) = task.await
        && error.is_panic()
    {
        std::panic::resume_unwind(error.into_panic());
    }
}

#[cfg(test)]
mod tests;
