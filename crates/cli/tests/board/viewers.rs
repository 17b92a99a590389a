//! Tests many viewers of a board, one of which reads nothing.

use super::client::{Events, has_counting, sandbox};
use serde_json::{Value, json};

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
