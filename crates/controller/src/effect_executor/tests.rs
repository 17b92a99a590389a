//! Tests how many requests are in flight.

use super::*;
use crate::eviction::tests::metrics;
use std::time::Duration;
use taintward_core::time::Wall;

/// Requests that take `length` each.
async fn executor(requests: &[(Duration, bool)]) -> (EffectExecutor<()>, Clock) {
    let clock = Clock::of_runtime(Wall::from_secs(1_800_000_000));
    let metrics = metrics(&clock);
    let limited_as = Some(metrics::Controller::TaintEviction);
    let mut executor = EffectExecutor::new(limited_as, clock.clone(), metrics.effects.clone());
    for (length, is_slow) in requests {
        start(&mut executor, *length, *is_slow);
    }
    (executor, clock)
}

fn start(executor: &mut EffectExecutor<()>, length: Duration, is_slow: bool) {
    let label = RequestLabel { kind: None, object: "p".into(), pod: None };
    let response = Box::pin(async move {
        tokio::time::sleep(length).await;
        ((), None)
    });
    executor.start(EffectRequest { label, response }, false, is_slow);
}

const LONG: Duration = Duration::from_secs(4);

/// L6: requests that wait for a webhook make room for other requests once they have taken long.
#[tokio::test(start_paused = true)]
async fn l6_requests_that_take_long_make_room() {
    let (mut executor, clock) = executor(&[(LONG, false); 48]).await;
    assert!(!executor.has_room(), "48 are in flight");
    let stalled_at = clock.now().mono.plus(STALLED_MIN);
    assert_eq!(executor.next_wakeup(), Some(stalled_at));
    clock.sleep_until(stalled_at.minus(Span::from_millis(1))).await;
    assert!(!executor.has_room());
    clock.sleep_until(stalled_at).await;
    assert!(executor.has_room());
    assert_eq!(executor.next_wakeup(), None, "there is room");
    // As often as 32 are stalled: more would only burden an API server that is slow for all.
    for _ in 0..5 {
        while executor.has_room() {
            start(&mut executor, LONG, false);
        }
        clock.sleep_until(clock.now().mono.plus(STALLED_MIN)).await;
    }
    assert_eq!(executor.in_flight(), 48 + STALLED_MAX);
    assert!(!executor.has_room());
}

/// Each request that ends makes room; those that the engine limits take none.
#[tokio::test(start_paused = true)]
async fn every_request_that_ends_makes_room() {
    let quick = Duration::from_millis(5);
    let mut requests = vec![(quick, false); 48];
    requests.extend([(LONG, true); 32]);
    let (mut executor, _) = executor(&requests).await;
    assert!(!executor.has_room());
    for ended in 1..=48 {
        executor.next().await;
        assert_eq!(executor.counted(), 48 - ended);
    }
    for _ in 0..32 {
        executor.next().await;
    }
    assert_eq!((executor.counted(), executor.in_flight()), (0, 0));
}
