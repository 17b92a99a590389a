//! Waits for a condition with a time limit and a clear error, or lets time pass for a reason.

use anyhow::{Result, bail};
use std::time::Duration;
use tokio::time::Instant;

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

/// Repeats a check that cannot fail until it holds; panics after `timeout`.
pub async fn until_true(what: &str, timeout: Duration, mut check: impl AsyncFnMut() -> bool) {
    let held = until(what, timeout, async || Ok(check().await.then_some(()))).await;
    held.unwrap_or_else(|error| panic!("{error}"));
}

/// [`until`] for a thread without async runtime; panics after `timeout`.
#[track_caller]
pub fn until_blocking<T>(what: &str, timeout: Duration, probe: impl FnMut() -> Option<T>) -> T {
    within_blocking(timeout, probe).unwrap_or_else(|| panic!("waited {timeout:?} for {what}, in vain"))
}

/// Repeats a check until it returns `Some`; `None` after `timeout`.
pub fn within_blocking<T>(timeout: Duration, mut probe: impl FnMut() -> Option<T>) -> Option<T> {
    let start = std::time::Instant::now();
    loop {
        let value = probe();
        if value.is_some() || start.elapsed() >= timeout {
            return value;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Lets time pass where a test has no event to wait for: nothing may happen meanwhile, a countdown or an outage must last,
/// or a process observes what it does not report. The reason says which.
pub async fn let_time_pass(length: Duration, _reason: &str) {
    tokio::time::sleep(length).await;
}

/// [`let_time_pass`] for a thread without async runtime.
pub fn let_time_pass_blocking(length: Duration, _reason: &str) {
    std::thread::sleep(length);
}
