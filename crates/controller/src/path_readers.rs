//! Caches whether a bearer token may read the metrics, or the record, as decided by the API server.
//!
//! - Invariant: cache and concurrent checks are bounded for any number of tokens: unknown ones cost the API server
//!   [`AT_ONCE`] requests at a time and never displace known ones.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use taintward_kube::metrics_access::{TokenAccess, may_get};
use taintward_server::admin::{AccessCheck, AccessDecision, AccessDenied, AdminListener};
use tokio::sync::Semaphore;
use tokio::time::Instant;

/// How long a decision is cached. A revoked token is accepted for up to this long; a new permission takes effect after
/// up to this long.
const ALLOWED_FOR: Duration = Duration::from_secs(60);
const DENIED_FOR: Duration = Duration::from_secs(10);

/// The largest number of cached decisions of each kind.
const REMEMBERED_MAX: usize = 64;

/// Unknown tokens that are checked concurrently. Requests with others are rejected for now, without a decision.
const AT_ONCE: usize = 2;

/// The timeout of each of the two requests.
const REVIEW_TIMEOUT: Duration = Duration::from_secs(3);

/// Checks a token with the API server.
type AccessQuery =
    Box<dyn Fn(String) -> Pin<Box<dyn Future<Output = Result<TokenAccess, String>> + Send>> + Send + Sync>;

/// Admits the tokens that the API server authenticates and authorizes.
struct PathReaders {
    query: AccessQuery,
    /// Tokens that were allowed. They are checked again without waiting for unknown ones.
    allowed_until: Mutex<HashMap<String, Instant>>,
    denied: Mutex<HashMap<String, (AccessDenied, Instant)>>,
    strangers: Semaphore,
}

/// Lets the API server decide which tokens may read the record, and which the metrics, if the operator wants it.
pub(crate) fn guard(listening: AdminListener, client: &kube::Client) -> AdminListener {
    let listening = match listening.is_secure() {
        true => listening.guarded_record(PathReaders::of(client.clone(), "/record")),
        false => listening,
    };
    match listening.wants_guard() {
        true => listening.guarded(PathReaders::of(client.clone(), "/metrics")),
        false => listening,
    }
}

impl PathReaders {
    /// Checks tokens with the server of this client, for this path.
    fn of(client: kube::Client, path: &'static str) -> Arc<Self> {
        Self::with_query(Box::new(move |token| {
            let client = client.clone();
            Box::pin(async move {
                may_get(&client, &token, path, REVIEW_TIMEOUT).await.map_err(|why| why.message)
            })
        }))
    }

    fn with_query(query: AccessQuery) -> Arc<Self> {
        let (allowed_until, denied) = (Mutex::default(), Mutex::default());
        Arc::new(Self { query, allowed_until, denied, strangers: Semaphore::new(AT_ONCE) })
    }

    async fn decide(&self, token: &str) -> Result<(), AccessDenied> {
        let now = Instant::now();
        let allowed_until = locked(&self.allowed_until).get(token).copied();
        if allowed_until.is_some_and(|until| now < until) {
            return Ok(());
        }
        if let Some((denied, until)) = locked(&self.denied).get(token)
            && now < *until
        {
            return Err(*denied);
        }
        let _turn = match allowed_until {
            Some(_) => None,
            None => Some(self.strangers.try_acquire().map_err(|_| AccessDenied::Unknown)?),
        };
        let denied = match (self.query)(token.to_owned()).await {
            Ok(TokenAccess::Allowed) => {
                remember(&mut locked(&self.allowed_until), token, now + ALLOWED_FOR, |until| *until);
                return Ok(());
            }
            Ok(TokenAccess::Forbidden) => AccessDenied::Forbidden,
            Ok(TokenAccess::Unknown) => AccessDenied::Stranger,
            Err(why) => {
                tracing::warn!(err = why, "cannot determine which users may read the metrics or the record");
                return Err(AccessDenied::Unknown);
            }
        };
        locked(&self.allowed_until).remove(token);
        remember(&mut locked(&self.denied), token, (denied, now + DENIED_FOR), |(_, until)| *until);
        Err(denied)
    }
}

impl AccessCheck for PathReaders {
    fn admit<'g>(&'g self, token: &'g str) -> AccessDecision<'g> {
        Box::pin(self.decide(token))
    }
}

fn locked<T>(what: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds a decision; without room, replaces the one that expires first.
fn remember<T>(all: &mut HashMap<String, T>, token: &str, what: T, until: impl Fn(&T) -> Instant) {
    if all.len() >= REMEMBERED_MAX
        && !all.contains_key(token)
        && let Some(oldest) = all.iter().min_by_key(|(_, what)| until(what)).map(|(token, _)| token.clone())
    {
        all.remove(&oldest);
    }
    all.insert(token.to_owned(), what);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use tokio::time::advance;

    /// A server that knows `good` and `poor`, and can stop answering or revoke a token.
    #[derive(Default)]
    struct TokenReviewServer {
        reviews: AtomicUsize,
        silent: AtomicBool,
        withdrawn: AtomicBool,
    }

    fn setup() -> (Arc<TokenReviewServer>, Arc<PathReaders>) {
        let server = Arc::<TokenReviewServer>::default();
        let of = Arc::clone(&server);
        let readers = PathReaders::with_query(Box::new(move |token| {
            let of = Arc::clone(&of);
            Box::pin(async move {
                of.reviews.fetch_add(1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(100)).await;
                match token.as_str() {
                    _ if of.silent.load(Ordering::SeqCst) => Err("no answer".to_owned()),
                    "good" if !of.withdrawn.load(Ordering::SeqCst) => Ok(TokenAccess::Allowed),
                    "poor" => Ok(TokenAccess::Forbidden),
                    _ => Ok(TokenAccess::Unknown),
                }
            })
        }));
        (server, readers)
    }

    #[tokio::test(start_paused = true)]
    async fn answers_count_for_a_while_and_no_longer() {
        let (server, readers) = setup();
        let reviews = || server.reviews.load(Ordering::SeqCst);
        for _ in 0..5 {
            assert_eq!(readers.admit("good").await, Ok(()));
            assert_eq!(readers.admit("poor").await, Err(AccessDenied::Forbidden));
            assert_eq!(readers.admit("bad").await, Err(AccessDenied::Stranger));
        }
        assert_eq!(reviews(), 3);
        server.withdrawn.store(true, Ordering::SeqCst);
        advance(ALLOWED_FOR - Duration::from_secs(1)).await;
        assert_eq!((readers.admit("good").await, reviews()), (Ok(()), 3));
        advance(Duration::from_secs(1)).await;
        assert_eq!((readers.admit("good").await, reviews()), (Err(AccessDenied::Stranger), 4));
        server.withdrawn.store(false, Ordering::SeqCst);
        assert_eq!((readers.admit("good").await, reviews()), (Err(AccessDenied::Stranger), 4));
        advance(DENIED_FOR).await;
        assert_eq!((readers.admit("good").await, reviews()), (Ok(()), 5));
    }

    #[tokio::test(start_paused = true)]
    async fn no_client_is_admitted_while_its_access_is_unknown_and_silence_is_not_cached() {
        let (server, readers) = setup();
        server.silent.store(true, Ordering::SeqCst);
        assert_eq!(readers.admit("good").await, Err(AccessDenied::Unknown));
        server.silent.store(false, Ordering::SeqCst);
        assert_eq!(readers.admit("good").await, Ok(()));
        server.silent.store(true, Ordering::SeqCst);
        advance(ALLOWED_FOR).await;
        assert_eq!(
            readers.admit("good").await,
            Err(AccessDenied::Unknown),
            "the cached decision has expired"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_of_strangers_is_neither_asked_about_nor_remembered_without_end() {
        let (server, readers) = setup();
        assert_eq!(readers.admit("good").await, Ok(()));
        let tokens: Vec<String> = (0..1000).map(|number| format!("stranger {number}")).collect();
        advance(ALLOWED_FOR).await;
        let flood = futures::future::join_all(tokens.iter().map(|token| readers.admit(token)));
        let (flood, good) = tokio::join!(flood, readers.admit("good"));
        assert_eq!(good, Ok(()), "a known token does not wait for unknown ones");
        assert_eq!(flood.iter().filter(|result| **result == Err(AccessDenied::Stranger)).count(), AT_ONCE);
        assert!(flood.iter().all(|result| result.is_err()));
        assert_eq!(server.reviews.load(Ordering::SeqCst), 2 + AT_ONCE);
        for token in &tokens {
            assert_eq!(readers.admit(token).await, Err(AccessDenied::Stranger));
        }
        assert!(locked(&readers.denied).len() <= REMEMBERED_MAX);
        assert_eq!(readers.admit("good").await, Ok(()));
    }
}
