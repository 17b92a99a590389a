//! # taintward-admission: answers admission reviews
//!
//! The admission webhook: a TLS server for an API server's questions, and the certificates it shows. It decodes a question,
//! asks a pure [`Reviewer`](review::Reviewer), and encodes the answer. [`rules::RuleReviewer`] is the reviewer that asks the core.
//!
//! Comes in: AdmissionReviews of `admission.k8s.io/v1`, from anybody who reaches the address; certificates.
//! Goes out: answers that echo the question's uid, with patches under a few paths only; metrics, health.
//! Keeps:    a question that makes no sense is answered so; a rule that breaks refuses nobody (fail open); memory, time and
//!           connections are bounded, whoever asks.
//! Not here: the rules (taintward-core); requests to the API server: whoever runs this watches pools and the like, reads
//!           the Secret and patches the webhook configurations; flags (taintward).
#![forbid(unsafe_code)]

pub mod certificate;
pub mod metrics;
pub mod review;
pub mod rules;
pub mod server;
pub mod settings;
