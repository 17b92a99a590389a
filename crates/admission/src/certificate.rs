//! Provides the webhook's certificate: from files that are reloaded, or self-signed and rotated.
//!
//! - Invariant: unusable input leaves the last good certificate in use.
//! - Reading and writing the Secret and the webhook configurations is left to the controller crate.

mod file_reloader;
mod issuer;
mod live_certificate;
pub mod rotation;
mod secret;
mod trust_bundle;

pub use file_reloader::CertificateFileReloader;
pub use issuer::{IssueError, Issuer, IssuingAuthority, RcgenIssuer, RotationPlan, ServingPair};
pub use live_certificate::LiveCertificate;
pub use secret::{AUTHORITY_KEY, SERVING_KEY, SecretError};
pub use trust_bundle::TrustBundle;
