//! Computes the delays between retries of failing requests.

use crate::api_error::ApiFailure;
use crate::identity::Uid;
use crate::time::Span;

/// Backoff of failing requests (D3, L2; TE-33, TE-45: upstream gives up after 50 ms).
const RETRY_FIRST: Span = Span::from_millis(100);
const RETRY_MAX: Span = Span::from_secs(30);

/// Returns how long to wait after so many failures: doubling from 0.1 s to 30 s, spread by ±25 % by a hash of the
/// identity, so that pods which failed together are not retried together; or longer if the server asks for it.
pub(crate) fn backoff(pod: &str, uid: &Uid, failures: u32, failure: ApiFailure) -> Span {
    let doubled = RETRY_FIRST.as_micros().saturating_mul(1 << failures.saturating_sub(1).min(20));
    let base = doubled.min(RETRY_MAX.as_micros());
    let spread = base / 2 * i64::from(jitter(pod, uid, failures)) / 1024;
    let retry_after = match failure {
        ApiFailure::Throttled(Some(retry_after)) => retry_after.min(RETRY_MAX),
        _ => Span::ZERO,
    };
    Span::from_micros(base - base / 4 + spread).max(retry_after)
}

/// Returns a number below 1024 from identity and count; the core has no randomness.
pub(crate) fn jitter(node: &str, uid: &Uid, failures: u32) -> u16 {
    let opaque = match uid {
        Uid::Uuid(bytes) => &bytes[..],
        Uid::Opaque(text) => text.as_bytes(),
    };
    let bytes = node.bytes().chain(opaque.iter().copied()).chain(failures.to_le_bytes());
    let hash = bytes.fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    ((hash >> 7) & 0x3ff) as u16
}
