//! Polls a condition with a time limit and a clear error.

use anyhow::{Result, bail};
use std::time::{Duration, Instant};

/// The pause between two checks.
const PAUSE: Duration = Duration::from_millis(20);

/// Repeats a check until it returns `Some`, or fails after `timeout`. `what` completes "waited for …".
pub async fn until<T>(
    what: &str,
    timeout: Duration,
    mut probe: impl AsyncFnMut() -> Result<Option<T>>,
) -> Result<T> {
    let start = Instant::now();
    loop {
        if let Some(value) = probe().await? {
            return Ok(value);
        }
        if start.elapsed() >= timeout {
            bail!("waited {timeout:?} for {what}, in vain");
        }
        tokio::time::sleep(PAUSE).await;
    }
}
