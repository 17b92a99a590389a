//! Models kube-controller-manager's taint eviction for one pod, with the two taints of a silent node (TE-17 to TE-19,
//! D2): what it does when seconds are removed, restored or changed was measured on the real one.

use taintward_core::toleration::Toleration;

/// Its state.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OriginalController {
    armed: Option<Countdown>,
}

#[derive(Clone, Copy, Debug)]
struct Countdown {
    begun: i64,
    due: i64,
}

impl OriginalController {
    /// It handles the current state of the pod.
    pub(crate) fn check(&mut self, is_silent: bool, tolerations: &[Toleration], now: i64) {
        let seconds = tolerations.iter().filter_map(|one| one.seconds).min();
        let Some(seconds) = seconds.filter(|_| is_silent) else {
            self.armed = None;
            return;
        };
        // An armed countdown keeps its start, unless it would then be due later than a new one.
        match self.armed {
            Some(countdown) if countdown.begun + seconds <= now + seconds => {}
            _ => self.armed = Some(Countdown { begun: now, due: now + seconds }),
        }
    }

    /// Whether it deletes the pod now: nothing is checked again when the time has come.
    pub(crate) fn evicts(&self, now: i64) -> bool {
        self.armed.is_some_and(|countdown| countdown.due <= now)
    }
}
