//! Defines the flags of `taintward run` about metrics and health, and checks them against each other.

use super::FlagNotice;
use super::run_args_error::RunArgsError;
use crate::args::choice::choice;
use clap::Args;
use std::net::IpAddr;
use std::num::NonZeroU16;
use std::path::PathBuf;
use taintward_controller::settings::{
    MetricsReadersSetting, SecureServing, ServingCertificate, ServingSettings,
};

/// The values of `--metrics-authentication`.
const READERS: [(&str, MetricsReadersSetting); 2] =
    [("none", MetricsReadersSetting::Anyone), ("delegated", MetricsReadersSetting::Delegated)];

#[derive(Debug, Args)]
#[command(next_help_heading = "Metrics and health")]
pub(super) struct ServingArgs {
    /// The address that both ports listen on
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    bind_address: IpAddr,
    /// The port for plain HTTP; 0 switches it off
    #[arg(long, value_name = "PORT", default_value = "10357")]
    metrics_port: u16,
    /// The port for HTTPS; 0 switches it off
    #[arg(long, value_name = "PORT", default_value = "0")]
    secure_port: u16,
    /// Authorization for /metrics: none serves every client; delegated asks the API server whether the client's bearer
    /// token may get /metrics, and serves metrics on --secure-port only. Health endpoints need no authorization
    #[arg(long, value_name = "HOW", default_value = "none", value_parser = choice(READERS))]
    metrics_authentication: MetricsReadersSetting,
    /// The certificate for HTTPS, PEM, with its intermediates. Taintward reloads renewed files. Without this flag, it creates
    /// a certificate at its start
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file")]
    tls_cert_file: Option<PathBuf>,
    /// The private key of that certificate, PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    tls_private_key_file: Option<PathBuf>,
}

impl ServingArgs {
    pub(super) fn resolve(self, notices: &mut Vec<FlagNotice>) -> Result<ServingSettings, RunArgsError> {
        let (metrics_port, secure_port) =
            (NonZeroU16::new(self.metrics_port), NonZeroU16::new(self.secure_port));
        if let Some(port) = metrics_port
            && secure_port == Some(port)
        {
            return Err(RunArgsError::SamePort(port));
        }
        let certificate = match (self.tls_cert_file, self.tls_private_key_file) {
            (Some(certificate), Some(key)) => ServingCertificate::Files { certificate, key },
            _ => ServingCertificate::SelfSigned,
        };
        if secure_port.is_none() && certificate != ServingCertificate::SelfSigned {
            return Err(RunArgsError::IdleCertificate);
        }
        let readers = self.metrics_authentication;
        if readers == MetricsReadersSetting::Delegated && secure_port.is_none() {
            return Err(RunArgsError::TokensInClear);
        }
        if !self.bind_address.is_loopback() && (metrics_port.is_some() || secure_port.is_some()) {
            let what = if readers == MetricsReadersSetting::Anyone { "metrics and health" } else { "health" };
            let text = format!(
                "every client that can connect to {} can read {what}; limit the clients with a NetworkPolicy",
                self.bind_address
            );
            notices.push(FlagNotice { flag: "--bind-address".into(), text });
        }
        let secure = secure_port.map(|port| SecureServing { port, certificate, readers });
        Ok(ServingSettings { bind_address: self.bind_address, metrics_port, secure })
    }
}
