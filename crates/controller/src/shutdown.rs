//! Turns SIGTERM and SIGINT into a [`Shutdown`] that any number of tasks can wait for; a second signal ends the
//! process.

use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

/// The exit code after a second signal.
pub const IMPATIENT_EXIT: i32 = 130;

/// Whether a shutdown was requested. Clones share the same request.
#[derive(Clone, Debug)]
pub struct Shutdown(watch::Receiver<bool>);

/// The other end of a [`Shutdown`]: requests it, once. Dropping it requests it too, so that no task waits indefinitely.
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
    /// If the operating system rejects a signal handler.
    pub fn on_signals() -> io::Result<Self> {
        let signals =
            ShutdownSignals { term: signal(SignalKind::terminate())?, int: signal(SignalKind::interrupt())? };
        let (request, shutdown) = Self::pair();
        tokio::spawn(relay(request, signals, || std::process::exit(IMPATIENT_EXIT)));
        Ok(shutdown)
    }

    /// Whether a shutdown was requested.
    pub fn is_requested(&self) -> bool {
        *self.0.borrow() || self.0.has_changed().is_err()
    }

    /// Waits until a shutdown is requested.
    pub async fn requested(&mut self) {
        // An error means that the sender was dropped, which is a request too.
        let _ = self.0.wait_for(|&requested| requested).await;
    }
}

impl ShutdownRequest {
    /// Requests the shutdown; further calls change nothing.
    pub fn send(&self) {
        self.0.send_replace(true);
    }
}

struct ShutdownSignals {
    term: Signal,
    int: Signal,
}

/// The source of signals.
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

/// Requests the shutdown at the first signal; ends at the second.
async fn relay(request: ShutdownRequest, mut signals: impl SignalSource, end_now: impl FnOnce()) {
    let signal = signals.next().await;
    tracing::info!(signal, "stopping, a second signal ends the process immediately");
    request.send();
    let signal = signals.next().await;
    tracing::warn!(signal, "second signal, ending immediately");
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
    async fn a_dropped_sender_requests_the_shutdown() {
        let (request, mut shutdown) = Shutdown::pair();
        assert!(!shutdown.is_requested());
        drop(request);
        assert!(shutdown.is_requested());
        shutdown.requested().await;
    }
}
