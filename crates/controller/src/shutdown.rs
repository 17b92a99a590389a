//! Turns SIGTERM and SIGINT into a [`Shutdown`] that any number of tasks can wait for; a second signal ends the
//! process.

use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

/// The exit code of a process that was told twice to stop.
pub const IMPATIENT_EXIT: i32 = 130;

/// Whether the process was asked to stop. Clones see the same request.
#[derive(Clone, Debug)]
pub struct Shutdown(watch::Receiver<bool>);

/// The other end of a [`Shutdown`]: asks once and for all. Dropping it asks too, so nobody waits for ever.
#[derive(Debug)]
pub struct ShutdownRequest(watch::Sender<bool>);

impl Shutdown {
    /// A shutdown and the handle that requests it.
    pub fn pair() -> (ShutdownRequest, Self) {
        let (sender, receiver) = watch::channel(false);
        (ShutdownRequest(sender), Self(receiver))
    }

    /// Listens for SIGTERM and SIGINT for the rest of the process's life.
    ///
    /// # Errors
    /// If the operating system refuses a signal handler.
    pub fn on_signals() -> io::Result<Self> {
        let signals =
            ShutdownSignals { term: signal(SignalKind::terminate())?, int: signal(SignalKind::interrupt())? };
        let (request, shutdown) = Self::pair();
        tokio::spawn(relay(request, signals, || std::process::exit(IMPATIENT_EXIT)));
        Ok(shutdown)
    }

    /// Whether it was requested.
    pub fn is_requested(&self) -> bool {
        *self.0.borrow() || self.0.has_changed().is_err()
    }

    /// Waits until it is requested.
    pub async fn requested(&mut self) {
        // An error means that the requesting end is gone, which is a request too.
        let _ = self.0.wait_for(|&requested| requested).await;
    }
}

impl ShutdownRequest {
    /// Asks for the shutdown; asking again changes nothing.
    pub fn send(&self) {
        self.0.send_replace(true);
    }
}

struct ShutdownSignals {
    term: Signal,
    int: Signal,
}

/// Where signals come from.
trait SignalSource {
    /// The name of the next signal.
    fn next(&mut self) -> impl Future<Output = &'static str> + Send;
}

impl SignalSource for ShutdownSignals {
    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.term.recv() => "SIGTERM",
            _ = self.int.recv() => "SIGINT",
        }
    }
}

/// The first signal requests the shutdown, the second ends the wait for it.
async fn relay(request: ShutdownRequest, mut signals: impl SignalSource, end_now: impl FnOnce()) {
    let signal = signals.next().await;
    tracing::info!(signal, "stopping: no new work is started; a second signal ends the process at once");
    request.send();
    let signal = signals.next().await;
    tracing::warn!(signal, "second signal: ending at once");
    end_now();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use tokio::sync::mpsc;

    impl SignalSource for mpsc::Receiver<&'static str> {
        async fn next(&mut self) -> &'static str {
            self.recv().await.unwrap()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_signal_requests_and_the_second_ends() {
        let (request, shutdown) = Shutdown::pair();
        let (kill, signals) = mpsc::channel(2);
        let ended = Arc::new(AtomicBool::new(false));
        let flag = ended.clone();
        let task = tokio::spawn(relay(request, signals, move || flag.store(true, Ordering::SeqCst)));
        tokio::task::yield_now().await;
        assert!(!shutdown.is_requested());

        kill.send("SIGTERM").await.unwrap();
        shutdown.clone().requested().await;
        assert!(shutdown.is_requested());
        tokio::task::yield_now().await;
        assert!(!ended.load(Ordering::SeqCst));

        kill.send("SIGINT").await.unwrap();
        task.await.unwrap();
        assert!(ended.load(Ordering::SeqCst));
        assert!(shutdown.is_requested());
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_a_request_that_cannot_come() {
        let (request, mut shutdown) = Shutdown::pair();
        assert!(!shutdown.is_requested());
        drop(request);
        assert!(shutdown.is_requested());
        shutdown.requested().await;
    }
}
