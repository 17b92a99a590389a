//! Polls a condition with a time limit and a clear error.

use anyhow::{Result, bail};
use std::time::{Duration, Instant};

/// The pause between two checks.
const PAUSE: Duration = Duration::from_millis(20);

/// Repeats a check until it returns `Some`, or fails after `patience`. `what` completes "waited for …".
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
