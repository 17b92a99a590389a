//! # Run: the whole controller
//! Room:     wiring the rooms together; the errors that end the process.
//! Comes in: settings, and the request to stop.
//! Goes out: an error in one sentence, or the end the operator asked for.
//! Not here: flags, signals, log formats; the loop (`brain.rs`).

use crate::admin::{Admin, Check, Heartbeat, ListenError, Listening, Scope};
use crate::brain::{Brain, Parts, Right};
use crate::metrics::{self, Metrics, MonoClock};
use crate::news::News;
use crate::settings::{Election, Marking, Mode, Settings};
use crate::shutdown::Shutdown;
use crate::streams::{self, listener};
use crate::tasks::{AbortOnDrop, Tasks};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use taintward_client::act::{Actor, Pace, Patience};
use taintward_client::clock::Clock;
use taintward_client::connect::{self, ConnectError, Need, ProbeError, check_access, connect, probe};
use taintward_client::lease::{self, Leadership, Rules, RulesError};
use taintward_client::listen::StreamHealth;
use taintward_core::engine::{ConditionPolicy, Config, Engine};
use taintward_core::matching::NumericOperators;
use taintward_core::time::Span;
use tokio::sync::{mpsc, watch};
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
    /// The server's certificate does not fit; waiting will not heal it.
    #[error(transparent)]
    Server(#[from] ProbeError),
    /// The lease's times do not fit together.
    #[error(transparent)]
    Lease(#[from] RulesError),
}

/// How long one look at the server may take, and the pause between two.
const PROBE_MAX: Duration = Duration::from_secs(5);
const PROBE_PAUSE: Duration = Duration::from_secs(3);

/// Without a turn for this long, the loop is stuck.
const LOOP_SILENCE_MAX: Span = Span::from_secs(30);

/// Batches of one stream that may wait for the loop.
const BATCHES_WAITING: usize = 2;

/// Runs the controller until it is asked to stop.
///
/// An unreachable server and missing permissions are waited for, visibly; what waiting cannot heal is an error.
///
/// # Errors
/// If the controller cannot start.
pub async fn run(settings: Settings, shutdown: Shutdown) -> Result<(), RunError> {
    let listening = Listening::open(&settings.serving).await?;
    let connected = connect(&connect::Settings {
        kubeconfig: settings.cluster.kubeconfig.clone(),
        context: settings.cluster.context.clone(),
        ..connect::Settings::default()
    })
    .await?;
    run_in(connected, Clock::system(), listening, settings, shutdown).await
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
    let rules = settings.election.as_ref().map(rules).transpose()?;
    tracing::info!(mode = mode(&settings), cluster = connected.where_from, "taintward starts");
    let connect::Connected { client, streams, lease: lease_client, .. } = connected;

    let signs = Signs::new(&settings, &clock);
    let (nodes_health_out, nodes_health) = watch::channel(StreamHealth::default());
    let (pods_health_out, pods_health) = watch::channel(StreamHealth::default());
    let (leadership_out, leadership) = watch::channel(Leadership::none(clock.now().mono));
    let mut checks = signs.checks(nodes_health.clone(), pods_health.clone());
    if rules.is_some() {
        checks.push(Check::new("lease", Scope::Live, lease_check(leadership.clone(), clock.clone())));
    }
    let admin = Arc::new(Admin { metrics: Arc::clone(&signs.metrics), checks });
    let serving = tokio::spawn(async move { match listening.serve(admin).await {} });

    if let Asked::ToStop = reach(&client, &mut shutdown).await? {
        return Ok(());
    }
    report_access(&client, &settings).await;

    let (nodes_out, nodes) = mpsc::channel(BATCHES_WAITING);
    let (pods_out, pods) = mpsc::channel(BATCHES_WAITING);
    let watches = &signs.metrics.watches;
    let (relist_every, seed) = (settings.cluster.relist_every, settings.seed);
    let mut tasks = Tasks(vec![
        serving,
        tokio::spawn(listener(streams.clone(), relist_every, seed).run(nodes_out, nodes_health_out)),
        tokio::spawn(listener(streams, relist_every, seed.map(|seed| !seed)).run(pods_out, pods_health_out)),
        tokio::spawn(streams::report(metrics::Resource::Nodes, nodes_health, watches.clone())),
        tokio::spawn(streams::report(metrics::Resource::Pods, pods_health, watches.clone())),
    ]);
    let lease = signs.metrics.lease.clone();
    tasks.0.push(tokio::spawn(report_lease(leadership.clone(), lease, right_of(&settings))));
    let (end_lease, lease_ended) = tokio::sync::oneshot::channel::<()>();
    let election = rules.zip(settings.election.as_ref()).map(|(rules, election)| {
        let settings = candidate(election, rules, settings.seed);
        let stop = async move { lease_ended.await.unwrap_or(()) };
        tokio::spawn(lease::run(lease_client, clock.clone(), settings, leadership_out, stop))
    });
    let _lease_too = election.as_ref().map(|election| AbortOnDrop(election.abort_handle()));

    let brain = Brain::new(Parts {
        engine: Engine::new(config(&settings)),
        actor: actor(client, &clock, &settings, rules),
        clock,
        right: match (settings.mode, election.is_some()) {
            (Mode::Observe, _) => Right::Never,
            (Mode::Enforce, false) => Right::Always,
            (Mode::Enforce, true) => Right::Elected(leadership),
        },
        mode: settings.mode,
        stamp_taints: settings.stamp_taints && settings.mode == Mode::Enforce,
        metrics: signs.metrics,
        heartbeat: signs.heartbeat,
        synced: signs.synced,
    });
    brain.run(News { nodes, pods }, shutdown).await;

    // The next holder may begin the moment the lease is free: everything of ours has ended by then.
    let _ = end_lease.send(());
    if let Some(election) = election {
        finished(election).await;
    }
    drop(tasks);
    tracing::info!("taintward has stopped");
    Ok(())
}

/// What the process shows of itself.
struct Signs {
    metrics: Arc<Metrics>,
    heartbeat: Heartbeat,
    synced: Arc<AtomicBool>,
}

impl Signs {
    fn new(settings: &Settings, clock: &Clock) -> Self {
        let about = metrics::About {
            version: env!("CARGO_PKG_VERSION"),
            mode: mode(settings),
            lease: settings.election.as_ref().map_or_else(String::new, |election| election.name.clone()),
            started: clock.now().wall,
        };
        let clock = clock.clone();
        let mono: MonoClock = Arc::new(move || clock.now().mono);
        Self {
            metrics: Arc::new(Metrics::new(Arc::clone(&mono), &about)),
            heartbeat: Heartbeat::new(LOOP_SILENCE_MAX, mono),
            synced: Arc::new(AtomicBool::new(false)),
        }
    }

    fn checks(
        &self,
        nodes: watch::Receiver<StreamHealth>,
        pods: watch::Receiver<StreamHealth>,
    ) -> Vec<Check> {
        let synced = Arc::clone(&self.synced);
        let is_synced = move || match synced.load(Ordering::Relaxed) {
            true => Ok(()),
            false => Err("the first lists are not complete".into()),
        };
        let heartbeat = self.heartbeat.clone();
        vec![
            Check::new("sync", Scope::Ready, is_synced),
            Check::new("watch-nodes", Scope::Ready, streams::check(nodes)),
            Check::new("watch-pods", Scope::Ready, streams::check(pods)),
            Check::new("loop", Scope::Live, move || heartbeat.check()),
        ]
    }
}

fn candidate(election: &Election, rules: Rules, seed: Option<u64>) -> lease::Settings {
    lease::Settings {
        namespace: election.namespace.clone(),
        name: election.name.clone(),
        identity: seed.map_or_else(lease::identity, |seed| format!("seed_{seed:016x}")),
        rules,
    }
}

/// How a wait for the server ended.
enum Asked {
    ToGoOn,
    ToStop,
}

/// Waits until the server answers; says why it does not. A certificate that does not fit is not waited for.
async fn reach(client: &kube::Client, shutdown: &mut Shutdown) -> Result<Asked, ProbeError> {
    loop {
        let answer = tokio::select! {
            biased;
            () = shutdown.requested() => return Ok(Asked::ToStop),
            answer = probe(client, PROBE_MAX) => answer,
        };
        match answer {
            Ok(version) => {
                tracing::info!(version, "the API server answers");
                return Ok(Asked::ToGoOn);
            }
            // Who may do the work need not be allowed to ask for the version.
            Err(ProbeError::Forbidden(_)) => return Ok(Asked::ToGoOn),
            Err(error @ ProbeError::Certificate(_)) => return Err(error),
            Err(error) => tracing::warn!(err = %error, "waiting for the API server; trying again every 3 s"),
        }
        tokio::select! {
            biased;
            () = shutdown.requested() => return Ok(Asked::ToStop),
            () = tokio::time::sleep(PROBE_PAUSE) => {}
        }
    }
}

/// Says which permissions are missing, each with the line that grants it; then goes on: they may still come.
async fn report_access(client: &kube::Client, settings: &Settings) {
    match check_access(client, &needs(settings), PROBE_MAX).await {
        Ok(missing) => {
            missing.iter().for_each(|missing| tracing::error!(missing = %missing, "permission missing"))
        }
        Err(refusal) => tracing::warn!(err = %refusal.message, "cannot check the permissions"),
    }
}

/// What this mode needs (TE-2), and not more.
fn needs(settings: &Settings) -> Vec<Need> {
    let mut needs = Vec::new();
    for resource in ["nodes", "pods"] {
        needs.extend(["list", "watch"].map(|verb| Need::everywhere(verb, "", resource)));
    }
    if settings.mode == Mode::Observe {
        return needs;
    }
    needs.push(Need::everywhere("get", "", "nodes"));
    needs.extend(["get", "delete"].map(|verb| Need::everywhere(verb, "", "pods")));
    if settings.marking != Marking::Never {
        needs.push(Need::everywhere("patch", "", "pods/status"));
    }
    needs.push(Need::everywhere("create", "events.k8s.io", "events"));
    if settings.stamp_taints {
        needs.push(Need::everywhere("patch", "", "nodes"));
    }
    if let Some(election) = &settings.election {
        let lease = |verb, name| Need {
            verb,
            group: "coordination.k8s.io",
            resource: "leases",
            namespace: Some(election.namespace.clone()),
            name,
        };
        needs.push(lease("create", None));
        needs.extend(["get", "update"].map(|verb| lease(verb, Some(election.name.clone()))));
    }
    needs
}

fn config(settings: &Settings) -> Config {
    Config {
        numeric: if settings.numeric_operators { NumericOperators::On } else { NumericOperators::Off },
        condition: match settings.marking {
            Marking::Always => ConditionPolicy::Always,
            Marking::Jobs => ConditionPolicy::Jobs,
            Marking::Never => ConditionPolicy::Never,
        },
        ..Config::default()
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

fn rules(election: &Election) -> Result<Rules, RulesError> {
    let span = |length: Duration| Span::from_micros(i64::try_from(length.as_micros()).unwrap_or(i64::MAX));
    let (lease, renew) = (span(election.lease_duration), span(election.renew_deadline));
    Rules { lease, renew, retry: span(election.retry_period) }.check()
}

fn mode(settings: &Settings) -> &'static str {
    match settings.mode {
        Mode::Enforce => "enforce",
        Mode::Observe => "observe",
    }
}

/// Whether this process acts without an election.
fn right_of(settings: &Settings) -> Option<Mode> {
    settings.election.is_none().then_some(settings.mode)
}

/// Shows leadership in metrics and in the log.
async fn report_lease(
    mut leadership: watch::Receiver<Leadership>,
    lease: metrics::Lease,
    alone: Option<Mode>,
) {
    match alone {
        Some(Mode::Enforce) => return lease.leads_alone(),
        Some(Mode::Observe) => return lease.follows(),
        None => {}
    }
    let mut shown = None;
    loop {
        let now = leadership.borrow_and_update().clone();
        match now.leading {
            true => lease.leads_until(now.valid_until),
            false => lease.follows(),
        }
        let news = (now.leading, now.holder.clone(), now.trouble.is_some());
        if shown.as_ref() != Some(&news) {
            let (leading, holder, trouble) = (now.leading, now.holder, now.trouble);
            match trouble {
                Some(trouble) => tracing::warn!(leading, holder, err = trouble, "trouble with the lease"),
                None => tracing::info!(leading, holder, "lease"),
            }
            shown = Some(news);
        }
        if leadership.changed().await.is_err() {
            return;
        }
    }
}

fn lease_check(
    leadership: watch::Receiver<Leadership>,
    clock: Clock,
) -> impl Fn() -> Result<(), String> + Send + Sync + 'static {
    move || {
        let silent = clock.now().mono.since(leadership.borrow().loop_alive_at);
        match silent <= LOOP_SILENCE_MAX {
            true => Ok(()),
            false => Err(format!("the lease loop gave no sign of life for {:.0} s", silent.as_secs_f64())),
        }
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
