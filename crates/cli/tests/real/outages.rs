//! Tests how soon evictions continue after an outage of the API server, etcd or the network (L4, L8).
//!
//! - `TAINTWARD_OUTAGES=5,10,30,60` sets the lengths in seconds.

use super::accounts::leading_to;
use super::harness::{ActionTime, AuditExceptions, let_controllers_observe, let_seconds_pass};
use super::program::{Taintward, free_port};
use super::proxy::ScenarioProxy;
use super::witness::Witness;
use jiff::{SignedDuration, Timestamp};
use std::time::{Duration, Instant};
use taintward_envtest::fixtures::{self, no_execute, pod, set_taints};
use taintward_envtest::{Account, Cluster, TestApi, wait};

/// A pod whose node is tainted the moment the server is back leaves within this.
const BACK_MAX: SignedDuration = SignedDuration::from_secs(5);

/// A server that has just started rejects all requests until it has read the roles.
const TERMS: AuditExceptions =
    AuditExceptions { marks: true, stamps: false, forbidden: true, restored: false };

/// Within this `/readyz` reports the interruption: four seconds for a dead connection, ten of grace, and time for a
/// busy machine.
const REPORTED_MAX: Duration = Duration::from_secs(17);

/// The scenario on the other server: nodes, each with a pod.
struct OtherServer<'w> {
    other: TestApi,
    witness: &'w Witness,
    what: &'static str,
}

impl OtherServer<'_> {
    async fn of<'w>(cluster: &Cluster, witness: &'w Witness, what: &'static str) -> OtherServer<'w> {
        let other = TestApi::from_kubeconfig(&cluster.kubeconfig(Account::Admin, 1)).await.unwrap();
        OtherServer { other, witness, what }
    }

    /// Creates a node with a pod without tolerations. Returns the pod's UID.
    async fn prepare(&self, number: u64) -> String {
        let name = format!("{}-{number}", self.what);
        fixtures::create_node(&self.other, &name, &[]).await.unwrap();
        pod(&name, &name).create(&self.other).await.unwrap()
    }

    /// Taints the node now. Returns how long its pod takes to leave.
    async fn leaves(&self, number: u64, uid: &str) -> SignedDuration {
        let name = format!("{}-{number}", self.what);
        let taint = [no_execute("outage", "v")];
        let done = ActionTime::during(set_taints(&self.other, &name, &taint)).await;
        let found = async || Ok(self.witness.deleted(uid));
        let at = wait::until("the pod to be deleted", Duration::from_secs(90), found).await.unwrap();
        let took = at.duration_since(done.before);
        println!("{}, {number}: left {:.2} s after the taint", self.what, took.as_secs_f64());
        took
    }
}

/// The usual lengths, or those from the environment.
fn lengths(usual: &[u64]) -> Vec<u64> {
    let requested = std::env::var("TAINTWARD_OUTAGES").unwrap_or_default();
    let requested: Vec<u64> = requested.split(',').filter_map(|length| length.trim().parse().ok()).collect();
    if requested.is_empty() { usual.to_vec() } else { requested }
}

/// Checks that it stays alive; that it is ready until `REPORTED_MAX` at the latest, and then not, with the reason.
async fn away(taintward: &Taintward, seconds: u64) {
    let (began, mut reported) = (Instant::now(), None);
    while began.elapsed() < Duration::from_secs(seconds) {
        assert_eq!(taintward.get("/livez").map(|(status, _)| status), Some(200), "{:?}", began.elapsed());
        if let Some((500, why)) = taintward.get("/readyz") {
            reported.get_or_insert_with(|| (began.elapsed(), why));
        }
        let_seconds_pass(0.25, "the outage lasts, and health is read four times a second").await;
    }
    match reported {
        Some((at, why)) => {
            println!("away for {seconds} s: /readyz told after {:.1} s", at.as_secs_f64());
            assert!(at <= REPORTED_MAX, "{at:?}");
            assert!(why.contains("interrupted for") || why.contains("lease"), "{why}");
        }
        None => assert!(Duration::from_secs(seconds) <= REPORTED_MAX, "/readyz was 200 for {seconds} s"),
    }
}

async fn is_ready_again(taintward: &Taintward) {
    let began = Instant::now();
    let ready = async || Ok(taintward.get("/readyz").filter(|(status, _)| *status == 200));
    wait::until("taintward to be ready again", Duration::from_secs(30), ready).await.unwrap();
    assert!(began.elapsed() <= Duration::from_secs(5), "{:?}", began.elapsed());
}

/// L4: the API server is killed, and comes back after a while, several times in a row, with seconds in between.
pub(crate) async fn evictions_continue_when_a_server_is_back(
    cluster: &mut Cluster,
    witness: &Witness,
) -> AuditExceptions {
    let taintward = Taintward::acting(cluster, &[]).await;
    let side = OtherServer::of(cluster, witness, "killed").await;
    for length in lengths(&[10, 11, 12, 30]) {
        let uid = side.prepare(length).await;
        let_seconds_pass(1.0, "the countdown is under way").await;
        cluster.server(0).kill().unwrap();
        away(&taintward, length).await;
        cluster.restart(0).await.unwrap();
        let took = side.leaves(length, &uid).await;
        assert!(took <= BACK_MAX, "{length} s away: {took:#}");
        is_ready_again(&taintward).await;
    }
    TERMS
}

/// L4: the API server is paused, and resumes after a while.
pub(crate) async fn evictions_continue_when_a_server_resumes(
    cluster: &mut Cluster,
    witness: &Witness,
) -> AuditExceptions {
    let taintward = Taintward::acting(cluster, &[]).await;
    let side = OtherServer::of(cluster, witness, "paused").await;
    for length in lengths(&[20]) {
        let uid = side.prepare(length).await;
        let_seconds_pass(1.0, "the countdown is under way").await;
        cluster.server(0).pause().unwrap();
        away(&taintward, length).await;
        cluster.server(0).resume().unwrap();
        let took = side.leaves(length, &uid).await;
        assert!(took <= BACK_MAX, "{length} s still: {took:#}");
        is_ready_again(&taintward).await;
    }
    TERMS
}

/// L4: etcd is paused, and resumes after a while. The API servers' recovery time does not count.
pub(crate) async fn evictions_continue_when_etcd_resumes(
    cluster: &mut Cluster,
    witness: &Witness,
) -> AuditExceptions {
    let taintward = Taintward::acting(cluster, &[]).await;
    let side = OtherServer::of(cluster, witness, "etcd").await;
    for length in lengths(&[20]) {
        let uid = side.prepare(length).await;
        let_seconds_pass(1.0, "the countdown is under way").await;
        cluster.etcd().pause().unwrap();
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(length) {
            assert_eq!(taintward.get("/livez").map(|(status, _)| status), Some(200));
            let_seconds_pass(0.5, "the outage lasts, and health is read twice a second").await;
        }
        cluster.etcd().resume().unwrap();
        cluster.ready(0).await.unwrap();
        cluster.ready(1).await.unwrap();
        let took = side.leaves(length, &uid).await;
        assert!(took <= BACK_MAX, "{length} s without etcd: {took:#}");
        is_ready_again(&taintward).await;
    }
    TERMS
}

/// L4: etcd is killed and restarted, while the API servers stay alive. Pods that became due meanwhile leave
/// immediately, those with longer seconds get their full time, and those that tolerate the taint indefinitely stay.
pub(crate) async fn evictions_continue_when_etcd_is_killed(
    cluster: &mut Cluster,
    witness: &Witness,
) -> AuditExceptions {
    let taintward = Taintward::acting(cluster, &[]).await;
    let side = OtherServer::of(cluster, witness, "no-etcd").await;
    for length in lengths(&[10]) {
        let held = format!("held-{length}");
        fixtures::create_node(&side.other, &held, &[]).await.unwrap();
        let mut pods = Vec::new();
        for (name, seconds) in [("due", Some(4)), ("late", Some(length as i64 + 12)), ("stays", None)] {
            let name = format!("{held}-{name}");
            pods.push(pod(&name, &held).bearing("held", seconds).create(&side.other).await.unwrap());
        }
        let [due, late, stays] = &pods[..] else { unreachable!() };
        let uid = side.prepare(length).await;
        let_controllers_observe().await;
        let taint = [no_execute("held", "v")];
        let tainted = ActionTime::during(set_taints(&side.other, &held, &taint)).await;
        let_seconds_pass(1.0, "the countdown is under way").await;
        cluster.etcd().kill().unwrap();
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(length) {
            assert_eq!(taintward.get("/livez").map(|(status, _)| status), Some(200));
            let_seconds_pass(0.5, "the outage lasts, and health is read twice a second").await;
        }
        assert_eq!(witness.deleted(due), None);
        cluster.restart_etcd().await.unwrap();
        cluster.ready(0).await.unwrap();
        cluster.ready(1).await.unwrap();
        let back = Timestamp::now();
        let took = side.leaves(length, &uid).await;
        assert!(took <= BACK_MAX, "{length} s without etcd: {took:#}");
        is_ready_again(&taintward).await;
        let deleted = async |uid: &str| {
            let found = async || Ok(witness.deleted(uid));
            wait::until("the pod to be deleted", Duration::from_secs(60), found).await.unwrap()
        };
        assert!(deleted(due).await <= back + BACK_MAX, "due meanwhile: {:?}, {back}", deleted(due).await);
        let earliest = tainted.after + SignedDuration::from_secs(length as i64 + 12);
        let at = deleted(late).await;
        assert!(at >= earliest && at <= earliest.max(back) + BACK_MAX, "{at}, not {earliest}");
        assert_eq!(witness.deleted(stays), None);
    }
    TERMS
}

/// L4: the network is cut, and heals: all open connections break, or none, or only the open ones are dead.
pub(crate) async fn evictions_continue_when_the_network_heals(
    cluster: &mut Cluster,
    witness: &Witness,
) -> AuditExceptions {
    let (port, server) = (free_port(), cluster.port(0));
    let proxy = ScenarioProxy::on(port, server);
    let mut taintward =
        Taintward::start(cluster, &leading_to(cluster, Account::Taintward, port), &["--leader-elect=false"]);
    taintward.ready().await;
    let side = OtherServer::of(cluster, witness, "cut").await;

    // Half-open: open connections are dead, new ones work.
    let uid = side.prepare(0).await;
    let_seconds_pass(1.0, "the countdown is under way").await;
    proxy.strand();
    let took = side.leaves(0, &uid).await;
    assert!(took <= BACK_MAX + SignedDuration::from_secs(1), "half-open: {took:#}");

    for length in lengths(&[15]) {
        let uid = side.prepare(length).await;
        let_seconds_pass(1.0, "the countdown is under way").await;
        proxy.cut(true);
        away(&taintward, length).await;
        // Data that was sent during the cut is lost with its connection.
        proxy.break_off();
        proxy.cut(false);
        let took = side.leaves(length, &uid).await;
        assert!(took <= BACK_MAX, "cut for {length} s: {took:#}");
    }
    is_ready_again(&taintward).await;
    TERMS
}

/// L4: one of two servers behind a TCP load balancer is paused; new connections lead to the other.
pub(crate) async fn evictions_continue_by_the_other_server(
    cluster: &mut Cluster,
    witness: &Witness,
) -> AuditExceptions {
    let (port, first, second) = (free_port(), cluster.port(0), cluster.port(1));
    let balancer = ScenarioProxy::on(port, first);
    let mut taintward =
        Taintward::start(cluster, &leading_to(cluster, Account::Taintward, port), &["--leader-elect=false"]);
    taintward.ready().await;
    let side = OtherServer::of(cluster, witness, "stopped").await;
    let uid = side.prepare(0).await;
    let_seconds_pass(1.0, "the countdown is under way").await;
    let stopped = Timestamp::now();
    cluster.server(0).pause().unwrap();
    balancer.lead_to(second);
    let took = side.leaves(0, &uid).await;
    println!("stopped at {stopped}");
    cluster.server(0).resume().unwrap();
    assert!(took <= BACK_MAX + SignedDuration::from_secs(1), "{took:#}");
    TERMS
}
