//! Attacks a webhook from other addresses: held and rapid connections, endless headers, large and slow bodies, continuous requests of
//! metrics.
//!
//! - `cargo xtask bench flood` uses it as well, on a real process.

use rustls::pki_types::ServerName;
use std::collections::VecDeque;
use std::io::Result;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use testkit::wait::{let_time_pass, until_true};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

const HELD: usize = 1010;
const NEW_A_SECOND: u32 = 1000;
const MISCHIEF: usize = 60;

/// On a busy machine, every part of the attack runs within this.
const START_MAX: Duration = Duration::from_secs(120);

/// The target of the attack, and its counters.
pub(crate) struct FloodTarget {
    address: SocketAddr,
    /// The port of metrics, without TLS; `None` if they share the port of reviews.
    metrics: Option<SocketAddr>,
    name: ServerName<'static>,
    connector: TlsConnector,
    /// The head of a request with a large body, and the begin of the body.
    large_request: String,
    handshakes: AtomicUsize,
    healthy: AtomicUsize,
    churned: AtomicUsize,
    pages: AtomicUsize,
    sent: AtomicUsize,
}

/// An attack that runs in threads of its own, so that it does not delay legitimate reviews.
pub(crate) struct FloodAttack {
    target: Arc<FloodTarget>,
    began: Instant,
    threads: Vec<(oneshot::Sender<()>, JoinHandle<()>)>,
}

impl FloodAttack {
    /// Starts the clients that hold a connection.
    pub(crate) fn hold(target: FloodTarget) -> Result<Self> {
        let mut attack = Self { target: Arc::new(target), began: Instant::now(), threads: Vec::new() };
        attack.start(|all, target| (0..HELD).for_each(|_| _ = all.spawn(hold(Arc::clone(target)))))?;
        Ok(attack)
    }

    /// Starts all others.
    pub(crate) fn extend(&mut self) -> Result<()> {
        self.began = Instant::now();
        self.start(|all, target| {
            all.spawn(churn(Arc::clone(target)));
            (0..MISCHIEF).for_each(|number| _ = all.spawn(mischief(Arc::clone(target), number)));
        })
    }

    /// Runs tasks in a separate thread until the end of the attack.
    fn start(
        &mut self,
        begin: impl FnOnce(&mut JoinSet<()>, &Arc<FloodTarget>) + Send + 'static,
    ) -> Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (end, ended) = oneshot::channel();
        let target = Arc::clone(&self.target);
        let thread = std::thread::spawn(move || {
            runtime.block_on(async {
                let mut all = JoinSet::new();
                begin(&mut all, &target);
                let _ = ended.await;
            });
        });
        self.threads.push((end, thread));
        Ok(())
    }

    /// Waits until every part of the attack runs.
    pub(crate) async fn has_started(&self) {
        let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        until_true("the attack to run", START_MAX, async || {
            count(&self.target.churned) >= NEW_A_SECOND as usize && count(&self.target.healthy) >= 100
        })
        .await;
    }

    /// What the attack has done until now.
    pub(crate) fn describe(&self) -> String {
        let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        let FloodTarget { handshakes, healthy, churned, pages, sent, .. } = &*self.target;
        format!(
            "{HELD} clients that hold a connection, request /livez every 1.5 s, and connect again after the webhook disconnects them ({} \
             handshakes, {} answers); {:.0} new connections per second that send nothing; {MISCHIEF} clients that send endless headers, \
             send bodies of 38 MB slowly ({} MB), or request five pages of metrics again and again ({} pages)",
            count(handshakes),
            count(healthy),
            count(churned) as f64 / self.began.elapsed().as_secs_f64(),
            count(sent) / 1_000_000,
            count(pages),
        )
    }

    /// Ends the attack, and describes it.
    pub(crate) fn end(self) -> String {
        let description = self.describe();
        for (end, thread) in self.threads {
            let _ = end.send(());
            thread.join().expect("no attacker panics");
        }
        description
    }
}

impl FloodTarget {
    /// A webhook; `review` is a valid review, whose end is never sent.
    pub(crate) fn new(
        address: SocketAddr,
        metrics: Option<SocketAddr>,
        name: ServerName<'static>,
        connector: TlsConnector,
        review: &str,
    ) -> Self {
        let head = "POST /validate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 38000000\r\n\r\n";
        let large_request = format!("{head}{}", &review[..review.len() - 5]);
        let [handshakes, healthy, churned, pages, sent] = std::array::from_fn(|_| AtomicUsize::default());
        Self { address, metrics, name, connector, large_request, handshakes, healthy, churned, pages, sent }
    }

    async fn tls(&self, from: u8) -> Result<TlsStream<TcpStream>> {
        let stream = tcp_from(from, self.address).await?;
        self.connector.connect(self.name.clone(), stream).await
    }

    /// Sends the head and the begin of a large body, and continues slowly.
    async fn send_slowly(&self) -> Result<()> {
        let mut stream = self.tls(4).await?;
        stream.write_all(self.large_request.as_bytes()).await?;
        let more = "\\u003c".repeat(2000);
        loop {
            stream.write_all(more.as_bytes()).await?;
            self.sent.fetch_add(more.len(), Ordering::Relaxed);
            let_time_pass(Duration::from_millis(50), "a slow client").await;
        }
    }

    async fn send_endless_head(&self) -> Result<()> {
        let mut stream = self.tls(4).await?;
        stream.write_all(b"GET /livez HTTP/1.1\r\nhost: x\r\na: ").await?;
        loop {
            stream.write_all(b"b").await?;
            let_time_pass(Duration::from_millis(100), "a slow client").await;
        }
    }

    async fn request_pages(&self) -> Result<()> {
        match self.metrics {
            Some(metrics) => self.request_pages_over(tcp_from(4, metrics).await?).await,
            None => self.request_pages_over(self.tls(4).await?).await,
        }
    }

    async fn request_pages_over(&self, mut stream: impl AsyncRead + AsyncWrite + Unpin) -> Result<()> {
        let mut bytes = vec![0; 1 << 16];
        loop {
            stream.write_all("GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n".repeat(5).as_bytes()).await?;
            let count = stream.read(&mut bytes).await?;
            if count == 0 {
                return Ok(());
            }
            let pages = bytes[..count].windows(9).filter(|it| it == b"HTTP/1.1 ").count();
            self.pages.fetch_add(pages, Ordering::Relaxed);
            let_time_pass(Duration::from_millis(50), "a slow client").await;
        }
    }
}

/// A connection from another address of this machine: `127.0.0.9` for 9.
pub(crate) async fn tcp_from(last: u8, to: SocketAddr) -> Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::from((Ipv4Addr::new(127, 0, 0, last), 0)))?;
    socket.connect(to).await
}

async fn hold(target: Arc<FloodTarget>) {
    loop {
        if let Ok(mut stream) = target.tls(2).await {
            target.handshakes.fetch_add(1, Ordering::Relaxed);
            let mut bytes = [0; 512];
            while stream.write_all(b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n").await.is_ok()
                && stream.read(&mut bytes).await.is_ok_and(|count| count > 0)
            {
                target.healthy.fetch_add(1, Ordering::Relaxed);
                let_time_pass(Duration::from_millis(1500), "an idle connection").await;
            }
        }
        let_time_pass(Duration::from_millis(500), "the client connects again after a pause").await;
    }
}

async fn churn(target: Arc<FloodTarget>) {
    let mut ticks = interval(Duration::from_secs(1) / NEW_A_SECOND);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut open = VecDeque::new();
    loop {
        ticks.tick().await;
        if let Ok(stream) = tcp_from(3, target.address).await {
            open.push_back(stream);
            target.churned.fetch_add(1, Ordering::Relaxed);
        }
        // Each is silent for a while and then closes.
        if open.len() > 400 {
            open.pop_front();
        }
    }
}

async fn mischief(target: Arc<FloodTarget>, number: usize) {
    loop {
        // Whatever the server does about it, the client comes back.
        let _ = match number % 3 {
            0 => target.send_slowly().await,
            1 => target.send_endless_head().await,
            _ => target.request_pages().await,
        };
        let_time_pass(Duration::from_millis(500), "the client connects again after a pause").await;
    }
}
