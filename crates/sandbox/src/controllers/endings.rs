//! Completes pods that run to completion, after the time in their annotation or the default.
//!
//! - Invariant: only pods that a kubelet of the sandbox has started are completed; those of a loaded cluster stay as
//!   they were.

use super::ReconcileContext;
use super::pods::{is_over, on, pods};
use crate::core_types;
use fakekube::resource::Subresource;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

/// The annotation with a pod's running time: `90s`, `5m`.
pub const RUNS_FOR: &str = "sandbox.taintward.io/runs-for";

/// The running time of a Job's pod without the annotation.
const USUALLY: SignedDuration = SignedDuration::from_secs(10);

/// The prefix of the sandbox's container IDs.
const OURS: &str = "sandbox://";

/// When a running pod completes; `None` for one that runs until it is deleted.
pub(super) fn ends_at(pod: &Value) -> Option<Timestamp> {
    let (spec, status) = (&pod["spec"], &pod["status"]);
    // Containers with this policy are restarted whenever they end.
    if status["phase"] != "Running" || matches!(spec["restartPolicy"].as_str(), None | Some("" | "Always")) {
        return None;
    }
    let owners = core_types::list(&pod["metadata"]["ownerReferences"]);
    let of_job = owners.into_iter().any(|owner| owner["controller"] == true && owner["kind"] == "Job");
    let requested = pod["metadata"]["annotations"][RUNS_FOR].as_str().and_then(|text| text.parse().ok());
    let length = requested.or(of_job.then_some(USUALLY))?;
    let container = &status["containerStatuses"][0];
    let began = container["state"]["running"]["startedAt"].as_str()?.parse::<Timestamp>().ok()?;
    let ours = container["containerID"].as_str().is_some_and(|id| id.starts_with(OURS));
    ours.then(|| began.saturating_add(length).ok()).flatten()
}

impl ReconcileContext<'_> {
    /// Completes a pod: all its containers have succeeded.
    pub(super) fn complete(&self, by: &str, pod: &Value) {
        if is_over(pod) {
            return;
        }
        let now = self.server.clock().time_text();
        let _ = self.server.change(&on(pods(), pod).part(Subresource::Status), by, |pod| {
            for condition in pod["status"]["conditions"].as_array_mut().into_iter().flatten() {
                if condition["type"] == "Ready" || condition["type"] == "ContainersReady" {
                    condition["status"] = json!("False");
                    condition["reason"] = json!("PodCompleted");
                    condition["lastTransitionTime"] = json!(now);
                }
            }
            for status in pod["status"]["containerStatuses"].as_array_mut().into_iter().flatten() {
                status["ready"] = json!(false);
                status["started"] = json!(false);
                status["state"] =
                    json!({"terminated": {"exitCode": 0, "reason": "Completed", "finishedAt": now}});
            }
            pod["status"]["phase"] = json!("Succeeded");
        });
    }
}

#[cfg(test)]
mod tests {
    use super::{RUNS_FOR, ends_at};
    use serde_json::{Value, json};
    use testkit::{ObjectExt as _, pod};

    /// A pod of an owner, with a container that runs.
    fn running_pod(restart: &str, runs: Option<&str>, owner: &str, id: &str) -> Value {
        let running = json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}});
        pod("p")
            .with("metadata.annotations", json!({RUNS_FOR: runs}))
            .with("metadata.ownerReferences", json!([{"kind": owner, "controller": true}]))
            .with("spec.restartPolicy", restart)
            .with("status.phase", "Running")
            .with("status.containerStatuses", json!([{"containerID": id, "state": running}]))
    }

    #[test]
    fn work_ends_and_what_is_started_again_or_was_loaded_does_not() {
        for (restart, runs, owner, id, end) in [
            ("Never", None, "Job", "sandbox://1", Some("2026-01-01T00:00:10Z")),
            ("OnFailure", Some("2m"), "Job", "sandbox://1", Some("2026-01-01T00:02:00Z")),
            ("Never", Some("no time"), "Job", "sandbox://1", Some("2026-01-01T00:00:10Z")),
            ("Never", Some("1m"), "Other", "sandbox://1", Some("2026-01-01T00:01:00Z")),
            ("Never", None, "Other", "sandbox://1", None),
            ("Always", Some("1m"), "Job", "sandbox://1", None),
            ("Never", Some("1m"), "Job", "containerd://1", None),
        ] {
            let end = end.map(|end| end.parse().unwrap());
            assert_eq!(
                ends_at(&running_pod(restart, runs, owner, id)),
                end,
                "{restart} {runs:?} {owner} {id}"
            );
        }
        let mut waiting = running_pod("Never", None, "Job", "sandbox://1");
        waiting["status"]["phase"] = json!("Pending");
        assert_eq!(ends_at(&waiting), None);
    }
}
