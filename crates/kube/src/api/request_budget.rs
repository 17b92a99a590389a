//! Limits how long the requests of an interactive command may take: each of them, and all together.

use super::{RequestError, ResourcePath};
use http::Method;
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// The limit of each response when a command names none.
const EACH: Duration = Duration::from_secs(30);

/// How long requests may take.
#[derive(Clone, Copy, Debug)]
pub struct RequestBudget {
    each: Duration,
    all: Option<TotalLimit>,
}

#[derive(Clone, Copy, Debug)]
struct TotalLimit {
    limit: Duration,
    until: Instant,
}

impl Default for RequestBudget {
    fn default() -> Self {
        EACH.into()
    }
}

/// For each request by itself.
impl From<Duration> for RequestBudget {
    fn from(each: Duration) -> Self {
        Self { each, all: None }
    }
}

impl RequestBudget {
    /// All requests from now on may take `all` together.
    #[must_use]
    pub fn and_all(self, all: Duration) -> Self {
        Self { all: Some(TotalLimit { limit: all, until: Instant::now() + all }), ..self }
    }

    /// For each request by itself: for a command that waits or watches, or that has begun to write.
    #[must_use]
    pub const fn only_each(self) -> Self {
        Self { all: None, ..self }
    }

    /// How long the next request may take.
    pub fn next(self) -> Duration {
        self.all.map_or(self.each, |all| self.each.min(all.until.saturating_duration_since(Instant::now())))
    }

    /// Waits for a response.
    pub(crate) async fn bound<T>(
        self,
        method: &Method,
        resource: &ResourcePath<'_>,
        response: impl Future<Output = Result<T, RequestError>>,
    ) -> Result<T, RequestError> {
        let result = timeout(self.next(), response).await;
        result.unwrap_or_else(|_| {
            Err(match self.all.filter(|all| all.until <= Instant::now()) {
                Some(all) => RequestError::out_of_time(method, resource, all.limit),
                None => RequestError::silence(method, resource, self.each),
            })
        })
    }
}
