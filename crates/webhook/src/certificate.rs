//! # Certificate: what API servers see, and why they believe it
//! Room:     the certificate on show; files that are followed; certificates of our own making and their rotation.
//! Comes in: PEM files, the contents of a Secret, what webhook configurations trust, the time.
//! Goes out: a certificate to show, and what is to be written.
//! Keeps:    the last good certificate: whatever stops making sense changes nothing.
//! Not here: reading and writing the Secret and the configurations (whoever runs the server); reading PEM
//!           (taintward-serve).

mod bundle;
mod files;
mod mint;
pub mod rotation;
mod secret;
mod shown;

pub use bundle::Bundle;
pub use files::Follow;
pub use mint::{Mint, MintError, RealMint};
pub use secret::{AUTHORITY_KEY, SERVING_KEY, SecretError};
pub use shown::Shown;
