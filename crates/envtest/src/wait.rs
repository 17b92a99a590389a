//! # Wait: until something is so, or a clear failure
//! Room:     polling with an end, for facts that a real server brings about in its own time.
//! Comes in: a question that answers `Some` when it is so.
//! Goes out: the answer, or an error that says what was waited for.
//! Not here: fixed sleeps.

use anyhow::{Result, bail};
use std::time::{Duration, Instant};

/// How often a question is asked again.
const PAUSE: Duration = Duration::from_millis(20);

/// Asks until the answer is `Some`, or fails once `patience` is over. `what` completes "waited for …".
pub async fn until<T>(
    what: &str,
    patience: Duration,
    mut question: impl AsyncFnMut() -> Result<Option<T>>,
) -> Result<T> {
    let start = Instant::now();
    loop {
        if let Some(answer) = question().await? {
            return Ok(answer);
        }
        if start.elapsed() >= patience {
            bail!("waited {patience:?} for {what}, in vain");
        }
        tokio::time::sleep(PAUSE).await;
    }
}
