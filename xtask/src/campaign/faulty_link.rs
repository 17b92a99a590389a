//! Forwards a controller's connections to an API server, and does to them what networks do.

use anyhow::Result;
use std::net::Ipv4Addr;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};

/// Pieces of a connection that are on their way; more make the sender wait.
const PIECES_MAX: usize = 256;

/// What happens to connections.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum LinkFault {
    /// They are closed, and so are new ones.
    Cut,
    /// They stay open, and nothing passes. When it ends, they are closed.
    HalfOpen,
    /// Data arrives late.
    Delay(Duration),
    /// So many bytes pass in a second, in each direction of each connection.
    Throttle(u32),
}

#[derive(Clone, Copy)]
struct LinkState {
    target: u16,
    fault: Option<LinkFault>,
    /// Connections of an earlier generation are closed.
    generation: u32,
}

/// A forwarder on a port of its own, ended when dropped.
pub(crate) struct FaultyLink {
    pub(crate) port: u16,
    state: watch::Sender<LinkState>,
}

impl FaultyLink {
    /// Opens it in front of a port.
    pub(crate) async fn open(target: u16) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let (state, states) = watch::channel(LinkState { target, fault: None, generation: 0 });
        tokio::spawn(accept(listener, states));
        Ok(Self { port, state })
    }

    /// Changes what happens to connections from now on.
    pub(crate) fn set(&self, fault: Option<LinkFault>) {
        self.state.send_modify(|state| {
            let closes = fault == Some(LinkFault::Cut) || state.fault == Some(LinkFault::HalfOpen);
            state.generation += u32::from(closes);
            state.fault = fault;
        });
    }

    /// Changes the target. Open connections are closed.
    pub(crate) fn lead_to(&self, target: u16) {
        self.state.send_modify(|state| {
            state.generation += 1;
            state.target = target;
        });
    }
}

async fn accept(listener: TcpListener, mut states: watch::Receiver<LinkState>) {
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((client, _)) = accepted && states.borrow().fault != Some(LinkFault::Cut) {
                    tokio::spawn(connect(client, states.clone()));
                }
            }
            // The link is dropped.
            Err(_) = states.changed() => return,
        }
    }
}

async fn connect(client: TcpStream, mut states: watch::Receiver<LinkState>) {
    let LinkState { target, generation, .. } = *states.borrow();
    let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, target)).await else { return };
    if client.set_nodelay(true).and(server.set_nodelay(true)).is_err() {
        return;
    }
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
    let (there, back) = (states.clone(), states.clone());
    tokio::select! {
        // Before data that waited: a connection that was dead for a while delivers nothing.
        biased;
        _ = states.wait_for(|state| state.generation != generation) => {}
        () = forward(from_client, to_server, there) => {}
        () = forward(from_server, to_client, back) => {}
    }
}

async fn forward(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut states: watch::Receiver<LinkState>) {
    let (pieces, mut arriving) = mpsc::channel::<(Instant, Vec<u8>)>(PIECES_MAX);
    let reading_states = states.clone();
    let reading = async move {
        let mut bytes = vec![0; 16 * 1024];
        while let Ok(count @ 1..) = from.read(&mut bytes).await {
            let delay = match reading_states.borrow().fault {
                Some(LinkFault::Delay(delay)) => delay,
                _ => Duration::ZERO,
            };
            if pieces.send((Instant::now() + delay, bytes[..count].to_vec())).await.is_err() {
                return;
            }
        }
    };
    let writing = async move {
        while let Some((due, piece)) = arriving.recv().await {
            sleep_until(due).await;
            let passes = states.wait_for(|state| state.fault != Some(LinkFault::HalfOpen)).await;
            let Ok(fault) = passes.map(|state| state.fault) else { return };
            if let Some(LinkFault::Throttle(rate)) = fault {
                sleep(Duration::from_secs_f64(piece.len() as f64 / f64::from(rate))).await;
            }
            if to.write_all(&piece).await.is_err() {
                return;
            }
        }
    };
    tokio::join!(reading, writing);
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::timeout;

    const SHORT: Duration = Duration::from_millis(300);

    /// A server that sends back what it gets.
    async fn echo() -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (mut from, mut to) = stream.split();
                    let _ = tokio::io::copy(&mut from, &mut to).await;
                });
            }
        });
        port
    }

    /// Whether a byte comes back; `None` if nothing happens within a moment.
    async fn comes_back(stream: &mut TcpStream) -> Option<bool> {
        let both = async {
            let sent = stream.write_all(b"x").await.is_ok();
            sent && stream.read_exact(&mut [0]).await.is_ok()
        };
        timeout(SHORT, both).await.ok()
    }

    async fn client(link: &FaultyLink) -> TcpStream {
        TcpStream::connect((Ipv4Addr::LOCALHOST, link.port)).await.unwrap()
    }

    #[tokio::test]
    async fn a_cut_closes_and_a_half_open_connection_neither_answers_nor_closes() {
        let link = FaultyLink::open(echo().await).await.unwrap();
        let mut first = client(&link).await;
        assert_eq!(comes_back(&mut first).await, Some(true));
        link.set(Some(LinkFault::HalfOpen));
        assert_eq!(comes_back(&mut first).await, None);
        assert_eq!(comes_back(&mut client(&link).await).await, None);
        link.set(None);
        assert_eq!(comes_back(&mut first).await, Some(false), "it is dead, and delivers nothing");
        let mut second = client(&link).await;
        assert_eq!(comes_back(&mut second).await, Some(true));
        link.set(Some(LinkFault::Cut));
        assert_eq!(comes_back(&mut second).await, Some(false));
        assert_eq!(comes_back(&mut client(&link).await).await, Some(false));
    }

    #[tokio::test]
    async fn data_is_late_or_slow_and_a_new_target_is_another_connection() {
        let link = FaultyLink::open(echo().await).await.unwrap();
        link.set(Some(LinkFault::Delay(SHORT)));
        let mut slow = client(&link).await;
        assert_eq!(comes_back(&mut slow).await, None);
        assert!(timeout(10 * SHORT, slow.read_exact(&mut [0])).await.unwrap().is_ok());
        link.set(Some(LinkFault::Throttle(2)));
        assert_eq!(comes_back(&mut client(&link).await).await, None);
        link.set(None);
        link.lead_to(echo().await);
        assert_eq!(comes_back(&mut slow).await, Some(false));
        assert_eq!(comes_back(&mut client(&link).await).await, Some(true));
    }
}
