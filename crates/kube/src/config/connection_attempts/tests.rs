//! Tests that attempts are taken over and end.

use super::*;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::time::sleep;
use tower::service_fn;

const LIMIT: Duration = Duration::from_secs(5);

/// Connects to a server that takes this long for a connection and numbers them.
fn server(takes: Duration) -> (Arc<AtomicU32>, impl AsyncFn(Duration) -> Option<Result<u32, BoxError>>) {
    let begun = Arc::<AtomicU32>::default();
    let counter = Arc::clone(&begun);
    let connector = service_fn(move |_: Uri| {
        let number = counter.fetch_add(1, Ordering::Relaxed);
        async move {
            sleep(takes).await;
            Ok::<_, BoxError>(number)
        }
    });
    let attempts = ConnectionAttempts::new(connector, LIMIT);
    let within = async move |period| {
        let attempt = attempts.clone().oneshot(Uri::from_static("https://there"));
        timeout(period, attempt).await.ok()
    };
    (begun, within)
}

/// An API server under load takes 4 s for a handshake; a request has 3.
#[tokio::test(start_paused = true)]
async fn an_attempt_of_one_request_is_used_by_the_next() {
    let (begun, within) = server(Duration::from_secs(4));
    let began = Instant::now();
    assert!(within(Duration::from_secs(3)).await.is_none());
    assert_eq!(within(Duration::from_secs(3)).await.unwrap().unwrap(), 0);
    assert_eq!((began.elapsed(), begun.load(Ordering::Relaxed)), (Duration::from_secs(4), 1));
    // The next one is a new attempt.
    assert!(within(Duration::from_secs(3)).await.is_none());
    sleep(Duration::from_secs(2)).await;
    assert_eq!(within(Duration::ZERO).await.unwrap().unwrap(), 1, "it was completed without a request");
}

#[tokio::test(start_paused = true)]
async fn an_attempt_ends_after_its_time_and_an_unused_one_is_not_kept() {
    let (begun, within) = server(Duration::from_secs(60));
    let began = Instant::now();
    assert!(within(Duration::from_secs(3)).await.is_none());
    assert!(within(Duration::from_secs(3)).await.unwrap().is_err());
    assert_eq!((began.elapsed(), begun.load(Ordering::Relaxed)), (LIMIT, 1));
    assert!(within(Duration::from_secs(3)).await.is_none());
    sleep(Duration::from_secs(60)).await;
    assert!(within(Duration::from_secs(3)).await.is_none(), "a new attempt");
    assert_eq!(begun.load(Ordering::Relaxed), 3);
}
