//! Runs the exec plugin of a kubeconfig and reads its `ExecCredential`.
//!
//! - Invariant: it has a time limit and is killed with its children when it is no longer needed; errors quote neither
//!   its output nor its environment.

use super::{ClientIdentity, IssuedCredential};
use crate::clock::Clock;
use crate::error_text::one_line;
use jiff::Timestamp;
use kube::config::{ExecConfig, ExecInteractiveMode};
use rustix::process::{Pid, Signal, kill_process_group};
use serde::Deserialize;
use serde_json::json;
use std::io::{ErrorKind, IsTerminal as _};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use taintward_core::time::Wall;
use thiserror::Error;
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, Command};

/// The timeout; and the timeout if it can prompt the user.
const RUN_TIMEOUT: Duration = Duration::from_secs(60);
const INTERACTIVE_TIMEOUT: Duration = Duration::from_secs(300);

/// The longest output that is read.
const OUTPUT_MAX: u64 = 1 << 20;

/// A plugin that can be run.
pub(super) struct ExecPlugin {
    exec: ExecConfig,
    command: String,
    version: String,
    may_prompt: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecCredential {
    kind: Option<String>,
    api_version: Option<String>,
    status: Option<ExecCredentialStatus>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecCredentialStatus {
    expiration_timestamp: Option<String>,
    token: Option<String>,
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
}

/// A running plugin. It leads a process group of its own if it needs no terminal.
struct ExecProcess {
    child: Child,
    group: bool,
}

/// Why a plugin gave no credential; one sentence, without secrets.
#[derive(Debug, Error)]
#[error("{0}")]
pub(super) struct ExecError(String);

impl ExecError {
    fn of(what: &str) -> Self {
        Self(what.to_owned())
    }
}

impl Drop for ExecProcess {
    fn drop(&mut self) {
        // None once it has been waited for.
        let pid = self.child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        if let Some(pid) = pid.filter(|_| self.group) {
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}

impl ExecPlugin {
    /// `may_prompt`: the plugin gets standard input if it is a terminal, and standard error always, as kubectl does.
    pub(super) fn new(exec: ExecConfig, may_prompt: bool) -> Result<Self, ExecError> {
        let command = exec.command.clone().filter(|command| !command.is_empty());
        let command = command.ok_or_else(|| ExecError::of("the exec plugin has no command"))?;
        let version = exec.api_version.clone().unwrap_or_default();
        if !["v1", "v1beta1"].iter().any(|known| version == format!("client.authentication.k8s.io/{known}")) {
            let version = one_line(&version);
            return Err(ExecError(format!(
                "the exec plugin's apiVersion is \"{version}\"; there are client.authentication.k8s.io/v1 and /v1beta1"
            )));
        }
        Ok(Self { exec, command, version, may_prompt })
    }

    pub(super) async fn run(&self, clock: &Clock) -> Result<IssuedCredential, ExecError> {
        let at_terminal = self.may_prompt && std::io::stdin().is_terminal();
        let interactive = match self.exec.interactive_mode {
            Some(ExecInteractiveMode::Never) => false,
            Some(ExecInteractiveMode::Always) if !at_terminal => {
                return Err(self.blame("needs a terminal (interactiveMode: Always), and there is none"));
            }
            _ => at_terminal,
        };
        let limit = if interactive { INTERACTIVE_TIMEOUT } else { RUN_TIMEOUT };
        let mut running = self.start(interactive)?;
        let ended = tokio::time::timeout(limit, running.output()).await;
        let ended = ended.map_err(|_| self.blame(&format!("has not ended within {limit:?}")))?;
        let (status, output) = ended.map_err(|why| self.blame(&why.0))?;
        if !status.success() {
            return Err(self.blame(&format!("ended with {status}")));
        }
        self.read(&output, clock).map_err(|why| self.blame(&why.0))
    }

    fn start(&self, interactive: bool) -> Result<ExecProcess, ExecError> {
        let mut spec = json!({ "interactive": interactive });
        if let Some(cluster) = self.exec.cluster.as_ref().filter(|_| self.exec.provide_cluster_info) {
            spec["cluster"] = serde_json::to_value(cluster).map_err(|_| self.blame("has an odd cluster"))?;
        }
        let info = json!({ "kind": "ExecCredential", "apiVersion": self.version, "spec": spec });
        let mut command = Command::new(&self.command);
        command.args(self.exec.args.iter().flatten());
        for variable in self.exec.env.iter().flatten() {
            if let (Some(name), Some(value)) = (variable.get("name"), variable.get("value")) {
                command.env(name, value);
            }
        }
        command.env("KUBERNETES_EXEC_INFO", info.to_string());
        command.stdin(if interactive { Stdio::inherit() } else { Stdio::null() }).stdout(Stdio::piped());
        command.stderr(if self.may_prompt { Stdio::inherit() } else { Stdio::null() }).kill_on_drop(true);
        if !interactive {
            command.process_group(0);
        }
        match command.spawn() {
            Ok(child) => Ok(ExecProcess { child, group: !interactive }),
            Err(why) if why.kind() == ErrorKind::NotFound => {
                let hint = self.exec.install_hint.as_deref().map(|hint| format!("; {}", one_line(hint)));
                Err(ExecError(format!(
                    "the exec plugin {} does not exist; install it, or correct the command in the kubeconfig{}",
                    one_line(&self.command),
                    hint.unwrap_or_default()
                )))
            }
            Err(why) => Err(self.blame(&format!("cannot be started: {why}"))),
        }
    }

    fn read(&self, output: &[u8], clock: &Clock) -> Result<IssuedCredential, ExecError> {
        // The parser's error could quote the output.
        let credential: ExecCredential = serde_saphyr::from_slice(output)
            .map_err(|_| ExecError::of("has not written an ExecCredential"))?;
        if credential.kind.as_deref() != Some("ExecCredential")
            || credential.api_version.as_ref() != Some(&self.version)
        {
            return Err(ExecError(format!("has not written an ExecCredential of {}", self.version)));
        }
        let status =
            credential.status.ok_or_else(|| ExecError::of("has written an ExecCredential without status"))?;
        let given = |text: Option<String>| text.filter(|text| !text.is_empty());
        let token = given(status.token);
        let identity = match (given(status.client_certificate_data), given(status.client_key_data)) {
            (Some(certificate), Some(key)) => {
                Some(ClientIdentity { certificate: certificate.into_bytes(), key: key.into_bytes() })
            }
            (None, None) if token.is_some() => None,
            (None, None) => return Err(ExecError::of("has given neither a token nor a certificate")),
            _ => return Err(ExecError::of("has given only one of certificate and key")),
        };
        let ends = given(status.expiration_timestamp).map(|text| text.parse::<Timestamp>()).transpose();
        let ends = ends.map_err(|_| ExecError::of("returned an expirationTimestamp that is not a time"))?;
        let expires = ends.map(|ends| clock.now().mono_of(Wall::from_micros(ends.as_microsecond())));
        Ok(IssuedCredential { token, identity, expires })
    }

    fn blame(&self, what: &str) -> ExecError {
        ExecError(format!("the exec plugin {} {what}", one_line(&self.command)))
    }
}

impl ExecProcess {
    /// Returns its whole output, then its exit status.
    async fn output(&mut self) -> Result<(ExitStatus, Vec<u8>), ExecError> {
        let mut output = Vec::new();
        if let Some(stdout) = self.child.stdout.take() {
            let read = stdout.take(OUTPUT_MAX + 1).read_to_end(&mut output).await;
            read.map_err(|why| ExecError(format!("its output cannot be read: {why}")))?;
        }
        if output.len() as u64 > OUTPUT_MAX {
            return Err(ExecError::of("writes more than 1 MiB"));
        }
        let status =
            self.child.wait().await.map_err(|why| ExecError(format!("cannot be waited for: {why}")))?;
        Ok((status, output))
    }
}
