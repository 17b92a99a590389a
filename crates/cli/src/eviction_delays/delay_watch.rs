//! Reads again and again what delays due pods and which holds count, for as long as pods are due or held.
//!
//! - Invariant: while no pod is due or held, or nothing can delay an eviction, no pods are listed.

use super::DueDelays;
use crate::active_controllers::ActiveControllers;
use crate::cluster_state::ObjectLists;
use std::time::Duration;
use taintward_core::toleration_matching::NumericOperators;
use taintward_kube::api::RequestBudget;
use taintward_kube::clock::Clock;
use tokio::sync::watch;

/// The pause between two reads; longer for many pods, because each read lists all of them.
const PAUSE: Duration = Duration::from_secs(5);
const PAUSE_PER_POD: Duration = Duration::from_micros(200);

/// The pause after a read that was not complete.
const PAUSE_AFTER_ERROR: Duration = Duration::from_secs(60);

/// What delays the due pods of a cluster, and forbids holds of pods. The reads end when it is dropped.
pub(crate) struct DelayWatch {
    needed: watch::Sender<usize>,
    delays: watch::Receiver<DueDelays>,
}

impl DelayWatch {
    /// No pod is due or held at first.
    pub(crate) fn start(
        client: kube::Client,
        limit: RequestBudget,
        numeric: NumericOperators,
        clock: Clock,
    ) -> Self {
        let (needed, mut pods_now) = watch::channel(0);
        let (sender, delays) = watch::channel(DueDelays::default());
        let limit = limit.only_each();
        tokio::spawn(async move {
            loop {
                let pods = *pods_now.borrow_and_update();
                if pods == 0 {
                    sender.send_if_modified(|delays| std::mem::take(delays) != DueDelays::default());
                    match pods_now.changed().await {
                        Ok(()) => continue,
                        Err(_) => return,
                    }
                }
                let now = clock.now().wall;
                let controllers = ActiveControllers::read(&client, limit, now).await;
                let lists = ObjectLists::Cluster(&client, limit);
                let read = DueDelays::read(lists, Some(&controllers), numeric, now).await;
                let pause = if read.unread.is_empty() { pause(pods) } else { PAUSE_AFTER_ERROR };
                sender.send_if_modified(|delays| std::mem::replace(delays, read.clone()) != read);
                let no_pods = pods_now.wait_for(|pods| *pods == 0);
                if matches!(tokio::time::timeout(pause, no_pods).await, Ok(Err(_))) {
                    return;
                }
            }
        });
        Self { needed, delays }
    }

    /// Whether any pod is due or held now, of so many that exist.
    pub(crate) fn set_needed(&self, any: bool, pods: usize) {
        let needed = if any { pods.max(1) } else { 0 };
        self.needed.send_if_modified(|before| std::mem::replace(before, needed) != needed);
    }

    /// Waits until something else delays the due pods.
    pub(crate) async fn changed(&mut self) {
        if self.delays.changed().await.is_err() {
            std::future::pending().await
        }
    }

    /// What delayed them at the last read.
    pub(crate) fn delays(&self) -> DueDelays {
        self.delays.borrow().clone()
    }
}

/// The pause for so many pods.
fn pause(pods: usize) -> Duration {
    PAUSE + PAUSE_PER_POD.saturating_mul(u32::try_from(pods).unwrap_or(u32::MAX))
}
