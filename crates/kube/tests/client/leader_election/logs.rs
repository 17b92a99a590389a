//! Tests what a process reports of its lease: in the log, and as an error.

use super::*;
use testkit::log::CapturedLog;

/// A PUT that does not find the lease says what a read would say: it is created without a pause.
#[tokio::test(start_paused = true)]
async fn a_renewal_of_a_deleted_lease_is_no_failure() {
    let (log, _guard) = CapturedLog::begin();
    let (store, client, requests) = LeaseServer::new();
    let clock = clock();
    let a = candidate(&client, &clock, "a");
    after(5).await;
    *store.lease.lock().unwrap() = None;
    let before = requests.lock().unwrap().len();
    after(2).await;
    let lines: Vec<String> = requests.lock().unwrap()[before..].iter().map(SeenRequest::line).collect();
    assert_eq!(lines, [format!("PUT {LEASE}"), format!("GET {LEASE}"), format!("POST {LEASES}")]);
    assert!(a.seen.borrow().leading && a.seen.borrow().last_error.is_none());
    assert!(!log.lines().iter().any(|line| line.contains("failed")), "{:?}", log.lines());
}

/// Only a read may report that there is no lease; without its namespace, there can be none.
#[tokio::test(start_paused = true)]
async fn a_lease_without_its_namespace_is_an_error() {
    let (store, client, _) = LeaseServer::new();
    store.set(LeaseMood::NoNamespace);
    let a = candidate(&client, &clock(), "a");
    after(60).await;
    let known = a.seen.borrow().clone();
    assert!(!known.leading && known.last_error.is_some_and(|why| why.contains("kube-system")));
}

/// The lines of a log without the fields.
fn messages(log: &CapturedLog) -> Vec<String> {
    let lines = log.lines();
    let texts = [
        "leading: this process",
        "no longer leading",
        "releasing the lease",
        "a request for the lease failed",
    ];
    let message = |line: &String| texts.iter().find(|text| line.contains(*text)).copied();
    lines.iter().map(|line| message(line).unwrap_or(line).to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn the_log_says_when_a_process_leads_and_when_no_longer() {
    let (log, _guard) = CapturedLog::begin();
    let (store, client, _) = LeaseServer::new();
    let clock = clock();
    let mut a = candidate(&client, &clock, "a");
    after(60).await;
    assert_eq!(messages(&log), ["leading: this process"], "once, however often the lease is renewed");
    store.set(LeaseMood::Silent);
    after(60).await;
    let failed = "a request for the lease failed";
    // The write, and later the read: each with its own reason, and not each time.
    let lost = ["leading: this process", failed, "no longer leading", failed];
    assert_eq!(messages(&log), lost);
    store.set(LeaseMood::Well);
    after(60).await;
    a.stop.take().unwrap().send(()).unwrap();
    a.task.await.unwrap();
    let end = ["leading: this process", "releasing the lease"];
    assert_eq!(messages(&log), [&lost[..], &end].concat());
    // Another process that takes the lease over is named.
    let b = candidate(&client, &clock, "b");
    after(5).await;
    let mut lease = store.lease.lock().unwrap().take().unwrap();
    lease["spec"]["holderIdentity"] = json!("thief");
    lease["metadata"]["resourceVersion"] = json!("1000");
    *store.lease.lock().unwrap() = Some(lease);
    after(3).await;
    assert!(!b.seen.borrow().leading);
    let last = log.lines().pop().unwrap();
    assert!(last.contains("no longer leading") && last.contains("thief"), "{last}");
}
