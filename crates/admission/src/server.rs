//! Runs the HTTPS port of the webhook from the first to the last connection.
//!
//! - Invariant: well-behaved clients get responses whatever others do: connections are limited, and the most numerous,
//!   useless or silent ones are closed first. Shutdown completes requests in flight.
//! - See `server/connection.rs` for one connection, `server/route.rs` for one request.

mod body;
mod connection;
mod memory_budget;
mod route;

pub use crate::open_error::OpenError;
pub use crate::settings::WallClock;

use crate::certificate::{CertificateFileReloader, LiveCertificate};
use crate::metrics::{ConnectionEnd, WebhookMetrics};
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

/// The pause after the operating system failed to accept a connection (for lack of file descriptors, for example).
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The maximum age of the metrics page: frequent requests do not render it each time.
const METRICS_AGE: Duration = Duration::from_secs(1);

/// The service.
pub struct WebhookService {
    /// The reviewer.
    pub reviewer: Arc<dyn Reviewer>,
    /// The metrics.
    pub metrics: Arc<WebhookMetrics>,
    /// The checks of `/readyz`, `/livez` and `/healthz`, besides the certificate and whether the server is stopping.
    pub checks: Vec<Check>,
}

/// Open sockets that are not served yet.
pub struct WebhookListener {
    listener: TcpListener,
    metrics: Option<TcpListener>,
    limits: ServerLimits,
    origin: RequestOrigin,
    live_certificate: Arc<LiveCertificate>,
    follow: Option<CertificateFileReloader>,
    clock: WallClock,
}

/// What all connections of a server share.
struct ConnectionContext {
    reviewer: Arc<dyn Reviewer>,
    metrics: Arc<WebhookMetrics>,
    /// Metrics and health, if they have no port of their own.
    admin: Option<Arc<Admin>>,
    limits: ServerLimits,
    origin: RequestOrigin,
    /// For request bodies.
    budget: Arc<BodyMemoryBudget>,
    /// For long responses.
    response_budget: Arc<BodyMemoryBudget>,
    /// Long reviews are judged one after the other, so that other reviews get a turn in between.
    long: Semaphore,
}

impl WebhookListener {
    /// Opens the sockets and reads the certificate, if it is in files.
    ///
    /// # Errors
    /// If a socket is not available, or the certificate cannot be used.
    pub async fn open(settings: &WebhookServerSettings, clock: WallClock) -> Result<Self, OpenError> {
        let clients = match &settings.clients {
            Some(ClientCaSettings { file, names }) => {
                ClientAuthorities::signed_by(file, "--client-ca-file")?.named(names.iter().cloned())
            }
            None => ClientAuthorities::everybody(),
        };
        let origin =
            if settings.clients.is_some() { RequestOrigin::ApiServer } else { RequestOrigin::Unverified };
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

    /// The address of the review port.
    ///
    /// # Errors
    /// If the operating system does not return it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The address of the metrics port.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().and_then(|listener| listener.local_addr().ok())
    }

    /// The current certificate, to be replaced. Connections are closed until there is one.
    pub fn live_certificate(&self) -> Arc<LiveCertificate> {
        Arc::clone(&self.live_certificate)
    }

    /// Serves until `stop`, and then until all requests in flight have a response.
    pub async fn serve(self, service: WebhookService, stop: impl Future<Output = ()>) {
        let Self { listener, metrics, limits, origin, live_certificate, follow, clock } = self;
        live_certificate.report_to(&service.metrics);
        let stopping = Arc::new(AtomicBool::new(false));
        let mut checks = service.checks;
        checks.push(Check::new("stopping", Scope::Ready, is_going_on(&stopping)));
        checks.push(Check::new("certificate", Scope::Ready, has_certificate(&live_certificate, clock)));
        let page = Arc::new(CachedPage::new(service.metrics.clone(), METRICS_AGE));
        let admin = Arc::new(Admin { metrics: page, record: None, checks });
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
        let (budget, response_budget) =
            (BodyMemoryBudget::new(limits.bodies_bytes), BodyMemoryBudget::new(limits.responses_bytes));
        let (budget, response_budget) = (Arc::new(budget), Arc::new(response_budget));
        let long = Semaphore::new(1);
        let common = ConnectionContext {
            reviewer,
            metrics,
            admin: here,
            limits,
            origin,
            budget,
            response_budget,
            long,
        };
        let ending = async {
            stop.await;
            stopping.store(true, Ordering::Relaxed);
            sleep(limits.farewell).await;
        };
        accept(listener, &Arc::new(common), &live_certificate, ending).await;
    }
}

/// Accepts connections until the `end`, and lets open ones finish.
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
                    common.metrics.ended.of(ConnectionEnd::UnreviewedReason).inc();
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
        tracing::warn!("closing connections of clients that read their responses too slowly");
    }
}

async fn next(listener: &TcpListener, limits: ServerLimits) -> (TcpStream, IpAddr) {
    loop {
        match listener.accept().await {
            Ok((stream, from)) => {
                // Without these options a connection is only slower, or its end is detected later.
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
        None => Err("no certificate has been loaded yet".into()),
        Some(validity) if validity.holds(clock()) => Ok(()),
        Some(_) => Err("the current certificate is not valid now".into()),
    }
}
