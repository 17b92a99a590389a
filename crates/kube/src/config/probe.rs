//! Probes the API server with one request and explains each way in which it can fail.

use super::NoCredentials;
use super::observe::date;
use crate::error_text::{connection_error, find, sanitized};
use http::Request;
use http_body_util::{BodyExt, Limited};
use kube::Client;
use kube::client::Body;
use std::time::Duration;
use taintward_core::time::Wall;
use thiserror::Error;

/// The longest response that is read.
const BODY_MAX: usize = 64 << 10;

/// Why the server is unusable: what, why, and the remedy.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ProbeError {
    /// No connection, or no response.
    #[error(
        "the API server cannot be reached: {0}; check its address, and that the network allows the connection"
    )]
    Unreachable(String),
    /// The server answers without TLS.
    #[error(
        "the API server at this address speaks plain HTTP; write the address with http:// instead of https://"
    )]
    PlainHttp,
    /// One side does not accept the other's certificate.
    #[error(
        "the API server or this client rejected the other's certificate: {0}; check certificate-authority and \
         client-certificate"
    )]
    Certificate(String),
    /// There are no credentials: an exec plugin failed.
    #[error("cannot get credentials: {0}; renew them, or choose another user")]
    Credentials(String),
    /// 401.
    #[error("the API server does not accept the credentials (401): {0}; renew them")]
    Unauthorized(String),
    /// 403.
    #[error(
        "the API server accepts these credentials but forbids the request (403): {0}; bind the user to a ClusterRole"
    )]
    Forbidden(String),
    /// The response is not from an API server.
    #[error("the server at this address is not a healthy API server: {0}; check the address")]
    NoApiServer(String),
}

/// Requests the server's version (`v1.36.3`), and waits for it up to `limit`.
///
/// # Errors
/// Why the server is unusable.
pub async fn probe(client: &Client, limit: Duration) -> Result<String, ProbeError> {
    Ok(greet(client, limit).await?.version)
}

/// The server's version and time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerInfo {
    /// `v1.36.3`
    pub version: String,
    /// Its clock, by the header `Date`: a whole second, which was not over yet. `None`: the header is absent or
    /// invalid, or a cache has responded.
    pub date: Option<Wall>,
}

/// [`probe`], with the time of the server's clock.
///
/// # Errors
/// Why the server is unusable.
pub async fn greet(client: &Client, limit: Duration) -> Result<ServerInfo, ProbeError> {
    match tokio::time::timeout(limit, request_version(client)).await {
        Ok(result) => result,
        Err(_) => Err(ProbeError::Unreachable(format!("no answer within {limit:?}"))),
    }
}

async fn request_version(client: &Client) -> Result<ServerInfo, ProbeError> {
    let request = Request::get("/version").header("accept", "application/json").body(Body::empty());
    let request = request.map_err(|why| ProbeError::Unreachable(why.to_string()))?;
    let response = client.send(request).await.map_err(|why| classify(&why))?;
    let (status, date) = (response.status(), date(response.headers()).ok());
    let body = Limited::new(response.into_body(), BODY_MAX).collect().await;
    let body = body.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let json: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
    let field_text = |field: &str| json[field].as_str().map(sanitized);
    let message = || field_text("message").unwrap_or_else(|| "no reason given".to_owned());
    match status.as_u16() {
        200..=299 => match field_text("gitVersion") {
            Some(version) => Ok(ServerInfo { version, date }),
            None => Err(ProbeError::NoApiServer("it reports no Kubernetes version".to_owned())),
        },
        401 => Err(ProbeError::Unauthorized(message())),
        403 => Err(ProbeError::Forbidden(message())),
        _ => Err(ProbeError::NoApiServer(format!("{status}: {}", message()))),
    }
}

fn classify(why: &kube::Error) -> ProbeError {
    if let Some(NoCredentials(reason)) = find(why) {
        return ProbeError::Credentials(sanitized(reason));
    }
    match find::<rustls::Error>(why) {
        Some(rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType)) => {
            ProbeError::PlainHttp
        }
        Some(tls) => ProbeError::Certificate(sanitized(&tls.to_string())),
        None => ProbeError::Unreachable(connection_error(why)),
    }
}
