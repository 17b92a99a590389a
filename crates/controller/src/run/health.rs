//! Holds the health state of the process and builds the checks from it.

use super::{HealthState, WatchSet, WatchSlot};
use crate::admin::{Check, LoopHeartbeat, Scope};
use crate::control_loop::LoopHealth;
use crate::eviction::progress;
use crate::metrics::{self, ControllerMetrics, MonoClock};
use crate::settings::ControllerSettings;
use crate::stream_health::{self, INTERRUPTED_MAX};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use taintward_kube::clock::Clock;
use tokio::sync::watch;

impl HealthState {
    pub(super) fn new(settings: &ControllerSettings, clock: &Clock, host: &str) -> Self {
        let about = metrics::BuildInfo {
            version: env!("CARGO_PKG_VERSION"),
            mode: settings.mode.as_str(),
            lease: settings.election.as_ref().map_or_else(String::new, |election| election.name.clone()),
            started: clock.now().wall,
            host: host.to_owned(),
        };
        let clock = clock.clone();
        let mono: MonoClock = Arc::new(move || clock.now().mono);
        Self {
            stalled: watch::channel(None).0,
            metrics: Arc::new(ControllerMetrics::new(Arc::clone(&mono), &about)),
            eviction: LoopHealth::new(Arc::clone(&mono)),
            node_lifecycle: LoopHealth::new(Arc::clone(&mono)),
            dedicated_pools: LoopHealth::new(Arc::clone(&mono)),
            toleration_seconds: LoopHealth::new(mono),
        }
    }

    /// Records a heartbeat of all loops before they run, so that none counts as stuck.
    pub(super) fn beat(&self) {
        [&self.eviction, &self.node_lifecycle, &self.dedicated_pools, &self.toleration_seconds]
            .into_iter()
            .for_each(|health| health.heartbeat.beat());
    }

    /// The readiness and liveness checks of the process.
    pub(super) fn checks(
        &self,
        settings: &ControllerSettings,
        watches: &WatchSet,
        clock: &Clock,
    ) -> Vec<Check> {
        let watch = |name, slot: &WatchSlot| {
            Check::new(name, Scope::Ready, stream_health::check(slot.health.clone(), INTERRUPTED_MAX))
        };
        let while_demanded = |name, slot: &WatchSlot| {
            let (check, demanded) =
                (stream_health::check(slot.health.clone(), INTERRUPTED_MAX), watches.demand.on());
            Check::new(name, Scope::Ready, move || if *demanded.borrow() { check() } else { Ok(()) })
        };
        let (nodes, pods) = (("watch-nodes", &watches.nodes), ("watch-pods", &watches.pods));
        let mut checks =
            Vec::from([nodes, pods].map(|(name, slot)| match settings.controllers.watch_pods() {
                true => watch(name, slot),
                false => while_demanded(name, slot),
            }));
        if settings.controllers.eviction().is_some() {
            checks.push(Check::new("sync", Scope::Ready, is_synced(&self.eviction.synced)));
            checks.push(Check::new("loop", Scope::Live, is_alive(&self.eviction.heartbeat)));
            let stalled = self.stalled.subscribe();
            checks.push(Check::new("evictions", Scope::Ready, progress::check(stalled, clock.clone())));
            if settings.eviction_policies {
                checks.push(watch("watch-eviction-policies", &watches.eviction_policies));
            }
        }
        if settings.controllers.node_lifecycle.is_some() {
            checks.push(watch("watch-leases", &watches.leases));
            checks.push(Check::new("sync-node-health", Scope::Ready, is_synced(&self.node_lifecycle.synced)));
            checks.push(Check::new(
                "loop-node-health",
                Scope::Live,
                is_alive(&self.node_lifecycle.heartbeat),
            ));
        }
        if settings.controllers.dedicated_pools {
            checks.push(watch("watch-pools", &watches.pools));
            if !settings.controllers.follow_namespaces() && !settings.eviction_policies {
                checks.push(while_demanded("watch-namespaces", &watches.namespaces));
            }
            checks.push(Check::new("sync-pools", Scope::Ready, is_synced(&self.dedicated_pools.synced)));
            checks.push(Check::new("loop-pools", Scope::Live, is_alive(&self.dedicated_pools.heartbeat)));
        }
        if settings.controllers.change_seconds() {
            let LoopHealth { synced, heartbeat, .. } = &self.toleration_seconds;
            checks.push(Check::new("sync-toleration-seconds", Scope::Ready, is_synced(synced)));
            checks.push(Check::new("loop-toleration-seconds", Scope::Live, is_alive(heartbeat)));
        }
        if settings.controllers.follow_namespaces() || settings.eviction_policies {
            checks.push(watch("watch-namespaces", &watches.namespaces));
        }
        if settings.controllers.toleration_backfill.is_some() {
            checks.push(watch("watch-policies", &watches.policies));
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

fn is_alive(heartbeat: &LoopHeartbeat) -> impl Fn() -> Result<(), String> + Send + Sync + 'static {
    let heartbeat = heartbeat.clone();
    move || heartbeat.check()
}
