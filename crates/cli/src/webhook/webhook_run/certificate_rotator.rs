//! Runs certificate rotation: reads the webhook configurations and the Secret, applies the next step, serves the
//! result.
//!
//! - Invariant: configurations are read before the Secret; a write never overwrites an unread version; after every write
//!   or failure everything is read again. After failures the served certificate stays.

use super::SelfSignedSettings;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use taintward_admission::certificate::rotation::{ObservedState, RotationStep, StoredState, step};
use taintward_admission::certificate::{
    IssueError, LiveCertificate, RcgenIssuer, RotationPlan, SecretError, ServingPair, TrustBundle,
};
use taintward_admission::metrics::WebhookMetrics;
use taintward_core::api_error::ApiFailure;
use taintward_core::time::Wall;
use taintward_kube::api::RequestError;
use taintward_kube::clock::Clock;
use taintward_kube::webhook_config::WebhookConfigClient;

/// The maximum interval between checks, because a user may apply the manifests again, which empties `caBundle`.
const CHECK_PERIOD: Duration = Duration::from_secs(10);

/// The pause after a failure, doubled up to [`CHECK_PERIOD`] times three.
const PAUSE_FIRST: Duration = Duration::from_millis(500);
const PAUSE_LONGEST: Duration = Duration::from_secs(30);

/// The pause after a write by this process or another one, before everything is read again.
const PAUSE_AGAIN: Duration = Duration::from_millis(50);

/// Keeps the Secret, the webhook configurations and the served certificate in sync.
pub(super) struct CertificateRotator {
    webhooks: WebhookConfigClient,
    settings: SelfSignedSettings,
    names: Vec<String>,
    clock: Clock,
    certificate: Arc<LiveCertificate>,
    metrics: Arc<WebhookMetrics>,
}

/// What stopped a check.
#[derive(Debug, thiserror::Error)]
enum RotationError {
    #[error(transparent)]
    Rejected(#[from] RequestError),
    #[error("{0}; create the empty Secret with `taintward install --apply`")]
    NoSecret(RequestError),
    #[error(transparent)]
    Mint(#[from] IssueError),
    #[error(transparent)]
    Secret(#[from] SecretError),
}

/// When to check next.
enum NextRotation {
    Again,
    At(Wall),
}

impl CertificateRotator {
    /// Rotates `certificate`, which is issued for `names`.
    pub(super) const fn new(
        webhooks: WebhookConfigClient,
        settings: SelfSignedSettings,
        names: Vec<String>,
        clock: Clock,
        certificate: Arc<LiveCertificate>,
        metrics: Arc<WebhookMetrics>,
    ) -> Self {
        Self { webhooks, settings, names, clock, certificate, metrics }
    }

    pub(super) async fn run(self) -> Infallible {
        let plan = RotationPlan::new(self.names.clone());
        let mut pause = PAUSE_FIRST;
        loop {
            let wait = match self.reconcile(&plan).await {
                Ok(NextRotation::Again) => PAUSE_AGAIN,
                Ok(NextRotation::At(next)) => {
                    pause = PAUSE_FIRST;
                    let left = next.as_micros().saturating_sub(self.clock.now().wall.as_micros());
                    Duration::from_micros(u64::try_from(left).unwrap_or(0)).clamp(PAUSE_AGAIN, CHECK_PERIOD)
                }
                Err(RotationError::Rejected(rejection)) if rejection.failure == ApiFailure::Conflict => {
                    PAUSE_AGAIN
                }
                Err(error) => {
                    tracing::warn!(err = %error, "certificate rotation failed, keeping the current certificate");
                    self.metrics.reload_failures.inc();
                    pause = (pause * 2).min(PAUSE_LONGEST);
                    pause
                }
            };
            tokio::time::sleep(wait).await;
        }
    }

    async fn reconcile(&self, plan: &RotationPlan) -> Result<NextRotation, RotationError> {
        let SelfSignedSettings { namespace, secret, configuration } = &self.settings;
        let configurations = self.webhooks.configurations(configuration).await?;
        let read = self.webhooks.secret(namespace, secret).await?;
        let stored = read.as_ref().and_then(|read| self.understood(&read.data));
        let bundles =
            |pems: &Vec<Vec<u8>>| pems.iter().map(|pem| TrustBundle::from_pem(pem)).collect::<Vec<_>>();
        let configured: Vec<TrustBundle> =
            configurations.iter().flat_map(|configuration| bundles(&configuration.bundles)).collect();
        let seen = ObservedState { stored: stored.as_ref(), configured: &configured };
        match step(seen, self.clock.now().wall, plan, &mut RcgenIssuer)? {
            RotationStep::Write(better) => {
                let written =
                    self.webhooks.write_secret((namespace, secret), read.as_ref(), &better.to_data()).await;
                written.map_err(|rejection| match (&read, rejection.failure) {
                    (None, ApiFailure::Forbidden) => RotationError::NoSecret(rejection),
                    _ => RotationError::Rejected(rejection),
                })?;
                tracing::info!(secret, "the certificate's Secret was written");
                Ok(NextRotation::Again)
            }
            RotationStep::Keep { trust, show, next } => {
                let differs = |pems: &Vec<Vec<u8>>| bundles(pems).iter().any(|bundle| *bundle != trust);
                let mut wrote = false;
                for configuration in configurations.iter().filter(|one| differs(&one.bundles)) {
                    self.webhooks.trust(&self.settings.configuration, configuration, &trust.to_pem()).await?;
                    tracing::info!(kind = configuration.kind.plural(), "caBundle was written");
                    wrote = true;
                }
                self.put_on_show(show)?;
                Ok(if wrote { NextRotation::Again } else { NextRotation::At(next) })
            }
        }
    }

    /// Parses the Secret. An invalid one counts as missing and is overwritten.
    fn understood(&self, data: &std::collections::BTreeMap<String, Vec<u8>>) -> Option<StoredState> {
        match StoredState::from_data(data) {
            Ok(stored) => Some(stored),
            // `taintward install` creates it empty, so that a permission can name it.
            Err(_) if data.values().all(Vec::is_empty) => None,
            Err(why) => {
                tracing::warn!(secret = self.settings.secret.as_str(), err = %why, "creating a new certificate");
                None
            }
        }
    }

    fn put_on_show(&self, show: Option<ServingPair>) -> Result<(), SecretError> {
        let Some(serving) = show else { return Ok(()) };
        let pair = serving.pair()?;
        let same =
            pair.certificate().map(|certificate| certificate.to_vec()) == self.certificate.certificate();
        if !same {
            self.certificate.show(pair);
            tracing::info!("serving a new certificate");
        }
        Ok(())
    }
}
