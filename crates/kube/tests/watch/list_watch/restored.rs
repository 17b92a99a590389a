//! Tests a watch that continues on a store which was restored from a backup: the store has yet to reach the watch.

use super::behaviour::words;
use super::fake::{PodWatchHarness, WatchReply, WatchRequest, without_lists_again};
use super::objects::{BOTH, WireFormat, event, page, rejection, stream, streamed};
use std::time::Duration;
use taintward_kube::watch::WatchSettings;

/// When the watch is interrupted.
const OUTAGE: Duration = Duration::from_secs(60);

/// Two pods at version 100, and after the interruption a server that keeps a watch from there silent, as a real one
/// does while its store is older. A list has one pod, at version 50.
fn silent(wire: WireFormat) -> impl FnMut(&WatchRequest, usize) -> WatchReply + Send {
    move |requested, nth| match (nth, requested.is_watch(), requested.parameter("resourceVersion")) {
        (0, true, _) => streamed(wire, 2, 100).pause(OUTAGE).reset(),
        (0, false, _) => page(wire, 0..2, 100, ""),
        (1, true, Some("100")) if !requested.is_watch_list() => stream(wire).pause(OUTAGE).reset(),
        (_, true, Some("100")) => stream(wire).hang(),
        (_, true, None) => streamed(wire, 1, 50).hang(),
        (_, false, _) => page(wire, 0..1, 50, ""),
        (_, true, Some(version)) => {
            assert_eq!(version, "50");
            stream(wire).bytes(event(wire, "MODIFIED", 0, 51)).hang()
        }
    }
}

/// A store at this version.
fn store(wire: WireFormat, version: u64) -> impl FnMut(&WatchRequest, usize) -> WatchReply + Send {
    move |requested, _| {
        assert!(
            !requested.is_watch() && requested.parameter("resourceVersion").is_none(),
            "consistent: {requested:?}"
        );
        page(wire, 0..1, version, "more")
    }
}

fn settings(watch_list: bool) -> WatchSettings {
    WatchSettings { watch_list, seed: 1, ..without_lists_again() }
}

#[tokio::test(start_paused = true)]
async fn l4_a_store_that_has_yet_to_reach_the_watch_is_listed_immediately() {
    for wire in BOTH {
        for watch_list in [true, false] {
            let mut rig =
                PodWatchHarness::with_store(settings(watch_list), 16, silent(wire), store(wire, 50));
            rig.run_for(OUTAGE - Duration::from_millis(1)).await;
            assert!(rig.checks().is_empty(), "nothing was interrupted");
            let received = rig.run_for(Duration::from_millis(250)).await;
            assert_eq!(words(&received)[..3], ["begin", "+p0 listed", "end"], "{wire:?}: p1 is swept");
            rig.run_for(Duration::from_secs(200)).await;
            let health = rig.health();
            assert_eq!((health.counters.syncs, health.counters.relists_410), (2, 1), "{wire:?}");
            assert_eq!(rig.checks().len(), 1);
            assert!(health.is_in_step(Duration::ZERO));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_as_new_as_the_watch_is_not_listed() {
    for version in [100, 101, 1_000_000] {
        let mut rig = PodWatchHarness::with_store(
            settings(true),
            16,
            silent(WireFormat::Protobuf),
            store(WireFormat::Protobuf, version),
        );
        rig.run_for(Duration::from_secs(300)).await;
        assert_eq!(rig.health().counters.syncs, 1, "{version}");
        assert_eq!(
            (rig.requested().len(), rig.checks().len()),
            (3, 2),
            "{version}: one check per interruption"
        );
        assert!(rig.health().is_in_step(Duration::ZERO));
    }
}

/// The version is asked for until there is an answer, within seconds of the first one that the server can give.
#[tokio::test(start_paused = true)]
async fn a_version_that_cannot_be_read_at_first_is_read_as_soon_as_possible() {
    type Failure = (&'static str, fn() -> WatchReply);
    let failures: [Failure; 7] = [
        ("no server", WatchReply::unreachable),
        ("no response", || WatchReply::new(200, "application/json").hang().delay(Duration::from_secs(3600))),
        ("an endless body", || WatchReply::new(200, "application/json").bytes("{").hang()),
        ("403", || rejection(WireFormat::Json, 403, "Forbidden", None)),
        ("429", || rejection(WireFormat::Json, 429, "TooManyRequests", Some(1))),
        ("500", || rejection(WireFormat::Json, 500, "InternalError", None)),
        ("a proxy's page", || WatchReply::new(200, "text/html").bytes("<h1>Sign in</h1>")),
    ];
    for (what, last_error) in failures {
        let back = tokio::time::Instant::now() + OUTAGE + Duration::from_secs(2);
        let mut healthy = store(WireFormat::Json, 50);
        let mut rig = PodWatchHarness::with_store(
            settings(true),
            16,
            silent(WireFormat::Json),
            move |requested, nth| {
                if tokio::time::Instant::now() < back { last_error() } else { healthy(requested, nth) }
            },
        );
        rig.run_for(OUTAGE + Duration::from_secs(2)).await;
        assert_eq!(rig.health().counters.syncs, 1, "{what}");
        assert!((1..=12).contains(&rig.checks().len()), "{what}: {}", rig.checks().len());
        rig.run_for(Duration::from_secs(3)).await;
        assert_eq!(rig.health().counters.syncs, 2, "{what}");
        assert_eq!(rig.health().counters.stalls, 0, "{what}: the watch is not the one that failed");
    }
}

/// A balancer in front of two clusters: each list is from the other one.
#[tokio::test(start_paused = true)]
async fn p26_stores_that_contradict_each_other_cause_no_hot_loop() {
    let mut rig = PodWatchHarness::with_store(
        settings(true),
        16,
        |requested, _| match requested.is_watch_list() {
            true => streamed(WireFormat::Json, 1, 100).reset(),
            false => stream(WireFormat::Json).pause(Duration::from_millis(1)).reset(),
        },
        store(WireFormat::Json, 50),
    );
    rig.run_for(Duration::from_secs(3600)).await;
    assert!(rig.requested().len() < 300, "{}", rig.requested().len());
}

#[tokio::test(start_paused = true)]
async fn the_check_searches_for_no_object() {
    let mut settings = settings(true);
    settings.scope.namespace = "shop".into();
    settings.scope.fields = "spec.nodeName=n1".into();
    settings.scope.labels = "app=web".into();
    let mut rig =
        PodWatchHarness::with_store(settings, 16, silent(WireFormat::Json), store(WireFormat::Json, 100));
    rig.run_for(OUTAGE + Duration::from_secs(1)).await;
    assert_eq!(rig.checks()[0].path, "/api/v1/namespaces/shop/pods?limit=1");
}
