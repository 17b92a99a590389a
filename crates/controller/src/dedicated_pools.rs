//! # Pools: the loop around dedicated nodes
//! Room:     one task that owns what is known of pools: news in, errands out, time passing.
//! Comes in: batches from streams, answers, leadership, the request to stop.
//! Goes out: taints and labels of nodes, finalizers and status of pools, evictions, through [`PoolEffectExecutor`]; events, log lines,
//!           metrics.
//! Keeps:    nothing is begun unless we may act and the definition of pools is installed. What was done is found in the
//!           objects: who is killed leaves nothing behind that the next one would not find.
//! Not here: the rules (the core's `admission/pool`), sending (`pool_effects.rs`).
//!
//! Level-triggered: whenever something has changed everything is judged anew, a few times a second at most; errands are
//! what is missing between the world as it is and as it is to be. In order, for each pool: our finalizer, the memory in
//! its status, its nodes, its status, the pods of others on them if they are to be evicted; and back again when it is
//! deleted.

mod backoff;
mod due_requests;
mod known_nodes;
mod pool_cache;
mod pool_effects;
mod pool_reporting;
mod pool_watch_queues;
mod reconcile;
mod status_counts;
mod stream_demand;

#[cfg(test)]
mod tests;

pub(crate) use pool_watch_queues::PoolWatchQueues;
pub(crate) use stream_demand::PoolStreamDemand;

use crate::admin::LoopHeartbeat;
use crate::metrics::ControllerMetrics;
use crate::settings::WriteMode;
use crate::shutdown::Shutdown;
use crate::write_permission::WritePermission;
use backoff::{BackoffMap, RetryKey};
use pool_cache::PoolCache;
use pool_effects::{PoolEffect, PoolEffectExecutor, PoolEffectResult, PoolResponse};
use pool_reporting::PoolReporter;
use pool_watch_queues::PoolWatchBatch;
use reconcile::PoolPlan;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use taintward_core::admission::pool::{PoolExemptions, PoolStatus};
use taintward_core::api_error::ApiFailure;
use taintward_core::identity::{NodeName, Uid};
use taintward_core::time::{Mono, Span};
use taintward_kube::api::ApiClient;
use taintward_kube::clock::Clock;
use taintward_kube::pools::KnownNodes;
use taintward_kube::watch::StreamHealth;
use tokio::sync::watch;

/// Counts are published this often, and a status is written this often at most.
const HOUSEKEEPING: Span = Span::from_secs(1);

/// Everything is judged anew at most this often, and after this many times the time it took.
const ROUND: Span = Span::from_millis(200);
const ROUND_SHARE: i64 = 4;

/// The same where only pods came or went.
const COUNT: Span = Span::from_secs(1);
const COUNT_SHARE: i64 = 10;

/// Batches of news taken in before anything else is done, at most.
const NEWS_AT_ONCE: usize = 64;

/// How long requests under way have to end after the request to stop.
const DRAIN_MAX: Duration = Duration::from_millis(2_800);

/// The task that owns what is known of pools.
pub(crate) struct DedicatedPoolController {
    world: PoolCache,
    plan: Arc<PoolPlan>,
    counts: Vec<PoolStatus>,
    /// Nodes that are still to be written.
    todo: BTreeSet<NodeName>,
    /// Since the last round something has changed: rules, or who is where.
    stale: bool,
    stale_pods: bool,
    judged: Option<Mono>,
    took: Span,
    /// Pools may have something to be done.
    look: bool,
    told: BTreeMap<Uid, Mono>,
    /// Which nodes the admission policy was last told of, and when.
    listed: Option<(KnownNodes, Mono)>,
    /// When it was last looked at whether that has changed.
    rostered: Option<Mono>,
    namespace: Option<Arc<str>>,
    exemptions: Arc<PoolExemptions>,
    /// Pods whose eviction was accepted, as long as they are counted.
    gone: BTreeSet<Uid>,
    retries: BackoffMap,
    executor: PoolEffectExecutor,
    /// Until then a write whose answer was lost may still be carried out.
    unsure_until: Mono,
    reporter: PoolReporter,
    clock: Clock,
    api: ApiClient,
    definition: watch::Receiver<StreamHealth>,
    demand: PoolStreamDemand,
    permission: WritePermission,
    mode: WriteMode,
    metrics: Arc<ControllerMetrics>,
    heartbeat: LoopHeartbeat,
    synced: Arc<AtomicBool>,
    published: Option<Mono>,
    was_acting: bool,
}

/// What it is made of.
pub(crate) struct DedicatedPoolParts {
    pub(crate) clock: Clock,
    pub(crate) api: ApiClient,
    /// How the stream of pools is doing.
    pub(crate) definition: watch::Receiver<StreamHealth>,
    pub(crate) demand: PoolStreamDemand,
    pub(crate) permission: WritePermission,
    pub(crate) mode: WriteMode,
    pub(crate) metrics: Arc<ControllerMetrics>,
    pub(crate) heartbeat: LoopHeartbeat,
    pub(crate) synced: Arc<AtomicBool>,
    /// Where the spread of pauses starts from.
    pub(crate) seed: u64,
    /// Where the names of known nodes are: the namespace of the lease.
    pub(crate) namespace: Option<Arc<str>>,
    /// Which pods no pool has a say in.
    pub(crate) exemptions: PoolExemptions,
}

impl DedicatedPoolController {
    pub(crate) fn new(parts: DedicatedPoolParts) -> Self {
        let DedicatedPoolParts {
            clock,
            api,
            definition,
            demand,
            permission,
            mode,
            metrics,
            heartbeat,
            synced,
            seed,
            namespace,
            exemptions,
        } = parts;
        let exemptions = Arc::new(exemptions);
        let effects = metrics.effects.clone();
        let executor = PoolEffectExecutor::new(
            api.clone(),
            clock.clone(),
            permission.clone(),
            Arc::clone(&exemptions),
            effects,
        );
        Self {
            world: PoolCache::default(),
            plan: Arc::default(),
            counts: Vec::new(),
            todo: BTreeSet::new(),
            stale: false,
            stale_pods: false,
            judged: None,
            took: Span::ZERO,
            look: false,
            told: BTreeMap::new(),
            listed: None,
            rostered: None,
            retries: BackoffMap::new(seed),
            executor,
            namespace,
            exemptions,
            gone: BTreeSet::new(),
            unsure_until: clock.now().mono,
            reporter: PoolReporter::new(),
            clock,
            api,
            definition,
            demand,
            permission,
            mode,
            metrics,
            heartbeat,
            synced,
            published: None,
            was_acting: false,
        }
    }

    /// Goes round until asked to stop; then starts nothing more, and waits for what is under way.
    pub(crate) async fn run(mut self, mut news: PoolWatchQueues, mut stop: Shutdown) {
        loop {
            self.heartbeat.beat();
            for batch in std::iter::from_fn(|| news.waiting()).take(NEWS_AT_ONCE) {
                self.hear(batch);
            }
            let (undefined, now) = (self.is_undefined(), self.clock.now().mono);
            self.world.keep_what_is_demanded(&mut self.demand, undefined, now);
            self.note_sync();
            self.round();
            self.publish();
            self.act();
            let wake = self.wake(self.clock.now().mono);
            tokio::select! {
                biased;
                () = stop.requested() => break,
                done = self.executor.next() => self.done(done),
                batch = news.next() => self.hear(batch),
                sent = self.reporter.recorder.sent() => self.reporter.recorder.was_sent(sent, &self.clock, &self.metrics),
                () = self.permission.changed() => self.look = true,
                () = self.clock.sleep_until(wake) => {}
            }
        }
        self.drain().await;
    }

    fn hear(&mut self, batch: PoolWatchBatch) {
        batch.keys().iter().for_each(|key| self.retries.changed(key));
        self.look |= matches!(batch, PoolWatchBatch::Pools(_));
        let change = self.world.hear(batch);
        self.stale |= change.rules;
        self.stale_pods |= change.pods;
    }

    /// Nobody has defined what a pool is.
    fn is_undefined(&self) -> bool {
        self.definition.borrow().absent
    }

    /// Says once, and shows in readiness, that the lists were complete, or that there is nothing to list.
    fn note_sync(&mut self) {
        let synced = self.world.is_synced();
        if !synced && !self.is_undefined() {
            return;
        }
        self.synced.store(true, Ordering::Relaxed);
        if synced && self.judged.is_none() {
            (self.stale, self.published) = (true, None);
            let (pools, nodes) = (self.world.pools.facts().count(), self.world.nodes.facts().count());
            tracing::info!(pools, nodes, "dedicated pools synced");
        }
    }

    /// When everything is to be judged anew; at once means `now`, so that who asks twice by one reading of the clock hears
    /// the same.
    fn round_at(&self, now: Mono) -> Option<Mono> {
        if !self.world.is_synced() || !(self.stale || self.stale_pods) {
            return None;
        }
        let Some(judged) = self.judged else { return Some(now) };
        let (least, share) = if self.stale { (ROUND, ROUND_SHARE) } else { (COUNT, COUNT_SHARE) };
        Some(judged.plus(least.max(Span::from_micros(self.took.as_micros().saturating_mul(share)))))
    }

    /// Judges everything anew, if that is due.
    fn round(&mut self) {
        let began = self.clock.now().mono;
        if self.round_at(began).is_none_or(|at| at > began) {
            return;
        }
        if self.stale {
            self.plan = Arc::new(PoolPlan::of(&self.world));
            self.todo = self.plan.todo.clone();
            let uids: BTreeSet<&Uid> = self.plan.seen.iter().map(|seen| &seen.uid).collect();
            self.told.retain(|uid, _| uids.contains(uid));
            self.retries.retain(|key| match key {
                RetryKey::Pool(uid) => uids.contains(uid),
                RetryKey::Node(node) => self.todo.contains(node),
                RetryKey::Pod(_) | RetryKey::Roster => true,
            });
            if self.mode == WriteMode::Observe && !self.todo.is_empty() {
                tracing::info!(nodes = self.todo.len(), "would write nodes for dedicated pools now");
            }
        }
        self.counts = status_counts::census(&self.plan, &self.world, &self.exemptions);
        let evicted: BTreeSet<&Uid> =
            self.counts.iter().flat_map(|counts| &counts.evicted).map(|one| &one.uid).collect();
        self.gone.retain(|uid| evicted.contains(uid));
        self.retries.retain(|key| !matches!(key, RetryKey::Pod(uid) if !evicted.contains(uid)));
        (self.stale, self.stale_pods, self.look) = (false, false, true);
        let now = self.clock.now().mono;
        (self.judged, self.took) = (Some(now), now.since(began));
    }

    fn may_act(&self) -> bool {
        self.permission.is_given(self.clock.now().mono, self.api.longest_request())
    }

    /// Begins what is due, as long as there is room.
    fn act(&mut self) {
        let acting = self.may_act();
        if acting != std::mem::replace(&mut self.was_acting, acting) && self.mode == WriteMode::Enforce {
            tracing::info!(acting, "the right to dedicate nodes changed");
        }
        if !acting || self.judged.is_none() || self.is_undefined() {
            return;
        }
        if std::mem::take(&mut self.look) {
            self.look_after_pools();
        }
        self.look_after_nodes();
        self.look_after_trespassers();
        self.look_after_roster();
        self.reporter.recorder.send(&self.api, self.clock.now().mono, &self.metrics);
    }

    fn done(&mut self, done: PoolEffectResult) {
        let now = self.clock.now();
        self.look |= matches!(done.key, RetryKey::Pool(_));
        match done.result {
            Ok(answer) => {
                self.retries.succeeded(&done.key);
                self.answered(&done.effect, answer);
            }
            Err(refusal) => {
                self.reporter.complain(&done.effect, &refusal, now.mono);
                if let (PoolEffect::ReconcileNode(_), ApiFailure::Unavailable) =
                    (&done.effect, refusal.failure)
                {
                    self.unsure_until = now.mono.plus(self.api.longest_request());
                }
                self.retries.failed(done.key, &refusal, now.mono);
            }
        }
    }

    fn answered(&mut self, effect: &PoolEffect, answer: PoolResponse) {
        match (answer, effect) {
            (PoolResponse::Node(member), PoolEffect::ReconcileNode(node)) => {
                self.todo.remove(node);
                self.reporter.member(&member);
                self.stale |= self.world.nodes.answered(member.seen);
            }
            (PoolResponse::Pool(Some(after)), PoolEffect::UpdateStatus(before, _)) => {
                self.reporter.told(before, &after, self.clock.now().wall);
                self.stale |= self.world.pools.answered(*after);
            }
            (PoolResponse::Pool(Some(after)), _) => self.stale |= self.world.pools.answered(*after),
            (PoolResponse::Pool(None), PoolEffect::RemoveFinalizer(pool)) => {
                tracing::info!(pool = &*pool.pool.name, "pool is gone, and nothing of it is left on nodes");
                self.stale |= self.world.pools.remove(&pool.uid);
            }
            (PoolResponse::Leaving, PoolEffect::Evict(pool, trespasser)) => {
                self.gone.insert(trespasser.uid.clone());
                self.reporter.evicted(&pool.pool.name, trespasser, self.clock.now().wall);
            }
            (PoolResponse::Roster, PoolEffect::WriteKnownNodes(_, known)) => {
                self.listed = Some((known.clone(), self.clock.now().mono));
            }
            (
                PoolResponse::Pool(None)
                | PoolResponse::Node(_)
                | PoolResponse::Leaving
                | PoolResponse::Roster,
                _,
            ) => {}
        }
    }

    /// Publishes counts, once in a while.
    fn publish(&mut self) {
        let now = self.clock.now().mono;
        if self.published.is_some_and(|last| now < last.plus(HOUSEKEEPING)) {
            return;
        }
        (self.published, self.look) = (Some(now), true);
        let mut sums = status_counts::sums(&self.plan, &self.counts, &self.world);
        (sums.waiting, sums.retrying) = (self.todo.len(), self.retries.nodes());
        self.metrics.pools.set(sums);
        self.reporter.recorder.count_dropped(self.permission.is_lost(now), &self.metrics);
    }

    /// When the loop has to go round without being told anything.
    fn wake(&self, now: Mono) -> Mono {
        let housekeeping = self.published.map_or(now, |last| last.plus(HOUSEKEEPING));
        let retry = self.retries.wake_at(now).filter(|_| self.was_acting);
        self.round_at(now).into_iter().chain(retry).fold(housekeeping, Mono::min)
    }

    /// No new errands; those under way end, within the time a supervisor grants.
    async fn drain(mut self) {
        let ending = async {
            while self.executor.in_flight() > 0 {
                let done = self.executor.next().await;
                self.done(done);
            }
            self.reporter.recorder.finish().await;
        };
        if tokio::time::timeout(DRAIN_MAX, ending).await.is_err() {
            tracing::warn!(
                "stopped with requests about dedicated pools unanswered; whether they were carried out is unknown"
            );
        }
        self.reporter.recorder.count_dropped(true, &self.metrics);
    }
}
