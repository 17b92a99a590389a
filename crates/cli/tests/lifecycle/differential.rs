//! Runs one script with kube-controller-manager and with Taintward, on a cluster each (D12).
//!
//! - Fails for an undocumented difference, and for a documented one that does not appear.

use super::script::{self, RATE};
use super::side::{ControllerKind, LifecycleController};
use super::trail::Played;
use super::{compare, documented};
use crate::real::harness::AuditExceptions;
use crate::real::witness::Witness;
use taintward_envtest::{Binaries, Cluster, ClusterConfig};

async fn played(controller: ControllerKind, cluster: &Cluster) -> Vec<Played> {
    let mut side = LifecycleController::start(controller, cluster, script::plans(), RATE, &[]).await;
    script::play(&mut side).await;
    side.played
}

/// D12.
pub(crate) async fn differences_are_the_documented_ones(
    cluster: &mut Cluster,
    _: &Witness,
) -> AuditExceptions {
    let beside = Cluster::start(&Binaries::find().unwrap(), ClusterConfig::default()).await.unwrap();
    let (original, ours) =
        tokio::join!(played(ControllerKind::Upstream, cluster), played(ControllerKind::Taintward, &beside));
    let mut wrong = documented::judge(&compare::differences(&original, &ours), cluster.minor());
    for (controller, steps) in [("kube-controller-manager", &original), ("taintward", &ours)] {
        let unlike = steps.iter().filter(|step| !step.wrong.is_empty());
        wrong.extend(unlike.map(|step| format!("{controller}: {}: in the end {:?}", step.step, step.wrong)));
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
    AuditExceptions { stamps: true, ..AuditExceptions::default() }
}
