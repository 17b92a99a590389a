//! # Certificate: what API servers see, and why they believe it
//! Room:     the certificate on show; files that are followed; certificates of our own making and their rotation.
//! Comes in: PEM files, the contents of a Secret, what webhook configurations trust, the time.
//! Goes out: a certificate to show, and what is to be written.
//! Keeps:    the last good certificate: whatever stops making sense changes nothing.
//! Not here: reading and writing the Secret and the configurations (whoever runs the server); reading PEM
//!           (taintward-server).

mod file_reloader;
mod issuer;
mod live_certificate;
pub mod rotation;
mod secret;
mod trust_bundle;

pub use file_reloader::CertificateFileReloader;
pub use issuer::{IssueError, Issuer, RcgenIssuer};
pub use live_certificate::LiveCertificate;
pub use secret::{AUTHORITY_KEY, SERVING_KEY, SecretError};
pub use trust_bundle::TrustBundle;
