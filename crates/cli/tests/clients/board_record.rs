//! Tests what a board shows of a record.

use crate::board::client::{board_of, board_with};
use crate::cli::running::{RunningSandbox, text};
use std::process::Command;

#[test]
fn a_record_tells_the_history_of_a_pod_that_is_gone() {
    let mut running = RunningSandbox::start(&["--plain", "--nodes", "3"]);
    running.until("/?token=");
    let record =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../record/regressions/a-taint-returns-within-a-second.record");
    let kubeconfig = running.kubeconfig();
    let (_board, board) = board_of(&["--kubeconfig", &kubeconfig, "--record", record]);
    let response = board.get("/explain?pod=a-1%2Fa-5");
    assert_eq!((response.status, response.header("failed")), (200, ""), "{}", response.body);
    let (explained, past) = response.body.split_once("\nHistory: taintward history pod/a-5 -n a-1 ").unwrap();
    assert!(
        explained.contains("a-5") && past.starts_with(&format!("--filename={record}\n")),
        "{}",
        response.body
    );
    for words in ["was bound to node a-4", "was deleted by Taintward", "is gone"] {
        assert!(past.contains(words), "{past}");
    }
    let unknown = board.get("/explain?node=n2").body;
    assert!(unknown.contains("node/n2   does not exist"), "{unknown}");

    let (_plain, plain) = board_with(&kubeconfig);
    assert!(!plain.get("/explain?node=n1").body.contains("History"), "no record, no history");
    let mut missing = Command::new(env!("CARGO_BIN_EXE_taintward"));
    let missing =
        missing.args(["board", "--kubeconfig", &kubeconfig, "--record", "/missing"]).output().unwrap();
    let complaint = text(&missing.stderr);
    assert!(missing.status.code() == Some(1) && complaint.contains("/missing"), "{complaint}");
}
