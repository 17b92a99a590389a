//! Accepts connections and completes TLS handshakes on a thread of its own, so that a busy server thread does not delay
//! them.

use super::ListenerLimits;
use socket2::{SockRef, TcpKeepalive};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_io_timeout::TimeoutWriter;
use tokio_rustls::TlsAcceptor;

/// Accepted connections that wait for the server.
const WAITING_MAX: usize = 64;

/// A stream of bytes that requests are read from.
pub(super) trait ConnectionIo: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> ConnectionIo for S {}

/// A connection, with its permit.
type AcceptedConnection = (Box<dyn ConnectionIo>, OwnedSemaphorePermit);

struct ConnectionAcceptor {
    acceptor: Option<TlsAcceptor>,
    limits: ListenerLimits,
}

/// Starts to accept; ends with the receiver.
///
/// # Panics
/// If the system has no thread or no reactor for it.
pub(super) fn accept(
    listener: TcpListener,
    acceptor: Option<TlsAcceptor>,
    limits: ListenerLimits,
) -> mpsc::Receiver<AcceptedConnection> {
    ConnectionAcceptor { acceptor, limits }.open(listener)
}

impl ConnectionAcceptor {
    fn open(self, listener: TcpListener) -> mpsc::Receiver<AcceptedConnection> {
        let (hand, arrived) = mpsc::channel(WAITING_MAX);
        // The socket moves away from this runtime, which may be busy.
        let listener = listener.into_std().expect("a socket can be taken out of its runtime");
        let receive = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a reactor is available").block_on(async {
                let listener = TcpListener::from_std(listener).expect("an open socket can be listened on");
                let gone = hand.clone();
                tokio::select! {
                    () = self.receive(&listener, &hand) => {}
                    () = gone.closed() => {}
                }
            });
        };
        std::thread::Builder::new()
            .name("reception".to_owned())
            .spawn(receive)
            .expect("a thread is available");
        arrived
    }

    async fn receive(&self, listener: &TcpListener, hand: &mpsc::Sender<AcceptedConnection>) {
        let connections = Arc::new(Semaphore::new(self.limits.connections));
        while let Ok(permit) = Arc::clone(&connections).acquire_owned().await {
            let Ok((stream, _)) = listener.accept().await else {
                // Most likely there are no free file handles. Other connections close meanwhile.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            let (acceptor, limits, hand) = (self.acceptor.clone(), self.limits, hand.clone());
            tokio::spawn(async move {
                if let Some(stream) = begun(stream, acceptor, limits).await {
                    let _ = hand.send((stream, permit)).await;
                }
            });
        }
    }
}

/// A connection after its TLS handshake.
async fn begun(
    stream: TcpStream,
    acceptor: Option<TlsAcceptor>,
    limits: ListenerLimits,
) -> Option<Box<dyn ConnectionIo>> {
    let _ = stream.set_nodelay(true);
    let silence = TcpKeepalive::new().with_time(limits.silence).with_interval(limits.silence);
    let _ = SockRef::from(&stream).set_tcp_keepalive(&silence);
    // Closes the connection of a client that does not read what is written to it.
    let mut stream = Box::pin(TimeoutWriter::new(stream));
    stream.as_mut().set_timeout_pinned(Some(limits.stall));
    match acceptor {
        None => Some(Box::new(stream)),
        Some(acceptor) => {
            let agreed = tokio::time::timeout(limits.head, acceptor.accept(stream)).await.ok()?;
            Some(Box::new(agreed.ok()?))
        }
    }
}
