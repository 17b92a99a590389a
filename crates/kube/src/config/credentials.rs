//! Holds and renews the credentials of all connections of a configuration.
//!
//! - Invariant: an exec plugin runs once at a time; credentials that cannot be renewed stay in use; no secret is
//!   logged.
//! - See `credentials/credential_files.rs` and `credentials/exec_plugin.rs` for the sources, `credentials/auth.rs` for
//!   requests.

use super::TlsProblem;
use crate::clock::Clock;
use crate::error_text::find;
use credential_files::CredentialFiles;
use exec_plugin::{ExecError, ExecPlugin};
use http::{HeaderValue, StatusCode};
use kube::Config;
use rustls::ClientConfig;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use taintward_core::time::{Mono, Span};
use thiserror::Error;
use tls::tls;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tower::BoxError;

mod auth;
mod credential_files;
mod exec_plugin;
mod tls;

pub(super) use auth::AuthService;

/// How often files are read, and how often while the server rejects their credentials (client-go: every minute).
const FILE_POLL_INTERVAL: Span = Span::from_secs(10);
const REJECTED_POLL_INTERVAL: Span = Span::from_secs(1);

/// A credential is renewed this long before its end, or when a quarter of its time is left.
const RENEW_BEFORE_EXPIRY: Span = Span::from_secs(60);

/// The shortest and the longest time from one start of a plugin to the next, if it fails or its credentials are
/// rejected.
const EXEC_INTERVAL_MIN: Span = Span::from_secs(1);
const EXEC_INTERVAL_MAX: Span = Span::from_secs(4);

/// A plugin that ran at least this long ago has succeeded.
const SUCCESSFUL_RUN_MIN: Span = Span::from_secs(60);

/// The sources of errors.
const FILES: usize = 0;
const PLUGIN: usize = 1;

/// A client certificate chain and its key, PEM.
#[derive(Clone, PartialEq, Eq)]
struct ClientIdentity {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

/// The credentials that were read last. Secrets: it cannot be printed.
#[derive(Clone, Default)]
struct LoadedCredentials {
    authorization: Option<HeaderValue>,
    identity: Option<ClientIdentity>,
    /// PEM; none if the configuration names no file.
    authority: Option<Vec<u8>>,
}

/// The credentials from an exec plugin. Secrets: it cannot be printed.
struct IssuedCredential {
    token: Option<String>,
    identity: Option<ClientIdentity>,
    /// When it expires, by the monotonic clock: setting the wall clock later moves nothing.
    expires: Option<Mono>,
}

/// The credentials of requests. Secrets: it cannot be printed.
struct RequestCredentials {
    /// Counts changes, from 1.
    version: u64,
    authorization: Option<HeaderValue>,
    tls: Arc<ClientConfig>,
}

/// There are no credentials for a request.
#[derive(Clone, Debug, Error)]
#[error("no credentials: {0}")]
pub(crate) struct NoCredentials(pub(crate) Arc<str>);

#[derive(Clone)]
enum CredentialState {
    NotYet,
    Ready(Arc<RequestCredentials>),
    Failed(NoCredentials),
}

/// A handle to the credentials of one configuration; dropping the last one ends their renewal.
///
/// As in client-go, a 401 is returned to its request and renews the credentials of the next ones: files are read again,
/// and a plugin runs again. Unlike there, no request waits for that unless there are no credentials at all: a request
/// has a timeout of a few seconds, and a slower plugin would be killed with it again and again.
#[derive(Clone)]
pub(super) struct Credentials {
    state: watch::Receiver<CredentialState>,
    feedback: Arc<CredentialFeedback>,
    _renewal: Arc<JoinSet<()>>,
}

/// The server's feedback: the version that it does not accept, 0 if it accepts.
#[derive(Default)]
struct CredentialFeedback {
    /// This version failed, on one side or the other.
    doubted: AtomicU64,
    /// The server rejected this version.
    rejected: AtomicU64,
    reread: Notify,
}

impl Credentials {
    /// Reads everything once, and continues in the background. A plugin has not run yet: the first request waits for
    /// it. It may prompt the user if `interactive`.
    pub(super) async fn start(
        mut config: Config,
        interactive: bool,
        clock: Clock,
    ) -> Result<Self, TlsProblem> {
        let plugin = config.auth_info.exec.take().map(|exec| ExecPlugin::new(exec, interactive)).transpose();
        let plugin = plugin.map_err(|why| TlsProblem::credentials(why.to_string()))?;
        let files = Arc::new(CredentialFiles::of(&config)?);
        let (out, state) = watch::channel(CredentialState::NotYet);
        let feedback = Arc::<CredentialFeedback>::default();
        let mut renewal = CredentialRenewal {
            config,
            files,
            exec_schedule: plugin.map(|plugin| ExecSchedule::new(plugin, clock.now().mono)),
            clock,
            loaded: LoadedCredentials::default(),
            issued: None,
            built: None,
            version: 0,
            last_errors: [None, None],
            out,
            feedback: Arc::clone(&feedback),
        };
        renewal.read().await?;
        let mut task = JoinSet::new();
        if renewal.exec_schedule.is_some() || renewal.files.may_change() {
            task.spawn(renewal.run());
        }
        Ok(Self { state, feedback, _renewal: Arc::new(task) })
    }

    /// Returns the credentials for the next request; waits only as long as there are none.
    async fn current(&self) -> Result<Arc<RequestCredentials>, NoCredentials> {
        let mut state = self.state.clone();
        match state.wait_for(|state| !matches!(state, CredentialState::NotYet)).await.as_deref() {
            Ok(CredentialState::Ready(sent)) => Ok(Arc::clone(sent)),
            Ok(CredentialState::Failed(why)) => Err(why.clone()),
            Ok(CredentialState::NotYet) | Err(_) => Err(NoCredentials("their renewal has ended".into())),
        }
    }

    /// Evaluates the response to a request.
    fn judge(&self, sent: &RequestCredentials, response: Result<StatusCode, &BoxError>) {
        let CredentialFeedback { doubted, rejected, reread } = &*self.feedback;
        let (is_doubted, is_rejected) = match response {
            Ok(status) => (status == StatusCode::UNAUTHORIZED, status == StatusCode::UNAUTHORIZED),
            Err(why) => match find::<rustls::Error>(why.as_ref()) {
                Some(rustls::Error::AlertReceived(_)) => (true, true),
                Some(_) => (true, false),
                // The server has not seen them.
                None => return,
            },
        };
        if is_doubted {
            doubted.fetch_max(sent.version, Ordering::Relaxed);
            if is_rejected {
                rejected.fetch_max(sent.version, Ordering::Relaxed);
            }
            reread.notify_one();
        } else {
            for of in [doubted, rejected] {
                let _ = of.compare_exchange(sent.version, 0, Ordering::Relaxed, Ordering::Relaxed);
            }
        }
    }
}

/// When the plugin runs.
struct ExecSchedule {
    plugin: ExecPlugin,
    /// When it runs in any case.
    due: Mono,
    /// When it may run if its credentials are rejected.
    earliest: Mono,
    interval: Span,
}

/// A TLS configuration, and the credentials it was built from.
struct TlsMaterial {
    authority: Option<Vec<u8>>,
    identity: Option<ClientIdentity>,
    tls: Arc<ClientConfig>,
}

/// The only task that renews.
struct CredentialRenewal {
    config: Config,
    files: Arc<CredentialFiles>,
    exec_schedule: Option<ExecSchedule>,
    clock: Clock,
    loaded: LoadedCredentials,
    issued: Option<IssuedCredential>,
    built: Option<TlsMaterial>,
    version: u64,
    /// The errors of files, and of the plugin: each is reported once.
    last_errors: [Option<String>; 2],
    out: watch::Sender<CredentialState>,
    feedback: Arc<CredentialFeedback>,
}

impl CredentialRenewal {
    async fn run(mut self) {
        loop {
            let now = self.clock.now().mono;
            let rejected = self.is(&self.feedback.rejected);
            if let Some(exec_schedule) = &mut self.exec_schedule
                && (now >= exec_schedule.due || (rejected && now >= exec_schedule.earliest))
            {
                let outcome = exec_schedule.take(&self.clock).await;
                let again = exec_schedule.earliest;
                let outcome = outcome
                    .map(|issued| self.issued = Some(issued))
                    .map_err(|why| TlsProblem::credentials(why.to_string()));
                let outcome = outcome.and_then(|()| self.publish());
                if let (Err(_), Some(exec_schedule)) = (&outcome, &mut self.exec_schedule) {
                    exec_schedule.due = again;
                }
                self.report(PLUGIN, outcome.err());
            }
            let wait =
                if self.is(&self.feedback.doubted) { REJECTED_POLL_INTERVAL } else { FILE_POLL_INTERVAL };
            let mut next = self.clock.now().mono.plus(wait);
            if let Some(exec_schedule) = &self.exec_schedule {
                next = next.min(exec_schedule.due);
            }
            tokio::select! {
                () = self.clock.sleep_until(next) => {}
                () = self.feedback.reread.notified() => {
                    self.clock.sleep_until(now.plus(REJECTED_POLL_INTERVAL)).await;
                }
            }
            if self.files.may_change() {
                let outcome = self.read().await;
                self.report(FILES, outcome.err());
            }
        }
    }

    /// Reads the files, where no request waits for a slow disk.
    async fn read(&mut self) -> Result<(), TlsProblem> {
        let (files, mut loaded) = (Arc::clone(&self.files), self.loaded.clone());
        let reading = tokio::task::spawn_blocking(move || {
            let outcome = files.read(&mut loaded);
            (loaded, outcome)
        });
        let (loaded, outcome) = reading.await.map_err(|_| TlsProblem::credentials("files cannot be read"))?;
        self.loaded = loaded;
        // Files that could be read count, even if others could not.
        outcome.and(self.publish())
    }

    /// Publishes what is known now, if it is new.
    fn publish(&mut self) -> Result<(), TlsProblem> {
        if self.exec_schedule.is_some() && self.issued.is_none() {
            return Ok(());
        }
        let issued = self.issued.as_ref();
        let token = issued.and_then(|issued| issued.token.as_ref()).filter(|_| !self.files.authorize());
        let authorization = match token {
            Some(token) => Some(bearer(token.as_bytes()).map_err(TlsProblem::credentials)?),
            None => self.loaded.authorization.clone(),
        };
        let identity = self.loaded.identity.as_ref().or(issued.and_then(|issued| issued.identity.as_ref()));
        let authority = &self.loaded.authority;
        let is_built = |of: &&TlsMaterial| of.authority == *authority && of.identity.as_ref() == identity;
        let mut error = Ok(());
        if self.built.as_ref().filter(is_built).is_none() {
            match tls(&self.config, authority.as_deref(), identity) {
                Ok(tls) => {
                    let (authority, identity, tls) = (authority.clone(), identity.cloned(), Arc::new(tls));
                    if self.built.replace(TlsMaterial { authority, identity, tls }).is_some() {
                        tracing::info!("certificates have changed, new connections use them");
                    }
                }
                Err(why) => error = Err(TlsProblem::certificate(why.to_string())),
            }
        }
        let Some(TlsMaterial { tls, .. }) = &self.built else { return error };
        let tls = Arc::clone(tls);
        let is_known = match &*self.out.borrow() {
            CredentialState::Ready(sent) => {
                sent.authorization == authorization && Arc::ptr_eq(&sent.tls, &tls)
            }
            _ => false,
        };
        if !is_known {
            self.version += 1;
            tracing::debug!(version = self.version, "credentials have changed");
            let sent = RequestCredentials { version: self.version, authorization, tls };
            self.out.send_replace(CredentialState::Ready(Arc::new(sent)));
        }
        error
    }

    fn report(&mut self, of: usize, error: Option<TlsProblem>) {
        let error = error.map(|error| error.reason);
        if let Some(why) = &error
            && !matches!(&*self.out.borrow(), CredentialState::Ready(_))
        {
            self.out.send_replace(CredentialState::Failed(NoCredentials(why.as_str().into())));
        }
        match (&error, &self.last_errors[of]) {
            (Some(why), before) if before.as_ref() != Some(why) => {
                tracing::warn!(err = why, "cannot renew credentials, keeping the last ones");
            }
            (None, Some(_)) => tracing::info!("credentials can be renewed again"),
            _ => {}
        }
        self.last_errors[of] = error;
    }

    fn is(&self, feedback: &AtomicU64) -> bool {
        self.version > 0 && feedback.load(Ordering::Relaxed) == self.version
    }
}

impl ExecSchedule {
    fn new(plugin: ExecPlugin, now: Mono) -> Self {
        Self { plugin, due: now, earliest: now.minus(SUCCESSFUL_RUN_MIN), interval: Span::ZERO }
    }

    async fn take(&mut self, clock: &Clock) -> Result<IssuedCredential, ExecError> {
        let began = clock.now().mono;
        let doubled = self.interval.saturating_add(self.interval).min(EXEC_INTERVAL_MAX);
        self.interval = if began.since(self.earliest) < SUCCESSFUL_RUN_MIN {
            doubled.max(EXEC_INTERVAL_MIN)
        } else {
            EXEC_INTERVAL_MIN
        };
        let outcome = self.plugin.run(clock).await;
        let now = clock.now().mono;
        self.earliest = now.plus(self.interval);
        self.due = match &outcome {
            Ok(IssuedCredential { expires: None, .. }) => Mono::NEVER,
            Ok(IssuedCredential { expires: Some(end), .. }) => renewal_of(*end, now),
            Err(_) => self.earliest,
        };
        outcome
    }
}

/// Returns when a credential that expires then is renewed. If it has expired already by the local clock, the server
/// decides.
fn renewal_of(end: Mono, now: Mono) -> Mono {
    let left = end.since(now);
    match left.as_micros() {
        0 => now.plus(SUCCESSFUL_RUN_MIN),
        left => {
            end.minus(RENEW_BEFORE_EXPIRY.min(Span::from_micros(left / 4))).max(now.plus(EXEC_INTERVAL_MAX))
        }
    }
}

/// Formats a token as a header; surrounding whitespace, such as the line end of a file, is removed.
fn bearer(token: &[u8]) -> Result<HeaderValue, &'static str> {
    match std::str::from_utf8(token).map(str::trim) {
        Ok("") => Err("the token is empty"),
        Ok(token) => header(&format!("Bearer {token}")),
        Err(_) => Err("the token is not text"),
    }
}

fn header(text: &str) -> Result<HeaderValue, &'static str> {
    let mut value = HeaderValue::from_str(text).map_err(|_| "it has characters that no header can carry")?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests;
