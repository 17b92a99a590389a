//! Parses requests a second, and other rates.

/// Why a text is no rate.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("expected requests a second, such as 50 or 0.5, or 0 for no limit")]
pub(super) struct InvalidRate;

/// Reads requests a second. Below zero means no limit, as in client-go.
pub(super) fn rate(text: &str) -> Result<f64, InvalidRate> {
    text.parse().ok().filter(|rate: &f64| rate.is_finite()).ok_or(InvalidRate)
}
