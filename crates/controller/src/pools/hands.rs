//! # Hands: carrying out what pools need
//! Room:     requests in flight, how many there may be, and what came of each.
//! Comes in: errands, decided just now.
//! Goes out: what the API server answered.
//! Keeps:    one errand at a time for each node and pool; each comes back exactly once.
//! Not here: whether we may act (`right.rs`); which errand is next (`pools.rs`).

use super::judge::Judgement;
use super::retries::Key;
use crate::metrics::{self, Effects};
use crate::right::Right;
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use std::collections::BTreeSet;
use std::sync::Arc;
use taintward_client::act::{Actor, MemberNow, Refusal};
use taintward_client::clock::Clock;
use taintward_client::decode::{SeenMember, SeenNamespace, SeenPod, SeenPool};
use taintward_client::pools::{KNOWN_NODES, KnownNodes, status_patch};
use taintward_core::admission::pool::{PoolExemptions, UnauthorizedPod, is_trespasser, remembered};
use taintward_core::api_error::ApiFailure;
use taintward_core::identity::NodeName;
use taintward_core::time::Mono;

/// Nodes that are written at once, at most.
const NODES_AT_ONCE: usize = 8;

/// Pools that are written at once, at most.
const POOLS_AT_ONCE: usize = 4;

/// Pods that are evicted at once, at most: none is urgent, and each takes five requests.
const EVICTIONS_AT_ONCE: usize = 2;

/// Something to do.
#[derive(Clone, Debug)]
pub(super) enum Errand {
    /// Put our finalizer on a pool.
    Hold(SeenPool),
    /// Write a pool's status.
    Tell(SeenPool, Bytes),
    /// Let a pool's status forget what is on no node any more, as a live look at all of them says.
    Forget(SeenPool),
    /// Take our finalizer off a pool that is being deleted, if a live look at all nodes finds nothing of it.
    Release(SeenPool),
    /// Make a node what it is to be.
    Member(NodeName),
    /// Evict a pod of others from a node of this pool.
    Evict(SeenPool, UnauthorizedPod),
    /// Tell the admission policy, in this namespace, which nodes are known.
    Roster(Arc<str>, KnownNodes),
}

/// What the API server answered.
#[derive(Debug)]
pub(super) enum Answer {
    /// The pool afterwards; `None`: it is gone.
    Pool(Option<Box<SeenPool>>),
    /// The node afterwards.
    Node(Box<MemberNow>),
    /// The eviction is accepted: the pod is leaving.
    Leaving,
    /// The names of known nodes are in step, if a policy reads them.
    Roster,
}

/// What came of an errand.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) errand: Errand,
    pub(super) key: Key,
    pub(super) result: Result<Answer, Refusal>,
    sent: Mono,
}

/// Requests in flight.
pub(super) struct Hands {
    actor: Actor,
    clock: Clock,
    right: Right,
    exemptions: Arc<PoolExemptions>,
    effects: Effects,
    busy: BTreeSet<Key>,
    nodes: usize,
    in_flight: FuturesUnordered<BoxFuture<'static, Done>>,
}

impl Errand {
    pub(super) fn key(&self) -> Key {
        match self {
            Self::Hold(pool) | Self::Tell(pool, _) | Self::Forget(pool) | Self::Release(pool) => {
                Key::Pool(pool.uid.clone())
            }
            Self::Member(node) => Key::Node(node.clone()),
            Self::Evict(_, trespasser) => Key::Pod(trespasser.uid.clone()),
            Self::Roster(..) => Key::Roster,
        }
    }

    /// The kind of request, as metrics name it.
    pub(super) const fn kind(&self) -> metrics::Effect {
        match self {
            Self::Hold(_) | Self::Release(_) => metrics::Effect::HoldPool,
            Self::Tell(..) | Self::Forget(_) => metrics::Effect::TellPool,
            Self::Member(_) => metrics::Effect::Dedicate,
            Self::Evict(..) => metrics::Effect::EvictTrespasser,
            Self::Roster(..) => metrics::Effect::ListNodes,
        }
    }

    /// The object in words.
    pub(super) fn object(&self) -> &str {
        match self {
            Self::Hold(pool) | Self::Tell(pool, _) | Self::Forget(pool) | Self::Release(pool) => {
                &pool.pool.name
            }
            Self::Member(node) => node.as_str(),
            Self::Evict(_, trespasser) => trespasser.pod.name(),
            Self::Roster(..) => KNOWN_NODES,
        }
    }
}

impl Hands {
    pub(super) fn new(
        actor: Actor,
        clock: Clock,
        right: Right,
        exemptions: Arc<PoolExemptions>,
        effects: Effects,
    ) -> Self {
        let (busy, in_flight) = (BTreeSet::new(), FuturesUnordered::new());
        Self { actor, clock, right, exemptions, effects, busy, nodes: 0, in_flight }
    }

    /// How many nodes more may be written at once.
    pub(super) fn room_for_nodes(&self) -> usize {
        NODES_AT_ONCE.saturating_sub(self.nodes)
    }

    pub(super) fn has_room_for_pools(&self) -> bool {
        let others = |key: &&Key| !matches!(key, Key::Node(_) | Key::Pod(_));
        self.busy.iter().filter(others).count() < POOLS_AT_ONCE
    }

    pub(super) fn is_busy_with(&self, key: &Key) -> bool {
        self.busy.contains(key)
    }

    /// How many pods more may be evicted at once.
    pub(super) fn room_for_evictions(&self) -> usize {
        let under_way = self.busy.iter().filter(|key| matches!(key, Key::Pod(_))).count();
        EVICTIONS_AT_ONCE.saturating_sub(under_way)
    }

    /// Whether some node is being written.
    pub(super) fn is_writing_nodes(&self) -> bool {
        self.nodes > 0
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Sends the requests of an errand.
    pub(super) fn begin(&mut self, errand: Errand, judgement: &Arc<Judgement>) {
        let (sent, key) = (self.clock.now().mono, errand.key());
        self.effects.began();
        self.busy.insert(key.clone());
        self.nodes += usize::from(matches!(errand, Errand::Member(_)));
        let (actor, clock, right) = (self.actor.clone(), self.clock.clone(), self.right.clone());
        let way = Way { actor, clock, right, exemptions: Arc::clone(&self.exemptions) };
        let judgement = Arc::clone(judgement);
        self.in_flight.push(Box::pin(async move {
            let result = way.carry_out(&errand, &judgement).await;
            Done { errand, key, result, sent }
        }));
    }

    /// The next answer; waits for ever while nothing is in flight.
    pub(super) async fn next(&mut self) -> Done {
        let Some(done) = self.in_flight.next().await else { return std::future::pending().await };
        self.busy.remove(&done.key);
        self.nodes -= usize::from(matches!(done.errand, Errand::Member(_)));
        let result = done.result.as_ref().map(|_| ()).map_err(|refusal| refusal.failure);
        self.effects.ended(done.errand.kind(), result, self.clock.now().mono.since(done.sent));
        done
    }
}

/// What an errand takes.
struct Way {
    actor: Actor,
    clock: Clock,
    right: Right,
    exemptions: Arc<PoolExemptions>,
}

impl Way {
    async fn carry_out(&self, errand: &Errand, judgement: &Judgement) -> Result<Answer, Refusal> {
        let actor = &self.actor;
        let pool = |pool: SeenPool| Answer::Pool(Some(Box::new(pool)));
        match errand {
            Errand::Hold(seen) => Ok(Answer::Pool(actor.hold_pool(seen, true).await?.map(Box::new))),
            Errand::Tell(seen, body) => {
                Ok(pool(actor.write_pool_status(&seen.pool.name, body.clone()).await?))
            }
            Errand::Forget(seen) => {
                let past = remembered(&seen.pool, &actor.list_members().await?);
                let body = seen.told.as_ref().and_then(|told| status_patch(seen, told, &past));
                let Some(body) = body else { return Ok(pool(seen.clone())) };
                self.still_may()?;
                Ok(pool(actor.write_pool_status(&seen.pool.name, body).await?))
            }
            Errand::Release(seen) => {
                if !remembered(&seen.pool, &actor.list_members().await?).is_empty() {
                    let name = &seen.pool.name;
                    return Err(conflict(format!("pool {name} is still on nodes: they are looked at again")));
                }
                self.still_may()?;
                Ok(Answer::Pool(actor.hold_pool(seen, false).await?.map(Box::new)))
            }
            Errand::Member(node) => {
                let written = actor.write_member(node, |live| judgement.intent(&live.node)).await?;
                Ok(Answer::Node(Box::new(written)))
            }
            Errand::Evict(pool, trespasser) => {
                let is_still = |node: &SeenMember, namespace: &SeenNamespace, pod: &SeenPod| {
                    let resident = pod.resident();
                    judgement.owns(pool, &node.node)
                        && resident.is_some_and(|fact| {
                            let resident = fact.resident(Some(&namespace.facts.labels));
                            is_trespasser(&pool.pool, &resident, &self.exemptions)
                        })
                };
                actor.evict_trespasser(trespasser, pool, is_still).await?;
                Ok(Answer::Leaving)
            }
            Errand::Roster(namespace, known) => {
                actor.write_known_nodes(namespace, known).await?;
                Ok(Answer::Roster)
            }
        }
    }

    /// A list of all nodes may take longer than the lease lasts (S5).
    fn still_may(&self) -> Result<(), Refusal> {
        match self.right.is_given(self.clock.now().mono, self.actor.longest_request()) {
            true => Ok(()),
            false => Err(conflict("nothing was written: the lease may be another's by now".to_owned())),
        }
    }
}

fn conflict(message: String) -> Refusal {
    Refusal::ours(ApiFailure::Conflict, message)
}
