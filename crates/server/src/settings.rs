//! Holds the validated settings of the admin ports.

use std::net::IpAddr;
use std::num::NonZeroU16;
use std::path::PathBuf;

/// Where metrics and health are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServingSettings {
    /// The address both ports listen on.
    pub bind_address: IpAddr,
    /// The plain HTTP port; `None` means off.
    pub metrics_port: Option<NonZeroU16>,
    /// The TLS port; `None` means off.
    pub secure: Option<SecureServing>,
}

/// The TLS port and what it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecureServing {
    /// The port.
    pub port: NonZeroU16,
    /// The certificate.
    pub certificate: ServingCertificate,
    /// Who may read metrics there.
    pub readers: MetricsReadersSetting,
}

/// Who may read metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MetricsReadersSetting {
    /// Whoever reaches a port.
    #[default]
    Anybody,
    /// Whom the API server knows by a token and lets; on the secure port alone.
    Delegated,
}

/// Which certificate the TLS port shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServingCertificate {
    /// One made at start-up, signed by itself.
    SelfSigned,
    /// PEM files.
    Files {
        /// The certificate, followed by its intermediates.
        certificate: PathBuf,
        /// The private key.
        key: PathBuf,
    },
}
