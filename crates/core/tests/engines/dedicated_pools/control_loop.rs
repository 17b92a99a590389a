//! Drives the engine on virtual time: late watches, slow and failing requests, restarts.

use crate::dedicated_pools::api_server::{PoolApiServer, exemptions, failed};
use std::collections::BTreeMap;
use taintward_core::api_error::ApiFailure;
use taintward_core::dedicated_pools::{
    DedicatedPoolConfig, DedicatedPoolEngine, DedicatedPoolInput, DedicatedPoolNotice, PoolEffect,
};
use taintward_core::engine::{Engine, Lane};
use taintward_core::identity::Uid;
use taintward_core::time::{Mono, Now, Span, Wall};

/// The outcomes of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestOutcomes {
    /// All get a response after 10 ms, and watches are 20 ms late.
    Responded,
    /// Some fail, some responses are lost, and all take some time.
    Unreliable,
    /// All are rejected.
    Forbidden,
}

pub struct PoolLoop {
    pub server: PoolApiServer,
    pub engine: DedicatedPoolEngine,
    pub now: Mono,
    pub outcomes: RequestOutcomes,
    pub leading: bool,
    pub notices: Vec<DedicatedPoolNotice>,
    pub pulled: Vec<PoolEffect>,
    /// When each is carried out, and whether the process still exists to receive the response.
    requests: Vec<(Mono, PoolEffect, bool)>,
    deliver_at: Option<Mono>,
    status_writes: BTreeMap<Uid, Mono>,
    /// Since when each pool is in the guard.
    guarded: BTreeMap<Uid, Mono>,
    /// Since when the guard has had another form of a pool with the label.
    outdated: BTreeMap<Uid, Mono>,
    /// Another client has changed the guard.
    pub tampered: bool,
    watches_others: bool,
    random: u64,
}

fn engine() -> DedicatedPoolEngine {
    DedicatedPoolEngine::new(DedicatedPoolConfig {
        exemptions: exemptions(),
        longest_request: Span::from_secs(5),
    })
}

impl PoolLoop {
    pub fn new(mut server: PoolApiServer, seed: u64) -> Self {
        server.list_all(true);
        Self {
            server,
            engine: engine(),
            now: Mono::from_secs(1),
            outcomes: RequestOutcomes::Responded,
            leading: true,
            notices: Vec::new(),
            pulled: Vec::new(),
            requests: Vec::new(),
            deliver_at: None,
            status_writes: BTreeMap::new(),
            guarded: BTreeMap::new(),
            outdated: BTreeMap::new(),
            tampered: false,
            watches_others: true,
            random: seed | 1,
        }
    }

    fn random_below(&mut self, end: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % end
    }

    pub fn time(&self) -> Now {
        Now::exact(self.now, Wall::from_secs(1_800_000_000).plus(self.now.since(Mono::from_secs(0))))
    }

    /// The process crashes, and another one starts; requests in flight are still carried out.
    pub fn restart(&mut self) {
        self.engine = engine();
        self.requests.iter_mut().for_each(|(_, _, mine)| *mine = false);
        (self.watches_others, self.deliver_at) = (true, None);
        self.status_writes.clear();
        self.outdated.clear();
        self.server.list_all(true);
    }

    /// Lets time pass.
    pub fn run_for(&mut self, span: Span) {
        let end = self.now.plus(span);
        for _ in 0..200_000 {
            self.turn();
            let wakeup = self.engine.next_wakeup();
            assert!(
                wakeup.is_none_or(|at| at > self.now),
                "it would loop without end: {wakeup:?} at {:?}",
                self.now
            );
            let requests = self.requests.iter().map(|(at, _, _)| *at);
            let next = requests.chain(wakeup).chain(self.deliver_at).min().unwrap_or(end);
            if next >= end {
                self.now = end;
                return;
            }
            self.now = next.max(self.now.plus(Span::from_micros(1)));
        }
        panic!("it never comes to rest");
    }

    fn turn(&mut self) {
        self.carry_out_requests();
        self.server.assert_kept();
        self.assert_up_to_date();
        let guard = self.server.guard.clone().unwrap_or_default();
        let since = |uid: &Uid| self.guarded.get(uid).copied().unwrap_or(self.now);
        self.guarded = guard.pools.iter().map(|pool| (pool.uid.clone(), since(&pool.uid))).collect();
        self.deliver();
        self.engine.tick(self.now);
        let took = Span::from_millis(i64::try_from(self.random_below(3)).unwrap());
        self.engine.handle(DedicatedPoolInput::TickTook(took), self.time());
        let needs_others = self.engine.needs_other_watches();
        if needs_others && !self.watches_others {
            self.server.list_all(true);
        }
        self.watches_others = needs_others;
        while self.leading
            && let Some(effect) = self.engine.next_effect(Lane::All, self.time())
        {
            let takes =
                if self.outcomes == RequestOutcomes::Unreliable { self.random_below(400) } else { 10 };
            let at = self.now.plus(Span::from_millis(i64::try_from(takes).unwrap() + 1));
            self.note(&effect);
            self.requests.push((at, effect, true));
        }
        self.notices.extend(self.engine.take_notices());
        if self.deliver_at.is_none() && !self.server.events.is_empty() {
            let late = if self.outcomes == RequestOutcomes::Unreliable { self.random_below(700) } else { 20 };
            self.deliver_at = Some(self.now.plus(Span::from_millis(i64::try_from(late).unwrap() + 1)));
        }
    }

    /// Asserts that a change of a pool with the label, or of its copy by another client, takes effect soon, or the label
    /// is removed; a new process has its own time for that.
    fn assert_up_to_date(&mut self) {
        if self.outcomes != RequestOutcomes::Responded || !self.leading {
            self.outdated.clear();
            return;
        }
        let outdated = self.server.outdated();
        let since = |uid: &Uid| self.outdated.get(uid).copied().unwrap_or(self.now);
        self.outdated = outdated.into_iter().map(|uid| (uid.clone(), since(&uid))).collect();
        let (now, longest) = (self.now, Span::from_secs(8));
        let late: Vec<_> = self.outdated.iter().filter(|(_, since)| now > since.plus(longest)).collect();
        assert!(late.is_empty(), "pods are judged by an outdated copy of {late:?} at {now:?}");
    }

    fn note(&mut self, effect: &PoolEffect) {
        if let PoolEffect::UpdateStatus { pool, .. } = effect {
            let is_urgent = !pool.pool.marks().iter().all(|mark| pool.pool.applied_marks.contains(mark));
            let before = self.status_writes.insert(pool.uid.clone(), self.now);
            let is_due = before.is_none_or(|before| self.now >= before.plus(Span::from_secs(1)));
            assert!(is_urgent || is_due, "the status of {} is written twice in a second", pool.pool.name);
        }
        if let PoolEffect::AddGuardLabel(pool) = effect
            && !self.tampered
        {
            let since = self.guarded.get(&pool.uid).expect("it is in the guard");
            assert!(
                self.now >= since.plus(Span::from_secs(5)),
                "not every API server has observed it: {since:?}"
            );
        }
        if let PoolEffect::RemoveFinalizer(_) | PoolEffect::PruneStatus(_) = effect {
            let is_node = |effect: &PoolEffect| matches!(effect, PoolEffect::ReconcileNode { .. });
            let is_writing = self.requests.iter().any(|(_, effect, mine)| *mine && is_node(effect));
            assert!(!is_writing, "a list of nodes may be outdated by then: {effect:?}");
        }
        if let PoolEffect::ReconcileNode { node, plan } = effect
            && let Some(live) = self.server.nodes.get(node.as_str())
            && let Some(pool) = plan.desired_edits(&live.node).pool
        {
            assert!(pool.has_finalizer(), "{node} would be written before {} is held", pool.pool.name);
            let marks = &pool.pool.applied_marks;
            assert!(pool.pool.marks().iter().all(|mark| marks.contains(mark)), "{node}: {marks:?}");
        }
        self.pulled.push(effect.clone());
    }

    fn deliver(&mut self) {
        if self.deliver_at.take_if(|at| *at <= self.now).is_none() {
            return;
        }
        let now = self.time();
        for input in std::mem::take(&mut self.server.events) {
            if self.watches_others || matches!(input, DedicatedPoolInput::Pools(_)) {
                self.engine.handle(input, now);
            }
        }
    }

    fn carry_out_requests(&mut self) {
        let (due, later) =
            std::mem::take(&mut self.requests).into_iter().partition(|(at, _, _)| *at <= self.now);
        self.requests = later;
        for (_, effect, mine) in due {
            let fault = if self.outcomes == RequestOutcomes::Unreliable { self.random_below(8) } else { 8 };
            let result = match fault {
                _ if self.outcomes == RequestOutcomes::Forbidden => Err(failed(ApiFailure::Forbidden)),
                0 => Err(failed(ApiFailure::Unavailable)),
                1 => {
                    let _carried_out_and_lost = self.server.execute(&effect);
                    Err(failed(ApiFailure::Unavailable))
                }
                2 => Err(failed(ApiFailure::Throttled(Some(Span::from_secs(2))))),
                3 => Err(failed(ApiFailure::Conflict)),
                _ => self.server.execute(&effect),
            };
            if mine {
                self.engine.handle(DedicatedPoolInput::EffectDone { effect, result }, self.time());
            }
        }
    }
}
