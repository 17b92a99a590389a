//! Holds the validated settings of the admin ports.

use std::net::IpAddr;
use std::num::NonZeroU16;
use std::path::PathBuf;

/// The settings of the metrics and health ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServingSettings {
    /// The address of both ports.
    pub bind_address: IpAddr,
    /// The plain HTTP port; `None` means off.
    pub metrics_port: Option<NonZeroU16>,
    /// The TLS port; `None` means off.
    pub secure: Option<SecureServing>,
}

/// The TLS port and its certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecureServing {
    /// The port.
    pub port: NonZeroU16,
    /// The certificate.
    pub certificate: ServingCertificate,
    /// Which clients may read metrics there.
    pub readers: MetricsReadersSetting,
}

/// Which clients may read metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MetricsReadersSetting {
    /// Any client that can reach a port.
    #[default]
    Anyone,
    /// Clients that the API server authenticates by a token and authorizes; only on the secure port.
    Delegated,
}

/// The certificate of the TLS port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServingCertificate {
    /// One generated at start-up, self-signed.
    SelfSigned,
    /// PEM files.
    Files {
        /// The certificate, followed by its intermediates.
        certificate: PathBuf,
        /// The private key.
        key: PathBuf,
    },
}
