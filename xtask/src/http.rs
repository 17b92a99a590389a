//! Sends a GET to a loopback port, as a probe does.

use anyhow::{Context as _, Result};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// Asks `http://127.0.0.1:<port><path>`.
pub(crate) fn get(port: u16, path: &str) -> Result<(u16, String)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").context("no HTTP answer")?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).context("no HTTP status")?;
    Ok((status, body.to_owned()))
}
