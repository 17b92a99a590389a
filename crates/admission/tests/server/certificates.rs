//! Tests that a certificate is replaced under load, and that a broken one changes nothing.

use super::harness::{CertificateFiles, HarnessClient, ServerHarness, TIMEOUT, connect, limits, question};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use taintward_admission::server::{WallClock, WebhookListener};
use taintward_admission::settings::{CertificateSource, WebhookServerSettings};
use taintward_core::time::Wall;
use testkit::wait::{let_time_pass, until_true};

/// Waits until a client that trusts only `root` can connect.
async fn is_shown(harness: &ServerHarness, root: &[u8]) {
    until_true("it to be served", TIMEOUT, async || connect(harness.address, root).await.is_ok()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renewal_under_load_loses_no_response() {
    let harness = Arc::new(ServerHarness::set(limits()).await);
    let (done, responded) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let load: Vec<_> = (0..4)
        .map(|_| {
            let (harness, done, responded) = (harness.clone(), done.clone(), responded.clone());
            tokio::spawn(async move {
                let mut client = HarnessClient::connect(&harness).await;
                while !done.load(Ordering::Relaxed) {
                    assert_eq!(client.post("/mutate", question("a", 2000)).await.0, 200);
                    responded.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    let mut before = harness.root.clone();
    for _ in 0..3 {
        let so_far = responded.load(Ordering::Relaxed);
        let root = harness.files.renew(1, 90);
        is_shown(&harness, &root).await;
        assert!(connect(harness.address, &before).await.is_err(), "the old one is no longer served");
        before = root;
        let goes_on = async || responded.load(Ordering::Relaxed) >= so_far + 20;
        until_true("open connections to continue", TIMEOUT, goes_on).await;
    }
    done.store(true, Ordering::Relaxed);
    for client in load {
        client.await.expect("every review was answered");
    }
    assert!(harness.value("taintward_webhook_certificate_reloads_total") >= 4.0);
}

#[tokio::test]
async fn invalid_files_change_nothing_and_are_reported() {
    let harness = ServerHarness::set(limits()).await;
    let (good, key) =
        (std::fs::read(harness.files.certificate()).unwrap(), std::fs::read(harness.files.key()).unwrap());
    let other = CertificateFiles::new("other");
    other.renew(1, 90);
    let put = |certificate: &[u8], key: &[u8]| {
        std::fs::write(harness.files.certificate(), certificate).unwrap();
        std::fs::write(harness.files.key(), key).unwrap();
    };
    let failures = "taintward_webhook_certificate_reload_failures_total";
    let spoil: [&dyn Fn(); 6] = [
        &|| put(b"garbage", b"garbage"),
        &|| put(&good[..good.len() / 2], &key),
        &|| put(&good, &std::fs::read(other.key()).unwrap()),
        &|| drop(harness.files.renew(90, -1)),
        &|| drop(harness.files.renew(-1, 90)),
        &|| std::fs::remove_file(harness.files.key()).unwrap(),
    ];
    for (number, spoil) in spoil.iter().enumerate() {
        spoil();
        let before = harness.value(failures);
        // The second check started after the change.
        let rises = async || harness.value(failures) >= before + 2.0;
        until_true(&format!("number {number} to be noticed"), TIMEOUT, rises).await;
        assert!(
            connect(harness.address, &harness.root).await.is_ok(),
            "number {number} replaced the good one"
        );
    }
    put(&good, &key);
    let_time_pass(Duration::from_millis(100), "a check that began before the change ends").await;
    let healed = harness.value(failures);
    let_time_pass(Duration::from_millis(100), "further checks must not fail").await;
    assert_eq!(harness.value(failures), healed);
    let root = harness.files.renew(1, 90);
    is_shown(&harness, &root).await;
}

#[tokio::test]
async fn a_server_does_not_start_with_an_unusable_certificate() {
    let files = CertificateFiles::new("start");
    let open = async || {
        let clock: WallClock = Arc::new(|| Wall::from_secs(1_800_000_000));
        let (certificate, key) = (files.certificate(), files.key());
        let settings = WebhookServerSettings {
            address: "127.0.0.1:0".parse().unwrap(),
            metrics: None,
            certificate: CertificateSource::Files { certificate, key, every: TIMEOUT },
            clients: None,
            limits: limits(),
        };
        WebhookListener::open(&settings, clock).await.map(drop).map_err(|error| error.to_string())
    };
    let message = open().await.unwrap_err();
    assert!(message.ends_with("--tls-cert-file must name a PEM file"), "{message}");
    files.renew(90, -1);
    let message = open().await.unwrap_err();
    let (cause, remedy) = ("it has expired", "replace it, or correct the clock of this machine");
    assert_eq!(
        message,
        format!("the certificate given with --tls-cert-file is not valid now: {cause}; {remedy}")
    );
    files.renew(1, 1);
    assert_eq!(open().await, Ok(()));
}
