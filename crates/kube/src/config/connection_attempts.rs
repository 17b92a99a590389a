//! Keeps connection attempts alive beyond the request that started them, for the next request.
//!
//! - Invariant: an attempt ends at its own time limit. A handshake may take longer than a request waits.

use futures::future::BoxFuture;
use http::Uri;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tower::{BoxError, Service, ServiceExt as _};

/// Connects to one place.
pub(super) struct ConnectionAttempts<C, T> {
    connector: C,
    limit: Duration,
    current: Arc<Mutex<Option<ConnectionAttempt<T>>>>,
}

struct ConnectionAttempt<T> {
    began: Instant,
    task: JoinHandle<Result<T, BoxError>>,
}

impl<C, T> ConnectionAttempts<C, T> {
    pub(super) fn new(connector: C, limit: Duration) -> Self {
        Self { connector, limit, current: Arc::default() }
    }
}

impl<C: Clone, T> Clone for ConnectionAttempts<C, T> {
    fn clone(&self) -> Self {
        let (connector, current) = (self.connector.clone(), Arc::clone(&self.current));
        Self { connector, limit: self.limit, current }
    }
}

impl<C> Service<Uri> for ConnectionAttempts<C, C::Response>
where
    C: Service<Uri, Error: Into<BoxError>, Future: Send + 'static> + Clone + Send + 'static,
    C::Response: Send + 'static,
{
    type Response = C::Response;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<C::Response, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, place: Uri) -> Self::Future {
        let Self { connector, limit, current } = self.clone();
        Box::pin(async move {
            let mut current = current.lock().await;
            // An old attempt that was never used: a server closes a connection on which a client sends nothing.
            if current.as_ref().is_some_and(|attempt| attempt.began.elapsed() > 2 * limit) {
                *current = None;
            }
            let attempt = current.get_or_insert_with(|| {
                let made = timeout(limit, connector.oneshot(place));
                let task = tokio::spawn(async move { made.await?.map_err(Into::into) });
                ConnectionAttempt { began: Instant::now(), task }
            });
            let made = (&mut attempt.task).await;
            *current = None;
            made?
        })
    }
}

#[cfg(test)]
mod tests;
