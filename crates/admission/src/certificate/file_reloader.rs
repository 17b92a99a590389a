//! Reloads certificate and key from two PEM files when they change.
//!
//! - Invariant: incomplete, mismatched or expired files leave the last good pair in use.

use super::LiveCertificate;
use crate::metrics::WebhookMetrics;
use crate::open_error::OpenError;
use crate::settings::WallClock;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use taintward_server::certificate::CertificatePair;
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval};

/// Two files that are watched.
pub struct CertificateFileReloader {
    certificate: PathBuf,
    key: PathBuf,
    every: Duration,
    live_certificate: Arc<LiveCertificate>,
    clock: WallClock,
    /// The problem at the last check, so that it is reported once.
    problem: Option<String>,
}

impl CertificateFileReloader {
    /// Serves the pair in these files, and checks them at the interval `every`.
    ///
    /// # Errors
    /// If they cannot be read, do not belong together, or are not valid now.
    pub fn begin(
        certificate: &Path,
        key: &Path,
        every: Duration,
        live_certificate: Arc<LiveCertificate>,
        clock: WallClock,
    ) -> Result<Self, OpenError> {
        live_certificate.show(valid(CertificatePair::from_files(certificate, key)?, &clock)?);
        let (certificate, key) = (certificate.to_owned(), key.to_owned());
        Ok(Self { certificate, key, every, live_certificate, clock, problem: None })
    }

    /// Checks at the interval, without end.
    pub async fn go_on(mut self, metrics: &WebhookMetrics) -> Infallible {
        let mut ticks = interval(self.every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The first tick is immediate, and the files were just read.
        ticks.tick().await;
        loop {
            ticks.tick().await;
            self.reload(metrics).await;
        }
    }

    async fn reload(&mut self, metrics: &WebhookMetrics) {
        let (certificate, key) = (self.certificate.clone(), self.key.clone());
        // A disk may be slow, and must not block other tasks.
        let read = spawn_blocking(move || CertificatePair::from_files(&certificate, &key)).await;
        let Ok(read) = read else { return };
        match read.map_err(OpenError::from).and_then(|pair| self.fresh(pair)) {
            Ok(None) => self.problem = None,
            Ok(Some(pair)) => {
                self.problem = None;
                tracing::info!(file = &*self.certificate.to_string_lossy(), "the certificate was renewed");
                self.live_certificate.show(pair);
            }
            Err(error) => {
                metrics.reload_failures.inc();
                let problem = error.to_string();
                if self.problem.as_ref() != Some(&problem) {
                    tracing::error!(
                        err = &error as &dyn std::error::Error,
                        "cannot reload the certificate, keeping the last valid one"
                    );
                    self.problem = Some(problem);
                }
            }
        }
    }

    /// Returns the pair, if it is valid and not the current one. If both the current pair and the files have expired,
    /// that is a problem, too.
    fn fresh(&self, pair: CertificatePair) -> Result<Option<CertificatePair>, OpenError> {
        let pair = valid(pair, &self.clock)?;
        let known = self.live_certificate.certificate().as_deref()
            == pair.certificate().map(|certificate| &**certificate);
        Ok((!known).then_some(pair))
    }
}

fn valid(pair: CertificatePair, clock: &WallClock) -> Result<CertificatePair, OpenError> {
    let now = clock();
    match pair.validity() {
        None => Err(OpenError::NotNow("its validity period cannot be read".into())),
        Some(validity) if validity.until < now => Err(OpenError::NotNow("it has expired".into())),
        Some(validity) if now < validity.from => {
            Err(OpenError::NotNow("its validity period has not begun".into()))
        }
        Some(_) => Ok(pair),
    }
}
