//! Samples `/readyz` of a contender from a thread of its own, until the sampler is dropped.

use crate::http;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const PERIOD: Duration = Duration::from_millis(250);

pub(crate) struct ReadinessSampler {
    began: Instant,
    end: Sender<()>,
    thread: JoinHandle<Option<Instant>>,
}

impl ReadinessSampler {
    pub(crate) fn start(port: u16) -> Self {
        let (end, ends) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let mut unready = None;
            while ends.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                if unready.is_none() && http::get(port, "/readyz").is_ok_and(|(status, _)| status != 200) {
                    unready = Some(Instant::now());
                }
            }
            unready
        });
        Self { began: Instant::now(), end, thread }
    }

    /// When the contender first was not ready, in seconds since the start.
    pub(crate) fn stop(self) -> Option<f64> {
        let _ = self.end.send(());
        let unready = self.thread.join().ok().flatten()?;
        Some(unready.duration_since(self.began).as_secs_f64())
    }
}
