//! Attacks the webhook: idle and rapid connections, endless headers, large and slow bodies, continuous metrics
//! requests.

use super::super::webhook::{WebhookProcess, review_client};
use anyhow::{Result, ensure};
use rustls::pki_types::ServerName;
use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

const HELD: usize = 1010;
const NEW_A_SECOND: u32 = 1000;
const MISCHIEF: usize = 60;
const STARTUP_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) struct FloodAttack {
    on: Arc<FloodTarget>,
    began: Instant,
    threads: [(oneshot::Sender<()>, JoinHandle<()>); 2],
}

/// The target of the attack, and its counters.
struct FloodTarget {
    port: u16,
    metrics: u16,
    connector: TlsConnector,
    held: AtomicUsize,
    healthy: AtomicUsize,
    churned: AtomicUsize,
    pages: AtomicUsize,
    sent: AtomicUsize,
}

impl FloodAttack {
    /// Starts the attack in its own threads, so that it does not delay the legitimate reviews.
    pub(crate) fn begin(hook: &WebhookProcess) -> Result<Self> {
        let [held, healthy, churned, pages, sent] = std::array::from_fn(|_| AtomicUsize::default());
        let (port, connector) = (hook.asker.port, hook.asker.connector.clone());
        let target =
            FloodTarget { port, metrics: hook.metrics, connector, held, healthy, churned, pages, sent };
        let on = Arc::new(target);
        let (holders, churners) = (Arc::clone(&on), Arc::clone(&on));
        let rest = thread(move |all| {
            (0..HELD).for_each(|_| _ = all.spawn(hold(Arc::clone(&holders))));
            (0..MISCHIEF).for_each(|number| _ = all.spawn(mischief(Arc::clone(&holders), number)));
        })?;
        // A separate thread, so that handshakes do not delay the other attacks.
        let churn = thread(move |all| _ = all.spawn(churn(churners)))?;
        Ok(Self { on, began: Instant::now(), threads: [rest, churn] })
    }

    /// Waits until every part of the attack runs.
    pub(crate) fn is_whole(&self) -> Result<()> {
        while self.on.churned.load(Ordering::Relaxed) < NEW_A_SECOND as usize
            || self.on.healthy.load(Ordering::Relaxed) < 100
        {
            ensure!(
                self.began.elapsed() < STARTUP_TIMEOUT,
                "the attack does not start: {}",
                self.on.output(self.began)
            );
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }

    pub(crate) fn end(self) -> String {
        let output = self.on.output(self.began);
        for (end, thread) in self.threads {
            let _ = end.send(());
            let _ = thread.join();
        }
        output
    }
}

/// Runs tasks in a separate thread until the sender sends or is dropped.
fn thread(
    begin: impl FnOnce(&mut JoinSet<()>) + Send + 'static,
) -> Result<(oneshot::Sender<()>, JoinHandle<()>)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (end, ended) = oneshot::channel();
    let thread = std::thread::spawn(move || {
        runtime.block_on(async {
            let mut all = JoinSet::new();
            begin(&mut all);
            let _ = ended.await;
        });
    });
    Ok((end, thread))
}

impl FloodTarget {
    fn output(&self, began: Instant) -> String {
        let of = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        format!(
            "The attack: {HELD} clients that hold a connection, request /livez every 1.5 s, and connect again after the webhook \
             disconnects them ({} handshakes, {} answers); {:.0} new connections per second that send nothing; {MISCHIEF} clients that \
             send endless headers, send bodies of 38 MB slowly ({} MB), or request pages of metrics without pause ({} pages).",
            of(&self.held),
            of(&self.healthy),
            of(&self.churned) as f64 / began.elapsed().as_secs_f64(),
            of(&self.sent) / 1_000_000,
            of(&self.pages),
        )
    }

    async fn tcp(&self, from: u8, port: u16) -> std::io::Result<TcpStream> {
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from((Ipv4Addr::new(127, 0, 0, from), 0)))?;
        socket.connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await
    }

    async fn tls(&self, from: u8) -> std::io::Result<TlsStream<TcpStream>> {
        let stream = self.tcp(from, self.port).await?;
        self.connector.connect(ServerName::from(std::net::IpAddr::from(Ipv4Addr::LOCALHOST)), stream).await
    }
}

async fn hold(on: Arc<FloodTarget>) {
    loop {
        if let Ok(mut stream) = on.tls(2).await {
            on.held.fetch_add(1, Ordering::Relaxed);
            let mut bytes = [0; 512];
            while stream.write_all(b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n").await.is_ok()
                && stream.read(&mut bytes).await.is_ok_and(|count| count > 0)
            {
                on.healthy.fetch_add(1, Ordering::Relaxed);
                sleep(Duration::from_millis(1500)).await;
            }
        }
        sleep(Duration::from_millis(500)).await;
    }
}

async fn churn(on: Arc<FloodTarget>) {
    let mut ticks = interval(Duration::from_secs(1) / NEW_A_SECOND);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut open = VecDeque::new();
    loop {
        ticks.tick().await;
        if let Ok(stream) = on.tcp(3, on.port).await {
            open.push_back(stream);
            on.churned.fetch_add(1, Ordering::Relaxed);
        }
        if open.len() > 400 {
            open.pop_front();
        }
    }
}

async fn mischief(on: Arc<FloodTarget>, number: usize) {
    loop {
        let _ = match number % 3 {
            0 => slow_body(&on).await,
            1 => endless_head(&on).await,
            _ => metrics(&on).await,
        };
        sleep(Duration::from_millis(500)).await;
    }
}

async fn slow_body(on: &FloodTarget) -> std::io::Result<()> {
    let mut stream = on.tls(4).await?;
    let head = "POST /validate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 38000000\r\n\r\n";
    let begun = review_client::question("ns-7", 0);
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(&begun[..begun.len() - 5]).await?;
    let more = "\\u003c".repeat(2000);
    loop {
        stream.write_all(more.as_bytes()).await?;
        on.sent.fetch_add(more.len(), Ordering::Relaxed);
        sleep(Duration::from_millis(50)).await;
    }
}

async fn endless_head(on: &FloodTarget) -> std::io::Result<()> {
    let mut stream = on.tls(4).await?;
    stream.write_all(b"GET /livez HTTP/1.1\r\nhost: x\r\na: ").await?;
    loop {
        stream.write_all(b"b").await?;
        sleep(Duration::from_millis(100)).await;
    }
}

async fn metrics(on: &FloodTarget) -> std::io::Result<()> {
    let mut stream = on.tcp(4, on.metrics).await?;
    let mut bytes = vec![0; 1 << 16];
    loop {
        stream.write_all("GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n".repeat(5).as_bytes()).await?;
        let count = stream.read(&mut bytes).await?;
        if count == 0 {
            return Ok(());
        }
        on.pages
            .fetch_add(bytes[..count].windows(9).filter(|it| it == b"HTTP/1.1 ").count(), Ordering::Relaxed);
    }
}
