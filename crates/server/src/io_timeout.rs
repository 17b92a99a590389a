//! Wraps a stream so that a write that makes no progress fails after a timeout.

use rustix::net::sockopt;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

/// A stream with a timeout for clients that do not read.
pub struct TimeoutStream<S> {
    stream: S,
    limit: Duration,
    /// Since when a write has been pending.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> TimeoutStream<S> {
    /// A stream whose other end may stop reading for at most `limit`.
    pub fn new(stream: S, limit: Duration) -> Self {
        Self { stream, limit, stalled: None }
    }

    /// Any progress of a write ends the wait.
    fn watched<T>(&mut self, cx: &mut Context<'_>, done: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if done.is_ready() {
            self.stalled = None;
            return done;
        }
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(self.limit)));
        stalled.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimeoutStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimeoutStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.watched(cx, done)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = Pin::new(&mut self.stream).poll_flush(cx);
        // An empty flush proves nothing about the reader.
        if done.is_ready() { done } else { self.watched(cx, done) }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.watched(cx, done)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.watched(cx, done)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

/// Makes the system probe a client that has been silent for `silence`.
///
/// # Errors
/// If the system rejects the option.
pub fn keep_alive(stream: &TcpStream, silence: Duration) -> rustix::io::Result<()> {
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, silence)?;
    sockopt::set_tcp_keepintvl(stream, silence)
}

#[cfg(test)]
mod tests {
    use super::{keep_alive, sockopt};
    use std::time::Duration;
    use tokio::net::{TcpListener, TcpStream};

    #[tokio::test]
    async fn the_system_probes_silent_clients() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (client, accepted) = tokio::join!(TcpStream::connect(address), listener.accept());
        let (_client, stream) = (client.unwrap(), accepted.unwrap().0);
        assert_eq!(sockopt::socket_keepalive(&stream), Ok(false));
        keep_alive(&stream, Duration::from_secs(7)).unwrap();
        assert_eq!(sockopt::socket_keepalive(&stream), Ok(true));
        assert_eq!(sockopt::tcp_keepidle(&stream), Ok(Duration::from_secs(7)));
    }
}
