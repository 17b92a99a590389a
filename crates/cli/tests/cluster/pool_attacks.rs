//! Tests attacks on dedicated nodes by the admin of another namespace, on a real API server with a whole installation.
//!
//! - The webhook answers, is flooded, paused or scaled to zero; every attack must be stopped by what is printed, and
//!   legitimate requests must pass.

pub(crate) mod attempts;
pub(crate) mod harness;
pub(crate) mod installation;
pub(crate) mod later;
pub(crate) mod table;

use crate::turn;
use attempts::{attacks, legitimate};
use harness::AttackHarness;
use installation::Installation;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};
use table::AttackTable;
use taintward_envtest::{Audit, Cluster, ClusterConfig};
use tokio::net::{TcpSocket, TcpStream};

/// The timeout of everything; on an idle machine it takes 25 s.
const WHOLE: Duration = Duration::from_secs(300);
/// The number of connections of a flood.
const CROWD: usize = 300;
/// An address other than the API server's.
const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

const REQUESTED: &str = "taintward_webhook_reviews_total";
/// The minimum number of reviews in each mode in which the webhook answers.
const LEAST_REQUESTED: f64 = 12.0;

/// The states of the webhook.
const MODES: [&str; 4] = ["up", "crowded", "paused", "at zero"];

#[test]
fn no_attack_succeeds_whatever_the_state_of_the_webhook() {
    let Some(tools) = turn::for_test("pool_attacks") else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let options = ClusterConfig { audit: Audit::Off, ..ClusterConfig::default() };
        let cluster = Cluster::start(&tools, options).await.unwrap();
        tokio::time::timeout(WHOLE, all(&cluster)).await.expect("done in time");
    });
}

async fn all(cluster: &Cluster) {
    let harness = AttackHarness::lay(cluster).await;
    harness.older_pods(&MODES).await;
    let installed = Installation::apply(cluster, "").await;
    let _controller = installed.controller().await;
    let mut webhook = installed.webhook().await;
    harness.pools().await;
    harness.pods_are_given_what_is_theirs().await;
    let mut table = AttackTable::default();
    for mode in MODES {
        let responses = matches!(mode, "up" | "crowded");
        let (requested, missed) =
            (responses.then(|| webhook.metric(REQUESTED, "")), installed.times_missed().await);
        let mut crowd = Vec::new();
        match mode {
            "crowded" => crowd = hold(webhook.port).await,
            "paused" => webhook.pause(),
            "at zero" => webhook.kill(),
            _ => {}
        }
        let began = Instant::now();
        for (what, by) in harness.tried(attacks(mode)).await {
            table.stopped(what, by);
        }
        harness.done(legitimate(mode)).await;
        drop(crowd);
        let missed = installed.times_missed().await - missed;
        println!("{mode}: {:.1} s, {missed} questions without an answer", began.elapsed().as_secs_f64());
        match requested {
            // Its metrics may be a second old.
            Some(before) => webhook.reaches(REQUESTED, "", before + LEAST_REQUESTED).await,
            None => assert!(missed > 0.0, "{mode}: the webhook has answered"),
        }
    }
    println!("{}", table.with(&MODES));
    later::a_pool_may_let_daemon_sets_in(&harness).await;
    later::a_node_that_joins_later_is_known(&harness).await;
}

/// Connections that send nothing, or the beginning of a handshake.
async fn hold(port: u16) -> Vec<TcpStream> {
    let one = async |number: usize| {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((ELSEWHERE, 0).into()).unwrap();
        let stream = socket.connect((Ipv4Addr::LOCALHOST, port).into()).await.unwrap();
        if number.is_multiple_of(2) {
            // The header of a handshake. Connections that were rejected do not accept it.
            let _ = stream.try_write(&[22, 3, 1, 2, 0, 1]);
        }
        stream
    };
    futures::future::join_all((0..CROWD).map(one)).await
}
