//! Runs the HTTPS port of the webhook from the first to the last connection.
//!
//! - Invariant: well-behaved clients are answered whatever others do: connections are limited, and the most numerous,
//!   useless or silent ones end first. Shutdown completes requests in flight.
//! - See `server/connection.rs` for one connection, `server/route.rs` for one request.

mod body;
mod connection;
mod memory_budget;
mod route;

pub use crate::open_error::OpenError;
pub use crate::settings::WallClock;

use crate::certificate::{CertificateFileReloader, LiveCertificate};
use crate::metrics::{Ended, WebhookMetrics};
use crate::review::{RequestOrigin, Reviewer};
use crate::settings::{CertificateSource, ClientCaSettings, ServerLimits, WebhookServerSettings};
use memory_budget::BodyMemoryBudget;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use taintward_server::admin::{self, Admin, Check, Scope};
use taintward_server::certificate::ClientAuthorities;
use taintward_server::connection_limit::ConnectionLimit;
use taintward_server::io_timeout::keep_alive;
use taintward_server::metrics::CachedPage;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// The pause after the operating system refused to accept a connection (for lack of file descriptors, say).
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How old the page of metrics may be: whoever asks for it all the time does not have it made each time.
const METRICS_AGE: Duration = Duration::from_secs(1);

/// What is served.
pub struct WebhookService {
    /// Who judges.
    pub reviewer: Arc<dyn Reviewer>,
    /// What is counted.
    pub metrics: Arc<WebhookMetrics>,
    /// What `/readyz`, `/livez` and `/healthz` look at, besides the certificate and whether the server stops.
    pub checks: Vec<Check>,
}

/// Open sockets that answer nobody yet.
pub struct WebhookListener {
    listener: TcpListener,
    metrics: Option<TcpListener>,
    limits: ServerLimits,
    origin: RequestOrigin,
    live_certificate: Arc<LiveCertificate>,
    follow: Option<CertificateFileReloader>,
    clock: WallClock,
}

/// What all connections of a server have in common.
struct ConnectionContext {
    reviewer: Arc<dyn Reviewer>,
    metrics: Arc<WebhookMetrics>,
    /// Metrics and health, where they have no port of their own.
    admin: Option<Arc<Admin>>,
    limits: ServerLimits,
    origin: RequestOrigin,
    /// For bodies.
    budget: Arc<BodyMemoryBudget>,
    /// For long answers.
    answers: Arc<BodyMemoryBudget>,
    /// Long questions are judged one after the other, so that between any two of them everybody else has a turn.
    long: Semaphore,
}

impl WebhookListener {
    /// Opens the sockets and reads the certificate, if there is one to be read.
    ///
    /// # Errors
    /// If a socket cannot be had, or the certificate cannot be used.
    pub async fn open(settings: &WebhookServerSettings, clock: WallClock) -> Result<Self, OpenError> {
        let clients = match &settings.clients {
            Some(ClientCaSettings { file, names }) => {
                ClientAuthorities::signed_by(file, "--client-ca-file")?.named(names.iter().cloned())
            }
            None => ClientAuthorities::everybody(),
        };
        let origin =
            if settings.clients.is_some() { RequestOrigin::ApiServer } else { RequestOrigin::Anybody };
        let live_certificate = Arc::new(LiveCertificate::to(clients));
        let follow = match &settings.certificate {
            CertificateSource::SelfSigned { .. } => None,
            CertificateSource::Files { certificate, key, every } => Some(CertificateFileReloader::begin(
                certificate,
                key,
                *every,
                Arc::clone(&live_certificate),
                Arc::clone(&clock),
            )?),
        };
        let address = settings.address;
        let listener =
            TcpListener::bind(address).await.map_err(|source| OpenError::Listen { address, source })?;
        let metrics = match settings.metrics {
            Some(address) => Some(admin::bind(address, "--metrics-port").await?),
            None => None,
        };
        Ok(Self { listener, metrics, limits: settings.limits, origin, live_certificate, follow, clock })
    }

    /// Where questions are answered.
    ///
    /// # Errors
    /// If the operating system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Where metrics are served.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().and_then(|listener| listener.local_addr().ok())
    }

    /// The certificate on show, to put another in its place. Connections are closed until there is one.
    pub fn live_certificate(&self) -> Arc<LiveCertificate> {
        Arc::clone(&self.live_certificate)
    }

    /// Answers until `stop`, and then until everything in hand is answered.
    pub async fn serve(self, service: WebhookService, stop: impl Future<Output = ()>) {
        let Self { listener, metrics, limits, origin, live_certificate, follow, clock } = self;
        live_certificate.report_to(&service.metrics);
        let stopping = Arc::new(AtomicBool::new(false));
        let mut checks = service.checks;
        checks.push(Check::new("stopping", Scope::Ready, is_going_on(&stopping)));
        checks.push(Check::new("certificate", Scope::Ready, has_certificate(&live_certificate, clock)));
        let page = Arc::new(CachedPage::new(service.metrics.clone(), METRICS_AGE));
        let admin = Arc::new(Admin { metrics: page, checks });
        let mut beside = JoinSet::new();
        let mut here = Some(Arc::clone(&admin));
        if let Some(listener) = metrics {
            here = None;
            beside.spawn(async move { match admin::AdminListener::plain(listener).serve(admin).await {} });
        }
        if let Some(follow) = follow {
            let metrics = Arc::clone(&service.metrics);
            beside.spawn(async move { match follow.go_on(&metrics).await {} });
        }
        let (reviewer, metrics) = (service.reviewer, service.metrics);
        let (budget, answers) =
            (BodyMemoryBudget::new(limits.bodies_bytes), BodyMemoryBudget::new(limits.answers_bytes));
        let (budget, answers) = (Arc::new(budget), Arc::new(answers));
        let long = Semaphore::new(1);
        let common =
            ConnectionContext { reviewer, metrics, admin: here, limits, origin, budget, answers, long };
        let ending = async {
            stop.await;
            stopping.store(true, Ordering::Relaxed);
            sleep(limits.farewell).await;
        };
        accept(listener, &Arc::new(common), &live_certificate, ending).await;
    }
}

/// Accepts until the `end`, and lets open connections finish.
async fn accept(
    listener: TcpListener,
    common: &Arc<ConnectionContext>,
    live_certificate: &LiveCertificate,
    end: impl Future<Output = ()>,
) {
    let limit = Arc::new(ConnectionLimit::new(common.limits.connections));
    let (closing, closes) = watch::channel(false);
    let mut connections = JoinSet::new();
    let mut end = std::pin::pin!(end);
    loop {
        tokio::select! {
            () = &mut end => break,
            Some(_) = connections.join_next() => {}
            (stream, from) = next(&listener, common.limits) => {
                common.metrics.accepted.inc();
                let Some(guard) = limit.admit(from) else {
                    common.metrics.ended.of(Ended::Refused).inc();
                    continue;
                };
                let work = connection::serve(stream, live_certificate.acceptor(), guard, Arc::clone(common), closes.clone());
                connections.spawn(work);
            }
        }
    }
    drop(listener);
    closing.send_replace(true);
    let all_closed = async { while connections.join_next().await.is_some() {} };
    if timeout(common.limits.drain, all_closed).await.is_err() {
        tracing::warn!("some clients take too long to take their answers; they are left");
    }
}

async fn next(listener: &TcpListener, limits: ServerLimits) -> (TcpStream, IpAddr) {
    loop {
        match listener.accept().await {
            Ok((stream, from)) => {
                // Without them a connection only is slower, or is noticed later to be gone.
                let _ = stream.set_nodelay(true);
                let _ = keep_alive(&stream, limits.silence);
                return (stream, from.ip());
            }
            Err(error) => {
                tracing::warn!(err = &error as &dyn std::error::Error, "cannot accept a connection");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

fn is_going_on(stopping: &Arc<AtomicBool>) -> impl Fn() -> Result<(), String> + Send + Sync + 'static {
    let stopping = Arc::clone(stopping);
    move || if stopping.load(Ordering::Relaxed) { Err("stopped by a signal".into()) } else { Ok(()) }
}

fn has_certificate(
    live_certificate: &Arc<LiveCertificate>,
    clock: WallClock,
) -> impl Fn() -> Result<(), String> + Send + Sync + 'static {
    let live_certificate = Arc::clone(live_certificate);
    move || match live_certificate.validity() {
        None => Err("there is none to show yet".into()),
        Some(validity) if validity.holds(clock()) => Ok(()),
        Some(_) => Err("the current certificate is not valid now".into()),
    }
}
