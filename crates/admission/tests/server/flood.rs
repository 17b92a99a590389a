//! Tests a good client alongside floods from other addresses: idle connections, new ones, endless headers, large and
//! slow bodies.

pub(crate) mod attack;

use super::harness::{BOTH, HarnessClient, ServerHarness, connector, question};
use attack::{FloodAttack, FloodTarget};
use rustls::pki_types::ServerName;
use std::time::{Duration, Instant};
use taintward_admission::settings::ServerLimits;
use testkit::wait::let_time_pass;

const LASTS: Duration = Duration::from_secs(4);
/// On an idle machine a tenth of it suffices; a new connection that is closed before its handshake is done gets no
/// response at all.
const LIMIT: Duration = Duration::from_secs(1);

/// Other programs may use the machine for most of a minute; not for all of it.
const TRIES: usize = 15;

#[tokio::test]
async fn good_reviews_are_answered_under_all_attacks_at_the_same_time() {
    let limits = ServerLimits::default();
    let harness = ServerHarness::set(limits).await;
    let name = ServerName::try_from("localhost").unwrap();
    let connector = connector(&harness.root, &BOTH, None);
    let target = FloodTarget::new(harness.address, None, name, connector, &question("a", 0));
    let mut attack = FloodAttack::hold(target).unwrap();
    harness.reaches("taintward_webhook_connections", limits.connections as f64 - 10.0).await;
    attack.extend().unwrap();
    attack.has_started().await;
    let mut rounds = Vec::new();
    for _ in 0..TRIES {
        let mut took = round(&harness).await;
        took.sort();
        let (sent, median, late) = (took.len(), took[took.len() / 2], took[took.len() * 99 / 100]);
        let attack = attack.describe();
        rounds.push(format!("{sent} good questions, p50 {median:?}, p99 {late:?}; {attack}"));
        if late < LIMIT {
            break;
        }
    }
    attack.end();
    println!("{rounds:#?}");
    assert!(rounds.len() < TRIES, "{rounds:#?}");
}

/// How long good reviews take, every second one on a connection of its own.
async fn round(harness: &ServerHarness) -> Vec<Duration> {
    let mut kept = HarnessClient::connect(harness).await;
    let (mut took, began) = (Vec::new(), Instant::now());
    while began.elapsed() < LASTS {
        let sent = Instant::now();
        if took.len() % 2 == 0 {
            harness.responds().await;
        } else {
            assert_eq!(kept.post("/validate", question("a", 2000)).await.0, 200);
        }
        took.push(sent.elapsed());
        let_time_pass(Duration::from_millis(10), "the good client sends at most a hundred reviews a second")
            .await;
    }
    took
}
