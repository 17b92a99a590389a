//! Limits how long a client may be silent, and how long a write to it may make no progress.

use rustix::net::sockopt;
use std::pin::Pin;
use std::time::Duration;
use tokio::io::AsyncWrite;
use tokio::net::TcpStream;
use tokio_io_timeout::TimeoutWriter;

/// A stream with a timeout for clients that do not read.
pub type TimeoutStream<S> = Pin<Box<TimeoutWriter<S>>>;

/// A stream whose other end may stop reading for at most `limit`.
pub fn limit_writes<S: AsyncWrite>(stream: S, limit: Duration) -> TimeoutStream<S> {
    let mut stream = TimeoutWriter::new(stream);
    stream.set_timeout(Some(limit));
    Box::pin(stream)
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
