//! Tests many viewers of a board, those that read nothing, and how often the board sends.

use super::client::{Events, PATIENCE, has_counting, sandbox};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How long requests change everything.
const CHANGES_LAST: Duration = Duration::from_secs(3);

#[test]
fn every_viewer_receives_the_same_beside_one_that_reads_nothing() {
    let (_running, board) = sandbox();
    board.events("").until_pods(18);
    let stopped = board.events("");
    let mut viewers: Vec<Events> = (0..100).map(|_| board.events("")).collect();
    for viewer in &mut viewers {
        let (_, kind, snapshot) = viewer.next();
        assert_eq!((kind.as_str(), &snapshot["sandbox"]), ("snapshot", &json!(true)));
    }
    let answer = board.act(&json!({"verb": "taint", "node": "n1", "taint": "maintenance=now:NoExecute"}));
    assert_eq!((answer.status, answer.body.as_str()), (200, r#"{"message":"node/n1 modified"}"#));
    let mut told: Vec<(String, Value)> =
        viewers.iter_mut().map(|viewer| viewer.until("a countdown", has_counting)).collect();
    told.dedup();
    assert_eq!(told.len(), 1);
    // One that was away gets what it missed, and not everything again.
    let mut events = board.events("");
    let (id, ..) = events.next();
    board.act(&json!({"verb": "untaint", "node": "n1", "taint": "maintenance:NoExecute"}));
    events
        .until("the end of the taint", |message| message["decisions"].to_string().contains("lost the taint"));
    let (_, kind, missed) = board.events(&id).next();
    assert_eq!(kind, "change", "{missed}");
    let (_, kind, _) = board.events("1-1").next();
    assert_eq!(kind, "snapshot", "the id of another process");
    drop(stopped);
}

#[test]
fn a_viewer_gets_at_most_four_messages_a_second() {
    let (_running, board) = sandbox();
    let mut events = board.events("");
    events.until_pods(18);
    let (is_over, requests) = (AtomicBool::new(false), AtomicUsize::new(0));
    let began = Instant::now();
    let times = thread::scope(|scope| {
        scope.spawn(|| {
            for verb in ["cordon", "uncordon"].iter().cycle() {
                if is_over.load(Ordering::Relaxed) || began.elapsed() > PATIENCE {
                    break;
                }
                assert_eq!(board.act(&json!({"verb": verb, "node": "n1"})).status, 200);
                requests.fetch_add(1, Ordering::Relaxed);
            }
        });
        // The board's own times, because a busy machine delays the reader.
        let time = |message: &Value| message["now"].as_f64().unwrap();
        let (_, first) = events.until("a change", |message| message["nodes"].is_array());
        let mut times = vec![time(&first)];
        while times.last().unwrap() - times[0] <= CHANGES_LAST.as_secs_f64() {
            times.push(time(&events.next().2));
        }
        is_over.store(true, Ordering::Relaxed);
        times
    });
    let (received, requests) = (times.len() - 1, requests.into_inner());
    assert!((6..=13).contains(&received), "{received} messages in {CHANGES_LAST:?}: {times:?}");
    assert!(requests > 4 * received, "{requests} requests are not continuous changes");
}
