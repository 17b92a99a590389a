//! Holds the current certificate, which may be replaced at any time; open connections keep theirs.

use crate::metrics::WebhookMetrics;
use std::fmt;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use taintward_server::certificate::{CertificatePair, ClientAuthorities, Validity};
use tokio_rustls::TlsAcceptor;

/// The protocols spoken. An API server asks all its questions on one connection of HTTP/2: if the replica at the other
/// end falls silent, as a host does that loses its power, nobody else is asked until that connection is given up as a
/// whole. Of HTTP/1.1 it has several, and gives up each that does not answer in time.
const PROTOCOLS: [&[u8]; 1] = [b"http/1.1"];

/// The certificate on show; at first there is none.
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
    /// For everybody to see.
    fn default() -> Self {
        Self::to(ClientAuthorities::everybody())
    }
}

impl LiveCertificate {
    /// One that only these get to speak to.
    pub fn to(clients: ClientAuthorities) -> Self {
        Self { clients, now: RwLock::default(), metrics: OnceLock::new() }
    }

    /// Shows this one from the next connection on.
    pub fn show(&self, pair: CertificatePair) {
        // A configuration of its own: no session of the last certificate is taken up again with this one.
        let acceptor = TlsAcceptor::from(pair.config_for(&self.clients, &PROTOCOLS));
        let until = pair.validity().map(|validity| validity.until);
        *self.now.write().unwrap_or_else(PoisonError::into_inner) =
            Some(ActiveCertificate { acceptor, pair });
        if let Some(metrics) = self.metrics.get() {
            metrics.shown(until);
        }
    }

    /// From when to when the one on show is valid; `None` if there is none, or it does not say.
    pub fn validity(&self) -> Option<Validity> {
        self.look(|now| now.pair.validity()).flatten()
    }

    /// The one on show, in DER.
    pub fn certificate(&self) -> Option<Vec<u8>> {
        self.look(|now| now.pair.certificate().map(|certificate| certificate.to_vec())).flatten()
    }

    /// For the next connection.
    pub(crate) fn acceptor(&self) -> Option<TlsAcceptor> {
        self.look(|now| now.acceptor.clone())
    }

    /// Reports to these metrics from now on; the first ones stay.
    pub(crate) fn report_to(&self, metrics: &Arc<WebhookMetrics>) {
        if self.metrics.set(Arc::clone(metrics)).is_ok()
            && let Some(validity) = self.look(|now| now.pair.validity())
        {
            metrics.shown(validity.map(|validity| validity.until));
        }
    }

    fn look<T>(&self, at: impl FnOnce(&ActiveCertificate) -> T) -> Option<T> {
        self.now.read().unwrap_or_else(PoisonError::into_inner).as_ref().map(at)
    }
}

impl fmt::Debug for LiveCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.validity())
    }
}
