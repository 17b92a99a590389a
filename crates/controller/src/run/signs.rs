//! # Signs: what the process shows of itself
//! Room:     metrics, signs of life of the loops, what is synced; the health checks made of them.
//! Comes in: settings, a clock, the health of the streams.
//! Goes out: [`Check`]s.
//! Not here: serving them (`admin`).

use super::ears::Ear;
use super::{Ears, LOOP_SILENCE_MAX, mode};
use crate::admin::{Check, Heartbeat, Scope};
use crate::metrics::{self, Metrics, MonoClock};
use crate::settings::Settings;
use crate::streams::{self, INTERRUPTED_MAX};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use taintward_client::clock::Clock;

/// What the process shows of itself.
pub(super) struct Signs {
    pub(super) metrics: Arc<Metrics>,
    pub(super) heartbeat: Heartbeat,
    pub(super) synced: Arc<AtomicBool>,
    /// The same of node health.
    pub(super) node_heartbeat: Heartbeat,
    pub(super) nodes_synced: Arc<AtomicBool>,
    /// The same of dedicated pools.
    pub(super) pool_heartbeat: Heartbeat,
    pub(super) pools_synced: Arc<AtomicBool>,
}

impl Signs {
    pub(super) fn new(settings: &Settings, clock: &Clock, host: &str) -> Self {
        let about = metrics::About {
            version: env!("CARGO_PKG_VERSION"),
            mode: mode(settings),
            lease: settings.election.as_ref().map_or_else(String::new, |election| election.name.clone()),
            started: clock.now().wall,
            host: host.to_owned(),
        };
        let clock = clock.clone();
        let mono: MonoClock = Arc::new(move || clock.now().mono);
        Self {
            metrics: Arc::new(Metrics::new(Arc::clone(&mono), &about)),
            heartbeat: Heartbeat::new(LOOP_SILENCE_MAX, Arc::clone(&mono)),
            synced: Arc::new(AtomicBool::new(false)),
            node_heartbeat: Heartbeat::new(LOOP_SILENCE_MAX, Arc::clone(&mono)),
            nodes_synced: Arc::new(AtomicBool::new(false)),
            pool_heartbeat: Heartbeat::new(LOOP_SILENCE_MAX, mono),
            pools_synced: Arc::new(AtomicBool::new(false)),
        }
    }

    /// Nothing goes round yet, and nothing is stuck.
    pub(super) fn beat(&self) {
        [&self.heartbeat, &self.node_heartbeat, &self.pool_heartbeat].into_iter().for_each(Heartbeat::beat);
    }

    /// What must be well for the process to be ready, and to be alive.
    pub(super) fn checks(&self, settings: &Settings, ears: &Ears) -> Vec<Check> {
        let watch = |name, ear: &Ear| {
            Check::new(name, Scope::Ready, streams::check(ear.health.clone(), INTERRUPTED_MAX))
        };
        let while_demanded = |name, ear: &Ear| {
            let (check, demanded) = (streams::check(ear.health.clone(), INTERRUPTED_MAX), ears.demand.on());
            Check::new(name, Scope::Ready, move || if *demanded.borrow() { check() } else { Ok(()) })
        };
        let (nodes, pods) = (("watch-nodes", &ears.nodes), ("watch-pods", &ears.pods));
        let mut checks =
            Vec::from([nodes, pods].map(|(name, ear)| match settings.controllers.look_at_pods() {
                true => watch(name, ear),
                false => while_demanded(name, ear),
            }));
        if settings.controllers.taint_eviction {
            checks.push(Check::new("sync", Scope::Ready, is_synced(&self.synced)));
            checks.push(Check::new("loop", Scope::Live, is_alive(&self.heartbeat)));
        }
        if settings.controllers.node_lifecycle.is_some() {
            checks.push(watch("watch-leases", &ears.leases));
            checks.push(Check::new("sync-node-health", Scope::Ready, is_synced(&self.nodes_synced)));
            checks.push(Check::new("loop-node-health", Scope::Live, is_alive(&self.node_heartbeat)));
        }
        if settings.controllers.dedicated_pools {
            checks.push(watch("watch-pools", &ears.pools));
            checks.push(while_demanded("watch-namespaces", &ears.namespaces));
            checks.push(Check::new("sync-pools", Scope::Ready, is_synced(&self.pools_synced)));
            checks.push(Check::new("loop-pools", Scope::Live, is_alive(&self.pool_heartbeat)));
        }
        checks
    }
}

fn is_synced(synced: &Arc<AtomicBool>) -> impl Fn() -> Result<(), String> + Send + Sync + 'static {
    let synced = Arc::clone(synced);
    move || match synced.load(Ordering::Relaxed) {
        true => Ok(()),
        false => Err("the first lists are not complete".into()),
    }
}

fn is_alive(heartbeat: &Heartbeat) -> impl Fn() -> Result<(), String> + Send + Sync + 'static {
    let heartbeat = heartbeat.clone();
    move || heartbeat.check()
}
