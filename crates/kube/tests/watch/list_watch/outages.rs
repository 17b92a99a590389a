//! Tests how soon watches recover after an outage, and what is not hastened.

use super::fake::{PodWatchHarness, WatchHarness, WatchReply, without_lists_again};
use super::objects::{WireFormat, event, rejection, stream, streamed};
use std::time::Duration;
use taintward_core::dedicated_pools::PoolFact;
use taintward_core::object_event::ObjectEvent;
use taintward_kube::watch::WatchSettings;
use tokio::time::Instant;

/// The name of a server, and its response.
type OutageResponses = (&'static str, fn() -> WatchReply);

/// The responses while the server is unavailable, and how long the first success may take after its return.
const AWAY: [(OutageResponses, f64); 8] = [
    (("nobody", WatchReply::unreachable), 0.7),
    (("a black hole", || WatchReply::unreachable().delay(Duration::from_secs(5))), 5.2),
    (("503", || rejection(WireFormat::Json, 503, "ServiceUnavailable", None)), 2.5),
    (("a balancer's 502", || WatchReply::new(502, "text/html").bytes("<h1>Bad Gateway</h1>")), 2.5),
    (("a proxy's page", || WatchReply::new(200, "text/html").bytes("<h1>Sign in</h1>")), 2.5),
    (("a proxy's 404", || WatchReply::new(404, "text/plain").bytes("default backend - 404")), 2.5),
    (("401", || rejection(WireFormat::Json, 401, "Unauthorized", None)), 2.5),
    (("a page, then no response", || WatchReply::new(200, "").delay(Duration::from_millis(700))), 2.5),
];

/// How long it takes after the return of a server that was unavailable this long until the watch is accepted.
async fn missed(away: Duration, meanwhile: fn() -> WatchReply, seed: u64) -> Duration {
    let gone = Instant::now() + Duration::from_secs(60);
    let back = gone + away;
    let settings = WatchSettings { seed, ..without_lists_again() };
    let mut rig = PodWatchHarness::with(settings, 16, move |requested, nth| match nth {
        0 => streamed(WireFormat::Json, 1, 10).pause(Duration::from_secs(60)).reset(),
        _ if Instant::now() < back => meanwhile(),
        _ => {
            assert_eq!(requested.parameter("resourceVersion"), Some("10"), "it continues where it was");
            stream(WireFormat::Json).bytes(event(WireFormat::Json, "MODIFIED", 0, 11)).hang()
        }
    });
    loop {
        for received in rig.received.recv().await.unwrap() {
            if matches!(received, ObjectEvent::Applied { listed: false, .. }) {
                assert!(rig.health().is_in_step(Duration::ZERO));
                return back.elapsed();
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn l4_a_stream_recovers_with_the_server_after_an_outage_of_any_length() {
    for ((what, meanwhile), limit) in AWAY {
        for away in [5, 10, 30, 60, 600] {
            for seed in 0..10 {
                let missed = missed(Duration::from_secs(away), meanwhile, seed).await;
                assert!(missed.as_secs_f64() <= limit, "{what}, {away} s away, seed {seed}: {missed:?}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_returns_without_its_history_is_listed_immediately() {
    for seed in 0..10 {
        let back = Instant::now() + Duration::from_secs(90);
        let settings = WatchSettings { seed, ..without_lists_again() };
        let mut rig = PodWatchHarness::with(settings, 16, move |requested, nth| match nth {
            0 => streamed(WireFormat::Json, 1, 10).pause(Duration::from_secs(60)).reset(),
            _ if Instant::now() < back => WatchReply::unreachable(),
            _ if !requested.is_watch_list() => rejection(WireFormat::Json, 410, "Expired", None),
            _ => streamed(WireFormat::Json, 2, 100).hang(),
        });
        rig.run_for(Duration::from_millis(93_000)).await;
        assert_eq!(rig.health().counters.syncs, 2);
    }
}

#[tokio::test(start_paused = true)]
async fn p26_a_server_that_throttles_or_breaks_lists_gets_ever_fewer_requests() {
    let broken = || stream(WireFormat::Json).bytes(event(WireFormat::Json, "ADDED", 0, 1)).reset();
    let overloaded: [OutageResponses; 4] = [
        ("429", || rejection(WireFormat::Json, 429, "TooManyRequests", None)),
        ("503 with a time", || rejection(WireFormat::Json, 503, "ServiceUnavailable", Some(1))),
        ("a list that breaks off", broken),
        ("403", || rejection(WireFormat::Json, 403, "Forbidden", None)),
    ];
    for (what, reply) in overloaded {
        let settings = WatchSettings { seed: 1, watch_list: false, ..without_lists_again() };
        let mut rig = PodWatchHarness::with(settings, 16, move |_, _| reply());
        rig.run_for(Duration::from_secs(3600)).await;
        assert!(rig.requested().len() < 150, "{what}: {}", rig.requested().len());
    }
}

#[tokio::test(start_paused = true)]
async fn the_streams_of_many_processes_do_not_return_at_the_same_moment() {
    let mut back = Vec::new();
    for seed in 0..50 {
        let mut rig =
            PodWatchHarness::with(WatchSettings { seed, ..without_lists_again() }, 16, |_, nth| match nth {
                0 => streamed(WireFormat::Json, 1, 10).pause(Duration::from_secs(60)).reset(),
                _ => stream(WireFormat::Json).hang(),
            });
        rig.run_for(Duration::from_secs(61)).await;
        back.push((rig.requested()[1].at - rig.requested()[0].at).as_millis() - 60_000);
    }
    back.sort_unstable();
    assert!(back[5] < 50 && back[45] > 150 && back[49] <= 201, "{back:?}");
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_every_server_has_is_never_absent() {
    let mut rig =
        PodWatchHarness::start(|_, _| WatchReply::new(404, "text/plain").bytes("404 page not found"));
    rig.run_for(Duration::from_secs(60)).await;
    let health = rig.health();
    assert!(!health.absent && !health.is_in_step(Duration::MAX), "{health:?}");
    assert!(health.last_error.unwrap().contains("check for a proxy"));
    assert!(
        rig.requested().iter().all(|requested| requested.is_watch_list()),
        "nor does it lack streamed lists"
    );
}

const GROUPS: &str = r#"{"kind": "APIGroupList", "groups": [
    {"name": "apps", "versions": [{"groupVersion": "apps/v1"}]} OWN_GROUP ]}"#;
const OWN_GROUP: &str =
    r#", {"name": "taintward.io", "versions": [{"groupVersion": "taintward.io/v1alpha1"}]}"#;
const RESOURCES: &str = r#"{"kind": "APIResourceList", "resources": [{"name": "tolerationpolicies"} MORE ]}"#;

#[tokio::test(start_paused = true)]
async fn an_optional_kind_is_absent_if_the_server_itself_reports_it() {
    let not_found = || WatchReply::new(404, "text/plain").bytes("404 page not found");
    let json = |text: String| WatchReply::new(200, "application/json").bytes(text);
    for (groups, resources, absent) in [
        (Some(GROUPS.replace("OWN_GROUP", "")), None, true),
        (Some(GROUPS.replace("OWN_GROUP", OWN_GROUP)), Some(RESOURCES.replace("MORE", "")), true),
        (
            Some(GROUPS.replace("OWN_GROUP", OWN_GROUP)),
            Some(RESOURCES.replace("MORE", r#", {"name": "dedicatedpools"}"#)),
            false,
        ),
        (Some(GROUPS.replace("OWN_GROUP", OWN_GROUP)), None, false),
        (Some("<h1>It works</h1>".to_owned()), None, false),
        (Some("{}".to_owned()), None, false),
        (None, None, false),
    ] {
        let reported = format!("{groups:?} {resources:?}");
        let mut rig = WatchHarness::<PoolFact>::start(move |requested, _| {
            match (&*requested.path, &groups, &resources) {
                ("/apis", Some(groups), _) => json(groups.clone()),
                ("/apis/taintward.io/v1alpha1", _, Some(resources)) => json(resources.clone()),
                _ => not_found(),
            }
        });
        rig.run_for(Duration::from_secs(60)).await;
        assert_eq!(rig.health().absent, absent, "{reported}");
        let account = rig.requested().iter().filter(|requested| requested.path == "/apis").count();
        assert!(!absent || account == 1, "{reported}: asked once, not each time: {account}");
    }
}
