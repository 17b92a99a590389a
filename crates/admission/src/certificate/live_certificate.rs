//! Holds the current certificate, which may be replaced at any time; open connections keep theirs.

use crate::metrics::WebhookMetrics;
use std::fmt;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use taintward_server::certificate::{CertificatePair, ClientAuthorities, Validity};
use tokio_rustls::TlsAcceptor;

/// The supported protocols. With HTTP/2 an API server sends all requests over one connection: if the replica at the
/// other end stops responding, as a host without power does, no other replica gets requests until the whole connection
/// is dropped. With HTTP/1.1 it has several connections, and drops each that does not respond in time.
const PROTOCOLS: [&[u8]; 1] = [b"http/1.1"];

/// The current certificate; at first there is none.
pub struct LiveCertificate {
    clients: ClientAuthorities,
    now: RwLock<Option<ActiveCertificate>>,
    metrics: OnceLock<Arc<WebhookMetrics>>,
}

struct ActiveCertificate {
    acceptor: TlsAcceptor,
    pair: CertificatePair,
}

impl Default for LiveCertificate {
    /// Accepts all clients.
    fn default() -> Self {
        Self::to(ClientAuthorities::everybody())
    }
}

impl LiveCertificate {
    /// Accepts only clients with a certificate of these authorities.
    pub fn to(clients: ClientAuthorities) -> Self {
        Self { clients, now: RwLock::default(), metrics: OnceLock::new() }
    }

    /// Serves this certificate from the next connection on.
    pub fn show(&self, pair: CertificatePair) {
        // A configuration of its own: no session of the last certificate is resumed with this one.
        let acceptor = TlsAcceptor::from(pair.config_for(&self.clients, &PROTOCOLS));
        let until = pair.validity().map(|validity| validity.until);
        *self.now.write().unwrap_or_else(PoisonError::into_inner) =
            Some(ActiveCertificate { acceptor, pair });
        if let Some(metrics) = self.metrics.get() {
            metrics.shown(until);
        }
    }

    /// The validity of the current certificate; `None` if there is none, or if it has no times.
    pub fn validity(&self) -> Option<Validity> {
        self.with(|now| now.pair.validity()).flatten()
    }

    /// The current certificate, in DER.
    pub fn certificate(&self) -> Option<Vec<u8>> {
        self.with(|now| now.pair.certificate().map(|certificate| certificate.to_vec())).flatten()
    }

    /// The acceptor of the next connection.
    pub(crate) fn acceptor(&self) -> Option<TlsAcceptor> {
        self.with(|now| now.acceptor.clone())
    }

    /// Reports to these metrics from now on; the first ones stay.
    pub(crate) fn report_to(&self, metrics: &Arc<WebhookMetrics>) {
        if self.metrics.set(Arc::clone(metrics)).is_ok()
            && let Some(validity) = self.with(|now| now.pair.validity())
        {
            metrics.shown(validity.map(|validity| validity.until));
        }
    }

    fn with<T>(&self, at: impl FnOnce(&ActiveCertificate) -> T) -> Option<T> {
        self.now.read().unwrap_or_else(PoisonError::into_inner).as_ref().map(at)
    }
}

impl fmt::Debug for LiveCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.validity())
    }
}
