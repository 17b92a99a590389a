//! Tests a good client alongside floods from other addresses: idle connections, new ones, endless headers, large and
//! slow bodies.

use super::stage::{Client, Stage, TIMEOUT, question, tcp_from, tls_over};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use taintward_admission::settings::ServerLimits;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};

const HELD: usize = 1010;
const NEW_A_SECOND: u32 = 1000;
const LASTS: Duration = Duration::from_secs(4);
/// On an idle machine a tenth of it suffices; a new connection that is closed before its handshake is done gets no
/// response at all.
const LIMIT: Duration = Duration::from_secs(1);

/// Other programs on the machine may use it for a while; not each time.
const TRIES: usize = 4;

/// The target of the attack, and its effect.
struct Attack {
    address: SocketAddr,
    root: Vec<u8>,
    healthy: AtomicUsize,
    churned: AtomicUsize,
}

async fn holder(on: Arc<Attack>) {
    loop {
        if let Ok(stream) = tcp_from(2, on.address).await
            && let Ok(mut stream) = tls_over(stream, &on.root).await
        {
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

async fn churn(on: Arc<Attack>) {
    let mut ticks = interval(Duration::from_secs(1) / NEW_A_SECOND);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut ring = std::collections::VecDeque::new();
    loop {
        ticks.tick().await;
        if let Ok(stream) = tcp_from(3, on.address).await {
            ring.push_back(stream);
            on.churned.fetch_add(1, Ordering::Relaxed);
        }
        // Each is silent for a while and then closes.
        if ring.len() > 400 {
            ring.pop_front();
        }
    }
}

/// Endless heads, large bodies, metrics.
async fn mischief(on: Arc<Attack>, number: usize) {
    let head = "POST /validate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 38000000\r\n\r\n";
    let begun = question("a", 0);
    let begun = format!("{head}{}", &begun[..begun.len() - 5]);
    loop {
        if let Ok(stream) = tcp_from(4, on.address).await
            && let Ok(mut stream) = tls_over(stream, &on.root).await
        {
            let (first, then, pause) = match number % 3 {
                0 => (begun.as_str(), "\\u003c".repeat(2000), Duration::from_millis(50)),
                1 => ("GET /livez HTTP/1.1\r\nhost: x\r\na: ", "b".into(), Duration::from_millis(100)),
                _ => ("", "GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n".repeat(5), Duration::from_millis(50)),
            };
            let mut bytes = vec![0; 1 << 16];
            let mut goes_on = stream.write_all(first.as_bytes()).await.is_ok();
            while goes_on {
                goes_on = stream.write_all(then.as_bytes()).await.is_ok();
                if number % 3 == 2 {
                    goes_on &= stream.read(&mut bytes).await.is_ok_and(|count| count > 0);
                }
                sleep(pause).await;
            }
        }
        sleep(Duration::from_millis(500)).await;
    }
}

/// Held connections first; the rest on the signal.
async fn attack(on: Arc<Attack>, rest: oneshot::Receiver<()>, end: oneshot::Receiver<()>) {
    let mut all = JoinSet::new();
    for _ in 0..HELD {
        all.spawn(holder(Arc::clone(&on)));
    }
    let _ = rest.await;
    all.spawn(churn(Arc::clone(&on)));
    for number in 0..60 {
        all.spawn(mischief(Arc::clone(&on), number));
    }
    let _ = end.await;
}

#[tokio::test]
async fn good_reviews_are_answered_under_all_attacks_at_the_same_time() {
    let limits = ServerLimits::default();
    let stage = Stage::set(limits).await;
    let on = Arc::new(Attack {
        address: stage.address,
        root: stage.root.clone(),
        healthy: AtomicUsize::default(),
        churned: AtomicUsize::default(),
    });
    let ((go_on, rest), (enough, end)) = (oneshot::channel(), oneshot::channel());
    let theirs = Arc::clone(&on);
    // The attackers do not use the server's only thread.
    let attackers = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(attack(theirs, rest, end));
    });
    stage.reaches("taintward_webhook_connections", limits.connections as f64 - 10.0).await;
    go_on.send(()).unwrap();
    let begun = async {
        while on.churned.load(Ordering::Relaxed) < 1000 {
            sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(TIMEOUT, begun).await.unwrap();
    let mut message = Vec::new();
    for _ in 0..TRIES {
        let mut took = round(&stage).await;
        took.sort();
        let (requested, median, late) = (took.len(), took[took.len() / 2], took[took.len() * 99 / 100]);
        let (churned, healthy) = (on.churned.load(Ordering::Relaxed), on.healthy.load(Ordering::Relaxed));
        message.push(format!(
            "{requested} good questions, p50 {median:?}, p99 {late:?}; {churned} new connections, {healthy} answers about health"
        ));
        if late < LIMIT {
            break;
        }
    }
    let _ = enough.send(());
    attackers.join().unwrap();
    println!("{message:#?}");
    assert!(message.len() < TRIES, "{message:#?}");
}

/// How long good reviews take, every second one on a connection of its own.
async fn round(stage: &Stage) -> Vec<Duration> {
    let mut kept = Client::connect(stage).await;
    let (mut took, began) = (Vec::new(), Instant::now());
    while began.elapsed() < LASTS {
        let requested = Instant::now();
        if took.len() % 2 == 0 {
            stage.response_budget().await;
        } else {
            assert_eq!(kept.post("/validate", question("a", 2000)).await.0, 200);
        }
        took.push(requested.elapsed());
        sleep(Duration::from_millis(10)).await;
    }
    took
}
