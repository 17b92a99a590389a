//! Adds the current credentials to each request, and uses only connections that were opened with them.
//!
//! - Invariant: nothing is sent twice, not even after a 401 (P20).
//! - See `credentials.rs` for renewal.

use super::Credentials;
use futures::future::BoxFuture;
use http::header::AUTHORIZATION;
use http::{Request, Response};
use rustls::ClientConfig;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use tower::{BoxError, Service, ServiceExt as _};

/// Sends requests with credentials, each over a service made for their TLS configuration.
pub(in crate::config) struct AuthService<F, S> {
    shared: Arc<AuthShared<F, S>>,
}

struct AuthShared<F, S> {
    credentials: Credentials,
    make: F,
    made: Mutex<Option<(Arc<ClientConfig>, S)>>,
}

impl<F, S> AuthService<F, S> {
    /// `make` opens connections with a TLS configuration.
    pub(in crate::config) fn new(credentials: Credentials, make: F) -> Self {
        Self { shared: Arc::new(AuthShared { credentials, make, made: Mutex::default() }) }
    }
}

impl<F: Fn(&ClientConfig) -> S, S: Clone> AuthShared<F, S> {
    fn service(&self, tls: &Arc<ClientConfig>) -> S {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        match &*made {
            Some((of, service)) if Arc::ptr_eq(of, tls) => service.clone(),
            _ => {
                let service = (self.make)(tls);
                *made = Some((Arc::clone(tls), service.clone()));
                service
            }
        }
    }
}

impl<F, S, A, B> Service<Request<A>> for AuthService<F, S>
where
    F: Fn(&ClientConfig) -> S + Send + Sync + 'static,
    S: Service<Request<A>, Response = Response<B>, Error: Into<BoxError>, Future: Send>
        + Clone
        + Send
        + 'static,
    A: Send + 'static,
{
    type Response = Response<B>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<B>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<A>) -> Self::Future {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let sent = shared.credentials.current().await?;
            if let Some(authorization) = &sent.authorization {
                request.headers_mut().insert(AUTHORIZATION, authorization.clone());
            }
            let service = shared.service(&sent.tls);
            let response = service.oneshot(request).await.map_err(Into::into);
            shared.credentials.judge(&sent, response.as_ref().map(Response::status));
            response
        })
    }
}
