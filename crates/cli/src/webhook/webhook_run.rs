//! Runs the admission webhook: server, cache watches, certificate.
//!
//! - Invariant: the webhook answers reviews from the start, with or without an API server; no response waits for a
//!   request by the webhook.

mod cache_watches;
mod certificate_rotator;

use std::sync::Arc;
use taintward_admission::metrics::WebhookMetrics;
use taintward_admission::rules::{ClusterCache, RuleReviewer, UntilReady};
use taintward_admission::server::{OpenError, WebhookListener, WebhookService};
use taintward_admission::settings as server;
use taintward_controller::metrics::{MonoClock, Registry, register_client};
use taintward_controller::settings::ClusterAccess;
use taintward_controller::shutdown::Shutdown;
use taintward_core::admission::review;
use taintward_kube::clock::Clock;
use taintward_kube::config::{ConnectError, RequestObserver, connect};
use taintward_kube::webhook_config::WebhookConfigClient;
use taintward_server::admin::{Check, Scope};
use tokio::task::JoinSet;

/// The settings of `run`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WebhookSettings {
    /// How to find the API server.
    pub(crate) cluster: ClusterAccess,
    /// The port, its certificate, and the limits on clients.
    pub(crate) server: server::WebhookServerSettings,
    /// Which rules are enabled, and their settings.
    pub(crate) rules: review::ReviewSettings,
    /// How to answer before the first lists are complete.
    pub(crate) until_ready: UntilReady,
    /// Where the self-signed certificate is stored; `None` with certificate files.
    pub(crate) keeping: Option<SelfSignedSettings>,
}

/// Where a self-signed certificate is stored, and which webhook configurations trust it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SelfSignedSettings {
    /// The namespace of the Secret.
    pub(crate) namespace: String,
    /// The Secret's name.
    pub(crate) secret: String,
    /// The name of both webhook configurations.
    pub(crate) configuration: String,
}

/// Why the webhook could not continue.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WebhookError {
    /// The port is not available, or the certificate is missing.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The configuration of the client cannot be used.
    #[error(transparent)]
    Connect(#[from] ConnectError),
}

/// Runs the webhook until a shutdown is requested.
///
/// # Errors
/// If it cannot start.
pub(crate) async fn run(settings: WebhookSettings, mut shutdown: Shutdown) -> Result<(), WebhookError> {
    let clock = Clock::system();
    let wall = clock.clone();
    let listening = WebhookListener::open(&settings.server, Arc::new(move || wall.now().wall)).await?;
    let cluster = settings.cluster.connection();
    let connected = tokio::select! {
        biased;
        () = shutdown.requested() => return Ok(()),
        connected = connect(&cluster) => connected?,
    };
    if let Ok(address) = listening.address() {
        let cluster = connected.where_from.as_str();
        tracing::info!(%address, cluster, rules = rule_names(&settings.rules), "the webhook serves requests");
    }
    let (metrics, requests) = metrics(&clock, &connected.host);
    let connected = connected.observed(&clock, &requests);
    let around = Arc::new(ClusterCache::default());
    let mut tasks = JoinSet::new();
    let streams =
        cache_watches::begin(&connected.streams, settings.cluster.relist_every, &around, &mut tasks);
    if let Some(keeping) = settings.keeping.clone() {
        let server::CertificateSource::SelfSigned { names } = &settings.server.certificate else {
            unreachable!("only self-signed certificates are stored")
        };
        let rotator = certificate_rotator::CertificateRotator::new(
            WebhookConfigClient::new(connected.client.clone()),
            keeping,
            names.clone(),
            clock.clone(),
            listening.live_certificate(),
            Arc::clone(&metrics),
        );
        tasks.spawn(async move { match rotator.run().await {} });
    }
    let rules = RuleReviewer::new(settings.rules, settings.until_ready, around);
    let rules = Arc::new(rules);
    let checks = checks(&rules, streams);
    let service = WebhookService { reviewer: rules, metrics, checks };
    tokio::select! {
        () = listening.serve(service, async move { shutdown.requested().await }) => {}
        () = broken(&mut tasks) => {}
    }
    tracing::info!("the webhook has stopped");
    Ok(())
}

/// Panics when a task panics: a webhook without its watches must not continue.
async fn broken(tasks: &mut JoinSet<()>) {
    while let Some(ended) = tasks.join_next().await {
        if let Err(error) = ended
            && error.is_panic()
        {
            std::panic::resume_unwind(error.into_panic());
        }
    }
    std::future::pending().await
}

/// The metrics, and the observer that counts requests to `host` in them.
fn metrics(clock: &Clock, host: &str) -> (Arc<WebhookMetrics>, Arc<dyn RequestObserver>) {
    let (now, mono) = (clock.now(), clock.clone());
    let mono: MonoClock = Arc::new(move || mono.now().mono);
    let mut registry = Registry::default();
    let requests = register_client(&mut registry, &mono, host);
    let (version, rules) = (env!("CARGO_PKG_VERSION"), RuleReviewer::names());
    (Arc::new(WebhookMetrics::new(registry, mono, version, now.wall, &rules)), Arc::new(requests))
}

/// Ready after all lists were complete once. If a watch breaks later, the cache keeps its state, and the log reports it.
fn checks(rules: &Arc<RuleReviewer>, streams: Vec<cache_watches::WebhookStream>) -> Vec<Check> {
    let rules = Arc::clone(rules);
    let synced = move || match rules.missing().as_slice() {
        [] => Ok(()),
        missing => Err(format!("not observed yet: {}", missing.join(", "))),
    };
    let mut checks = vec![Check::new("informers", Scope::Ready, synced)];
    checks.extend(streams.into_iter().map(cache_watches::WebhookStream::into_check));
    checks
}

/// All DNS names of a Service; API servers use the first one.
pub(crate) fn service_names(service: &str, namespace: &str) -> Vec<String> {
    let short = format!("{service}.{namespace}.svc");
    let long = format!("{short}.cluster.local");
    vec![short, long]
}

/// The names of the active rules: `default-tolerations,dedicated-pools`
fn rule_names(settings: &review::ReviewSettings) -> String {
    let holds = |rule: &review::AdmissionRule| match rule {
        review::AdmissionRule::Defaults => settings.defaults.is_some(),
        review::AdmissionRule::Restriction => settings.restriction.is_some(),
        review::AdmissionRule::Extended => settings.extended,
        review::AdmissionRule::Pools => settings.pools,
        review::AdmissionRule::TolerationGuard => settings.toleration_guard,
        review::AdmissionRule::Advice => settings.advice.is_some(),
        review::AdmissionRule::Brake => settings.guard.is_some(),
    };
    let names: Vec<&str> =
        review::AdmissionRule::ALL.iter().filter(|rule| holds(rule)).map(|rule| rule.name()).collect();
    names.join(",")
}
