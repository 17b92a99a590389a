//! Tests the built webhook on a real API server, under its installed account.

pub(crate) mod absent;
pub(crate) mod files;
pub(crate) mod hidden;
pub(crate) mod killed;
pub(crate) mod self_signed;
pub(crate) mod silent;
pub(crate) mod warnings;

use crate::admission::account;
use crate::admission::register::define;
use crate::turn;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use taintward_envtest::certificates::TestAuthority;
use taintward_envtest::{Account, AdmissionConfig, Audit, Cluster, ClusterConfig, TestApi};

/// The timeout of everything; on an idle machine it takes a minute.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(600);

/// What all scenarios share.
pub(crate) struct WebhookHarness {
    pub(crate) cluster: Cluster,
    pub(crate) api: TestApi,
    /// The kubeconfig of the webhook's own account.
    pub(crate) account: PathBuf,
    /// The authority of certificates in files.
    pub(crate) authority: TestAuthority,
}

#[test]
fn the_webhook_on_a_real_server() {
    let Some(tools) = turn::for_test("webhook") else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        // Another plugin must not have added what the webhook adds.
        let without = AdmissionConfig { off: vec!["DefaultTolerationSeconds"], ..AdmissionConfig::default() };
        let options =
            ClusterConfig { audit: Audit::Off, admission: vec![without], ..ClusterConfig::default() };
        let cluster = Cluster::start(&tools, options).await.unwrap();
        let api = cluster.api(Account::Admin).await.unwrap();
        let account = account::make(&cluster).await;
        let authority = TestAuthority::new().unwrap();
        let harness = WebhookHarness { cluster, api, account, authority };
        tokio::time::timeout(STARTUP_TIMEOUT, all(&harness)).await.expect("done in time");
    });
}

async fn all(harness: &WebhookHarness) {
    reported("without an API server", absent::without_an_api_server(harness)).await;
    reported("without definitions", absent::without_definitions(harness)).await;
    define(&harness.cluster).await;
    // Both mostly wait.
    let files = reported("certificate files", files::renewed_and_spoilt_under_load(harness));
    let own = reported("certificates of its own making", self_signed::two_replicas(harness));
    futures::join!(files, own);
    reported("killed under load", killed::pods_still_come(harness)).await;
    reported("a replica falls silent", silent::requests_go_to_the_other_replica(harness)).await;
    reported("hidden", hidden::no_pod_gets_past_by_being_hard_to_parse(harness)).await;
    reported("words", warnings::kubectl_shows_them(harness)).await;
}

async fn reported(what: &str, scenario: impl Future<Output = ()>) {
    let began = Instant::now();
    scenario.await;
    println!("{what}: ok ({:.1} s)", began.elapsed().as_secs_f64());
}
