//! Parses requests per second, and other rates.

/// Parses requests per second. A negative number means no limit, as in client-go.
pub(super) fn rate(text: &str) -> Result<f64, &'static str> {
    let rate = text.parse().ok().filter(|rate: &f64| rate.is_finite());
    rate.ok_or("expected a rate per second, such as 50 or 0.5, or 0 for no limit")
}
