//! # Keeper: the certificate of our own making
//! Room:     the loop that reads the Secret and the webhook configurations, does what rotation says, and shows it.
//! Comes in: names; what the API server has.
//! Goes out: writes of the Secret and of `caBundle`; the certificate on show.
//! Keeps:    the order that rotation asks for: configurations are read before the Secret; nothing is written over what was
//!           not read; after every write, and every failure, all is read again. Whatever fails leaves what is on show.
//! Not here: what is to be done (taintward-webhook's rotation), requests (the client).

use super::Keeping;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use taintward_client::act::Refusal;
use taintward_client::clock::Clock;
use taintward_client::webhooks::Webhooks;
use taintward_core::api_error::ApiFailure;
use taintward_core::time::Wall;
use taintward_webhook::certificate::rotation::{Plan, Seen, Serving, Step, Stored, step};
use taintward_webhook::certificate::{Bundle, MintError, RealMint, SecretError, Shown};
use taintward_webhook::metrics::Metrics;

/// Everything is looked at this often, whatever was expected: somebody may have applied the manifests again, which
/// empties `caBundle`.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// The pause after trouble, doubled up to [`LOOK_EVERY`] times three.
const PAUSE_FIRST: Duration = Duration::from_millis(500);
const PAUSE_LONGEST: Duration = Duration::from_secs(30);

/// The pause after a write, or after somebody else's: then all is read again.
const PAUSE_AGAIN: Duration = Duration::from_millis(50);

/// Keeps it.
pub(super) struct Keeper {
    pub(super) webhooks: Webhooks,
    pub(super) keeping: Keeping,
    pub(super) names: Vec<String>,
    pub(super) clock: Clock,
    pub(super) shown: Arc<Shown>,
    pub(super) metrics: Arc<Metrics>,
}

/// What stopped a look.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("{0}; `taintward install --apply` makes the Secret, with nothing in it")]
    NoSecret(Refusal),
    #[error(transparent)]
    Mint(#[from] MintError),
    #[error(transparent)]
    Secret(#[from] SecretError),
}

/// When to look next.
enum Next {
    Again,
    At(Wall),
}

impl Keeper {
    pub(super) async fn run(self) -> Infallible {
        let plan = Plan::new(self.names.clone());
        let mut pause = PAUSE_FIRST;
        loop {
            let wait = match self.look(&plan).await {
                Ok(Next::Again) => PAUSE_AGAIN,
                Ok(Next::At(next)) => {
                    pause = PAUSE_FIRST;
                    let left = next.as_micros().saturating_sub(self.clock.now().wall.as_micros());
                    Duration::from_micros(u64::try_from(left).unwrap_or(0)).clamp(PAUSE_AGAIN, LOOK_EVERY)
                }
                Err(Trouble::Refused(refusal)) if refusal.failure == ApiFailure::Conflict => PAUSE_AGAIN,
                Err(trouble) => {
                    tracing::warn!(err = %trouble, "the certificate cannot be looked after; what is on show stays");
                    self.metrics.reload_failures.inc();
                    pause = (pause * 2).min(PAUSE_LONGEST);
                    pause
                }
            };
            tokio::time::sleep(wait).await;
        }
    }

    async fn look(&self, plan: &Plan) -> Result<Next, Trouble> {
        let Keeping { namespace, secret, configuration } = &self.keeping;
        let configurations = self.webhooks.configurations(configuration).await?;
        let read = self.webhooks.secret(namespace, secret).await?;
        let stored = read.as_ref().and_then(|read| self.understood(&read.data));
        let bundles = |pems: &Vec<Vec<u8>>| pems.iter().map(|pem| Bundle::from_pem(pem)).collect::<Vec<_>>();
        let configured: Vec<Bundle> =
            configurations.iter().flat_map(|configuration| bundles(&configuration.bundles)).collect();
        let seen = Seen { stored: stored.as_ref(), configured: &configured };
        match step(seen, self.clock.now().wall, plan, &mut RealMint)? {
            Step::Write(better) => {
                let written =
                    self.webhooks.write_secret((namespace, secret), read.as_ref(), &better.to_data()).await;
                written.map_err(|refusal| match (&read, refusal.failure) {
                    (None, ApiFailure::Forbidden) => Trouble::NoSecret(refusal),
                    _ => Trouble::Refused(refusal),
                })?;
                tracing::info!(secret, "the certificate's Secret was written");
                Ok(Next::Again)
            }
            Step::Keep { trust, show, next } => {
                let differs = |pems: &Vec<Vec<u8>>| bundles(pems).iter().any(|bundle| *bundle != trust);
                let mut wrote = false;
                for configuration in configurations.iter().filter(|one| differs(&one.bundles)) {
                    self.webhooks.trust(&self.keeping.configuration, configuration, &trust.to_pem()).await?;
                    tracing::info!(kind = configuration.kind.plural(), "caBundle was written");
                    wrote = true;
                }
                self.put_on_show(show)?;
                Ok(if wrote { Next::Again } else { Next::At(next) })
            }
        }
    }

    /// A Secret that makes no sense counts as none, and is written anew.
    fn understood(&self, data: &std::collections::BTreeMap<String, Vec<u8>>) -> Option<Stored> {
        match Stored::from_data(data) {
            Ok(stored) => Some(stored),
            // As `taintward install` makes it: there, so that its name can be granted, with nothing in it.
            Err(_) if data.values().all(Vec::is_empty) => None,
            Err(why) => {
                tracing::warn!(secret = self.keeping.secret.as_str(), err = %why, "a new certificate is made");
                None
            }
        }
    }

    fn put_on_show(&self, show: Option<Serving>) -> Result<(), SecretError> {
        let Some(serving) = show else { return Ok(()) };
        let pair = serving.pair()?;
        let same = pair.certificate().map(|certificate| certificate.to_vec()) == self.shown.certificate();
        if !same {
            self.shown.show(pair);
            tracing::info!("another certificate is on show");
        }
        Ok(())
    }
}
