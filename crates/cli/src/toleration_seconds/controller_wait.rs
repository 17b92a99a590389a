//! Waits until a controller has changed pods as a command requested, and shows the progress.

use crate::args::duration;
use crate::stderr;
use std::time::Duration;
use taintward_kube::api::RequestError;
use tokio::time::Instant;

/// The pause between two checks of the pods.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// If nothing changes for this long, the controller is not running.
const REACTION_MAX: Duration = Duration::from_secs(15);

/// A request that a command writes to objects, and a controller reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ControllerRequest {
    pub(crate) controller: &'static str,
    /// What the command writes: `annotations`.
    pub(crate) written: &'static str,
    /// How to check the state of the pods.
    pub(crate) check: &'static str,
}

/// The pods that are not as requested yet.
pub(crate) struct RemainingPods {
    pub(crate) count: usize,
    /// Whether some of them do not wait for their node, so that the controller can change them now.
    pub(crate) are_changeable: bool,
    /// `3 of 5 pods held`
    pub(crate) progress: String,
}

/// Why it is unknown whether the pods are as requested, or why they are not.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ControllerWaitError {
    #[error("{why}; the {} are written, but the state of the pods is unknown; {}", .request.written, .request.check)]
    Unseen { request: ControllerRequest, why: RequestError },
    #[error(
        "{progress} after {}: {controller} does not run, has not finished, or cannot patch pods; check the process \
         `taintward run --controllers={controller}` and its permissions. The {} stay, and the controller applies them as \
         soon as it can", duration::display(*.waited), .request.written, controller = .request.controller
    )]
    Unfinished { request: ControllerRequest, progress: String, waited: Duration },
    #[error(
        "{progress}: {why}. The {} stay, and the controller applies them when it runs (docs/managed-clusters.md)",
        .request.written
    )]
    NoController { request: ControllerRequest, progress: String, why: String },
}

impl ControllerRequest {
    /// The error of a failed check.
    pub(crate) fn unseen(self, why: RequestError) -> ControllerWaitError {
        ControllerWaitError::Unseen { request: self, why }
    }

    /// Checks the pods until all of them are as requested. If the controller seems to be absent, it gives up when one that
    /// runs without an election would have changed the first pod. Later, it only pauses: its requests may be throttled.
    pub(crate) async fn follow<S>(
        self,
        waited: Duration,
        absence: Option<&str>,
        read: impl AsyncFn() -> Result<S, ControllerWaitError>,
        remaining: impl Fn(&S) -> RemainingPods,
    ) -> Result<S, ControllerWaitError> {
        let began = Instant::now();
        let (mut last, mut changed, mut is_warned) = (None, began, false);
        let mut absence = absence;
        loop {
            let state = read().await?;
            let RemainingPods { count, are_changeable, progress } = remaining(&state);
            if count == 0 {
                return Ok(state);
            }
            if last.is_some_and(|last| count < last) {
                absence = None;
            }
            if last != Some(count) {
                (last, changed) = (Some(count), Instant::now());
                stderr::line("", format!("{progress}..."));
            }
            let is_idle = are_changeable && changed.elapsed() >= REACTION_MAX;
            if is_idle && absence.is_none() && !is_warned {
                is_warned = true;
                stderr::warning(&format!(
                    "no pod has changed for 15 s; check that `taintward run --controllers={}` runs",
                    self.controller
                ));
            }
            if began.elapsed() >= waited {
                return Err(ControllerWaitError::Unfinished { request: self, progress, waited });
            }
            if let Some(why) = absence.filter(|_| is_idle) {
                let why = why.to_owned();
                return Err(ControllerWaitError::NoController { request: self, progress, why });
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: ControllerRequest =
        ControllerRequest { controller: "hold", written: "annotations", check: "look" };

    /// Follows three pods, one of which is changed in each of these seconds. Returns the second of the end.
    async fn follow(absence: Option<&str>, changed: &[u64]) -> (Result<(), ControllerWaitError>, u64) {
        let began = Instant::now();
        let read = async || {
            let passed = began.elapsed().as_secs();
            Ok(3 - changed.iter().filter(|second| **second <= passed).count())
        };
        let remaining = |count: &usize| RemainingPods {
            count: *count,
            are_changeable: true,
            progress: format!("{} of 3 pods held", 3 - count),
        };
        let result = REQUEST.follow(Duration::from_secs(60), absence, read, remaining).await;
        (result.map(drop), began.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn a_controller_that_seems_absent_is_not_waited_for_unless_it_changes_a_pod() {
        let absent = Some("it does not run");
        assert!(matches!(follow(absent, &[]).await, (Err(ControllerWaitError::NoController { .. }), 15)));
        assert!(matches!(follow(absent, &[1, 2, 40]).await, (Ok(()), 40)), "its requests were throttled");
        assert!(matches!(follow(absent, &[1, 2]).await, (Err(ControllerWaitError::Unfinished { .. }), 60)));
        assert!(matches!(follow(None, &[]).await, (Err(ControllerWaitError::Unfinished { .. }), 60)));
        assert!(matches!(follow(None, &[30, 30, 31]).await, (Ok(()), 31)));
    }
}
