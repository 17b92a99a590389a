//! # Pools: the loop around dedicated nodes
//! Room:     one task that owns what is known of pools: news in, errands out, time passing.
//! Comes in: batches from streams, answers, leadership, the request to stop.
//! Goes out: taints and labels of nodes, finalizers and status of pools, evictions, through [`Hands`]; events, log lines,
//!           metrics.
//! Keeps:    nothing is begun unless we may act and the definition of pools is installed. What was done is found in the
//!           objects: who is killed leaves nothing behind that the next one would not find.
//! Not here: the rules (the core's `admission/pool`), sending (`hands.rs`).
//!
//! Level-triggered: whenever something has changed everything is judged anew, a few times a second at most; errands are
//! what is missing between the world as it is and as it is to be. In order, for each pool: our finalizer, the memory in
//! its status, its nodes, its status, the pods of others on them if they are to be evicted; and back again when it is
//! deleted.

mod census;
mod demand;
mod due;
mod hands;
mod judge;
mod news;
mod retries;
mod roster;
mod teller;
mod world;

#[cfg(test)]
mod tests;

pub(crate) use demand::Demand;
pub(crate) use news::News;

use crate::admin::Heartbeat;
use crate::metrics::Metrics;
use crate::right::Right;
use crate::settings::Mode;
use crate::shutdown::Shutdown;
use hands::{Answer, Done, Errand, Hands};
use judge::Judgement;
use news::Batch;
use retries::{Key, Retries};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use taintward_client::act::Actor;
use taintward_client::clock::Clock;
use taintward_client::listen::StreamHealth;
use taintward_client::pools::KnownNodes;
use taintward_core::admission::pool::{PoolExemptions, PoolStatus};
use taintward_core::api_error::ApiFailure;
use taintward_core::identity::{NodeName, Uid};
use taintward_core::time::{Mono, Span};
use teller::Teller;
use tokio::sync::watch;
use world::World;

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
pub(crate) struct Pools {
    world: World,
    judgement: Arc<Judgement>,
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
    retries: Retries,
    hands: Hands,
    /// Until then a write whose answer was lost may still be carried out.
    unsure_until: Mono,
    teller: Teller,
    clock: Clock,
    actor: Actor,
    definition: watch::Receiver<StreamHealth>,
    demand: Demand,
    right: Right,
    mode: Mode,
    metrics: Arc<Metrics>,
    heartbeat: Heartbeat,
    synced: Arc<AtomicBool>,
    published: Option<Mono>,
    was_acting: bool,
}

/// What it is made of.
pub(crate) struct Parts {
    pub(crate) clock: Clock,
    pub(crate) actor: Actor,
    /// How the stream of pools is doing.
    pub(crate) definition: watch::Receiver<StreamHealth>,
    pub(crate) demand: Demand,
    pub(crate) right: Right,
    pub(crate) mode: Mode,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) heartbeat: Heartbeat,
    pub(crate) synced: Arc<AtomicBool>,
    /// Where the spread of pauses starts from.
    pub(crate) seed: u64,
    /// Where the names of known nodes are: the namespace of the lease.
    pub(crate) namespace: Option<Arc<str>>,
    /// Which pods no pool has a say in.
    pub(crate) exemptions: PoolExemptions,
}

impl Pools {
    pub(crate) fn new(parts: Parts) -> Self {
        let Parts {
            clock,
            actor,
            definition,
            demand,
            right,
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
        let hands = Hands::new(actor.clone(), clock.clone(), right.clone(), Arc::clone(&exemptions), effects);
        Self {
            world: World::default(),
            judgement: Arc::default(),
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
            retries: Retries::new(seed),
            hands,
            namespace,
            exemptions,
            gone: BTreeSet::new(),
            unsure_until: clock.now().mono,
            teller: Teller::new(),
            clock,
            actor,
            definition,
            demand,
            right,
            mode,
            metrics,
            heartbeat,
            synced,
            published: None,
            was_acting: false,
        }
    }

    /// Goes round until asked to stop; then starts nothing more, and waits for what is under way.
    pub(crate) async fn run(mut self, mut news: News, mut stop: Shutdown) {
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
                done = self.hands.next() => self.done(done),
                batch = news.next() => self.hear(batch),
                sent = self.teller.outbox.sent() => self.teller.outbox.was_sent(sent, &self.clock, &self.metrics),
                () = self.right.changed() => self.look = true,
                () = self.clock.sleep_until(wake) => {}
            }
        }
        self.drain().await;
    }

    fn hear(&mut self, batch: Batch) {
        batch.keys().iter().for_each(|key| self.retries.changed(key));
        self.look |= matches!(batch, Batch::Pools(_));
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
            self.judgement = Arc::new(Judgement::of(&self.world));
            self.todo = self.judgement.todo.clone();
            let uids: BTreeSet<&Uid> = self.judgement.seen.iter().map(|seen| &seen.uid).collect();
            self.told.retain(|uid, _| uids.contains(uid));
            self.retries.retain(|key| match key {
                Key::Pool(uid) => uids.contains(uid),
                Key::Node(node) => self.todo.contains(node),
                Key::Pod(_) | Key::Roster => true,
            });
            if self.mode == Mode::Observe && !self.todo.is_empty() {
                tracing::info!(nodes = self.todo.len(), "would write nodes for dedicated pools now");
            }
        }
        self.counts = census::census(&self.judgement, &self.world, &self.exemptions);
        let evicted: BTreeSet<&Uid> =
            self.counts.iter().flat_map(|counts| &counts.evicted).map(|one| &one.uid).collect();
        self.gone.retain(|uid| evicted.contains(uid));
        self.retries.retain(|key| !matches!(key, Key::Pod(uid) if !evicted.contains(uid)));
        (self.stale, self.stale_pods, self.look) = (false, false, true);
        let now = self.clock.now().mono;
        (self.judged, self.took) = (Some(now), now.since(began));
    }

    fn may_act(&self) -> bool {
        self.right.is_given(self.clock.now().mono, self.actor.longest_request())
    }

    /// Begins what is due, as long as there is room.
    fn act(&mut self) {
        let acting = self.may_act();
        if acting != std::mem::replace(&mut self.was_acting, acting) && self.mode == Mode::Enforce {
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
        self.teller.outbox.send(&self.actor, self.clock.now().mono, &self.metrics);
    }

    fn done(&mut self, done: Done) {
        let now = self.clock.now();
        self.look |= matches!(done.key, Key::Pool(_));
        match done.result {
            Ok(answer) => {
                self.retries.succeeded(&done.key);
                self.answered(&done.errand, answer);
            }
            Err(refusal) => {
                self.teller.complain(&done.errand, &refusal, now.mono);
                if let (Errand::Member(_), ApiFailure::Unavailable) = (&done.errand, refusal.failure) {
                    self.unsure_until = now.mono.plus(self.actor.longest_request());
                }
                self.retries.failed(done.key, &refusal, now.mono);
            }
        }
    }

    fn answered(&mut self, errand: &Errand, answer: Answer) {
        match (answer, errand) {
            (Answer::Node(member), Errand::Member(node)) => {
                self.todo.remove(node);
                self.teller.member(&member);
                self.stale |= self.world.nodes.answered(member.seen);
            }
            (Answer::Pool(Some(after)), Errand::Tell(before, _)) => {
                self.teller.told(before, &after, self.clock.now().wall);
                self.stale |= self.world.pools.answered(*after);
            }
            (Answer::Pool(Some(after)), _) => self.stale |= self.world.pools.answered(*after),
            (Answer::Pool(None), Errand::Release(pool)) => {
                tracing::info!(pool = &*pool.pool.name, "pool is gone, and nothing of it is left on nodes");
                self.stale |= self.world.pools.remove(&pool.uid);
            }
            (Answer::Leaving, Errand::Evict(pool, trespasser)) => {
                self.gone.insert(trespasser.uid.clone());
                self.teller.evicted(&pool.pool.name, trespasser, self.clock.now().wall);
            }
            (Answer::Roster, Errand::Roster(_, known)) => {
                self.listed = Some((known.clone(), self.clock.now().mono));
            }
            (Answer::Pool(None) | Answer::Node(_) | Answer::Leaving | Answer::Roster, _) => {}
        }
    }

    /// Publishes counts, once in a while.
    fn publish(&mut self) {
        let now = self.clock.now().mono;
        if self.published.is_some_and(|last| now < last.plus(HOUSEKEEPING)) {
            return;
        }
        (self.published, self.look) = (Some(now), true);
        let mut sums = census::sums(&self.judgement, &self.counts, &self.world);
        (sums.waiting, sums.retrying) = (self.todo.len(), self.retries.nodes());
        self.metrics.pools.set(sums);
        self.teller.outbox.count_dropped(self.right.is_lost(now), &self.metrics);
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
            while self.hands.in_flight() > 0 {
                let done = self.hands.next().await;
                self.done(done);
            }
            self.teller.outbox.finish().await;
        };
        if tokio::time::timeout(DRAIN_MAX, ending).await.is_err() {
            tracing::warn!(
                "stopped with requests about dedicated pools unanswered; whether they were carried out is unknown"
            );
        }
        self.teller.outbox.count_dropped(true, &self.metrics);
    }
}
