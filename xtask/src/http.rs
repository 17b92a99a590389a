//! Sends requests to a loopback port, as probes and scrapes do.

use anyhow::{Context as _, Result};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// Whether the program behind a port is ready.
pub(crate) fn is_ready(port: u16) -> bool {
    get(port, "/readyz").is_ok_and(|(status, _)| status == 200)
}

/// Sends a GET request to `http://127.0.0.1:<port><path>`. Returns the status and the body.
pub(crate) fn get(port: u16, path: &str) -> Result<(u16, String)> {
    let (status, _, body) = send(port, "GET", path, &[], "")?;
    Ok((status, body))
}

/// Sends a request with further headers and a body. Returns the status, the head and the body. It uses HTTP/1.0, so that no answer
/// is chunked.
pub(crate) fn send(
    port: u16,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Result<(u16, String, String)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut head =
        format!("{method} {path} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {}\r\n", body.len());
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    write!(stream, "{head}\r\n{body}")?;
    let mut response = Vec::new();
    stream.read_to_end(&mut response)?;
    let response = String::from_utf8_lossy(&response);
    let (head, body) = response.split_once("\r\n\r\n").context("no HTTP answer")?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).context("no HTTP status")?;
    Ok((status, head.to_owned(), body.to_owned()))
}
