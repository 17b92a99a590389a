//! Lists what makes each alert fire.

mod nodes;
mod pods;
mod replicas;
mod webhook;

use super::alert_cause::AlertCause;

/// All causes. The test produces the first alone, before Prometheus scrapes any process, and the others at the same time.
pub(crate) const CAUSES: &[AlertCause] = &[
    AlertCause {
        alerts: &["TaintwardControllerAbsent", "TaintwardWebhookAbsent"],
        what: "no process runs; then both do",
        produce: |run| Box::pin(replicas::none(run)),
    },
    AlertCause {
        alerts: &["TaintwardNoLeader", "TaintwardEvictionBacklog", "TaintwardGuardCeilingNear"],
        what: "another holder has the lease, and a guarded pod's node is silent; then the lease is released",
        produce: |run| Box::pin(replicas::lease_held(run)),
    },
    AlertCause {
        alerts: &["TaintwardTwoLeaders"],
        what: "two replicas run with --leader-elect=false; then one",
        produce: |run| Box::pin(replicas::two(run)),
    },
    AlertCause {
        alerts: &["TaintwardOtherEvictor"],
        what: "a pod gets kube-controller-manager's condition and is deleted, by its two requests; then no other",
        produce: |run| Box::pin(replicas::other_evictor(run)),
    },
    AlertCause {
        alerts: &["TaintwardEvictionsRefused"],
        what: "a PodDisruptionBudget protects a pod on a pool's node; then it is deleted",
        produce: |run| Box::pin(pods::protected(run)),
    },
    AlertCause {
        alerts: &["TaintwardEvictionPolicyBlocked"],
        what: "a PodDisruptionBudget with maxUnavailable 0 protects a pod of a policy; then it is deleted",
        produce: |run| Box::pin(pods::blocked_policy(run)),
    },
    AlertCause {
        alerts: &["TaintwardEvictionsBraked"],
        what: "a node with a pod gets a taint with --brake-limit=0; then the taint is removed",
        produce: |run| Box::pin(pods::braked(run)),
    },
    AlertCause {
        alerts: &["TaintwardPoolNotGuarded"],
        what: "the PoolGuard is deleted; then it is created again",
        produce: |run| Box::pin(pods::no_pool_guard(run)),
    },
    AlertCause {
        alerts: &["TaintwardGuardPending"],
        what: "a namespace with many pods becomes guarded with --guard-qps=1; then all are patched",
        produce: |run| Box::pin(pods::slow_guard(run)),
    },
    AlertCause {
        alerts: &["TaintwardPodsHeld"],
        what: "taintward hold; then taintward release",
        produce: |run| Box::pin(pods::held(run)),
    },
    AlertCause {
        alerts: &["TaintwardNodesNotTainted"],
        what: "four of a zone's six kubelets are silent; then they send heartbeats",
        produce: |run| Box::pin(nodes::zone_partly_silent(run)),
    },
    AlertCause {
        alerts: &["TaintwardEverythingDown"],
        what: "all kubelets are silent; then they send heartbeats",
        produce: |run| Box::pin(nodes::all_silent(run)),
    },
    AlertCause {
        alerts: &["TaintwardOutOfServiceStale"],
        what: "a node that is ready gets the taint out-of-service; then the taint is removed",
        produce: |run| Box::pin(nodes::ready_out_of_service(run)),
    },
    AlertCause {
        alerts: &["TaintwardWatchStale", "TaintwardObservationInDoubt"],
        what: "the API server is stopped (SIGSTOP); then it continues",
        produce: |run| Box::pin(nodes::api_server_stopped(run)),
    },
    AlertCause {
        alerts: &["TaintwardClockOffset"],
        what: "the API server's clock is set forward by 20 s; then back",
        produce: |run| Box::pin(nodes::clock_set(run)),
    },
    AlertCause {
        alerts: &["TaintwardCertificateEnds", "TaintwardWebhookFailsOpen", "TaintwardBrakeRefuses"],
        what: "a certificate of three days, a pod that cannot be decoded, a taint on the last node; then a new certificate, and \
               no further such objects",
        produce: |run| Box::pin(webhook::bad_input(run)),
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources;
    use std::collections::BTreeSet;
    use xtask::observability::alerts;

    #[test]
    fn each_alert_has_one_cause() {
        let alerts = alerts(sources::root()).unwrap();
        let mut defined: BTreeSet<&str> = alerts.iter().map(|alert| &*alert.name).collect();
        let caused: Vec<&str> = CAUSES.iter().flat_map(|cause| cause.alerts).copied().collect();
        // Only a bug can cause it, so that a real cluster cannot.
        defined.remove("TaintwardInvariantViolated");
        let missing: Vec<&&str> = defined.iter().filter(|alert| !caused.contains(alert)).collect();
        assert!(missing.is_empty(), "no cause is defined for {missing:?}: add one in {}", file!());
        let distinct: BTreeSet<&str> = caused.iter().copied().collect();
        assert!(
            distinct == defined && caused.len() == distinct.len(),
            "causes of alerts that do not exist, or two causes of one alert: {caused:?}"
        );
    }
}
