//! Sends one list or watch request and streams its body, with a timeout for silence.

use super::WatchError;
use crate::api::retry_after_seconds;
use crate::decode::{ApiStatus, Encoding, WatchedObject, foreign_type, status_from_body};
use crate::error_text::{connection_error, sanitize};
use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};

/// The maximum that is read of an error's body, in bytes.
const ERROR_BODY: usize = 64 << 10;
/// The timeout of an error's body.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// A body that is being received.
pub(super) struct BodyStream {
    encoding: Encoding,
    body: Body,
    silence: Duration,
    until: Instant,
}

/// Sends a request and evaluates the head of the response.
pub(super) async fn open<F: WatchedObject>(
    client: &Client,
    request: Request<Body>,
    silence: Duration,
    verb: &'static str,
) -> Result<BodyStream, WatchError> {
    let sent = timeout(silence, client.send(request)).await.map_err(|_| WatchError::IdleTimeout(silence))?;
    let response = sent.map_err(|error| WatchError::ConnectionLost(connection_error(&error)))?;
    if response.status() != StatusCode::OK {
        return Err(response_error::<F>(response, verb).await);
    }
    let text = |name| response.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let compression = text(header::CONTENT_ENCODING);
    if !matches!(compression, "" | "identity") {
        let compression = sanitize(compression, 32);
        return Err(WatchError::Malformed(format!(
            "the response is compressed ({compression}) although identity was requested: a proxy in between?"
        )));
    }
    let content_type = text(header::CONTENT_TYPE);
    let encoding =
        Encoding::of(content_type).ok_or_else(|| WatchError::Malformed(foreign_type(content_type)))?;
    Ok(BodyStream { encoding, body: response.into_body(), silence, until: Instant::now() + silence })
}

impl BodyStream {
    pub(super) fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Returns the next bytes; `None` at the clean end.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, WatchError> {
        loop {
            let frame = timeout_at(self.until, self.body.frame()).await;
            let Some(frame) = frame.map_err(|_| WatchError::IdleTimeout(self.silence))? else {
                return Ok(None);
            };
            let frame = frame.map_err(|error| WatchError::ConnectionLost(connection_error(&error)))?;
            if let Ok(data) = frame.into_data()
                && !data.is_empty()
            {
                return Ok(Some(data));
            }
        }
    }

    /// Something complete was received: the watchdog restarts, with this timeout. Single bytes do not count: a server
    /// that trickles is as silent as one that stalls.
    pub(super) fn progress(&mut self, silence: Duration) {
        self.silence = silence;
        self.until = Instant::now() + silence;
    }
}

/// The error of a response other than 200.
async fn response_error<F: WatchedObject>(response: Response<Body>, verb: &'static str) -> WatchError {
    let (head, body) = response.into_parts();
    let content_type = head.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let bytes = timeout(ERROR_BODY_TIMEOUT, beginning(body)).await.unwrap_or_default();
    let mut status =
        status_from_body(content_type.unwrap_or_default(), &bytes).unwrap_or_else(|| ApiStatus {
            message: sanitize(&String::from_utf8_lossy(&bytes[..bytes.len().min(200)]), 200),
            ..ApiStatus::default()
        });
    status.code = head.status.as_u16();
    if let Some(seconds) = retry_after_seconds(&head.headers) {
        status.retry_after_seconds = Some(seconds);
    }
    WatchError::of_status::<F>(status, verb)
}

/// The body up to a limit.
async fn beginning(mut body: Body) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some(Ok(frame)) = body.frame().await {
        let Ok(data) = frame.into_data() else { continue };
        let room = ERROR_BODY - bytes.len();
        bytes.extend_from_slice(&data[..data.len().min(room)]);
        if bytes.len() == ERROR_BODY {
            break;
        }
    }
    bytes
}
