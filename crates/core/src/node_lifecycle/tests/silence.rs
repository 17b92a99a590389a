//! Tests when time alone makes a node overdue, and then silent.

use crate::node_lifecycle::{SilenceDeadline, TICK};
use crate::time::{Mono, Span};

/// NL-12, NL-47: a wakeup is the first moment at which the node is overdue, or silent.
#[test]
fn a_node_is_overdue_and_silent_from_its_wakeups_on() {
    let (until, overdue_max) = (Mono::from_secs(100), Span::from_secs(10));
    let deadline = SilenceDeadline(Some(until));
    let overdue = deadline.wakeup(overdue_max, Mono::from_secs(50)).expect("it becomes overdue");
    assert!(deadline.is_overdue(overdue_max, overdue));
    assert!(!deadline.is_overdue(overdue_max, overdue.minus(TICK)));
    let silent = deadline.wakeup(overdue_max, overdue).expect("it becomes silent");
    assert_eq!(deadline.silent_since(silent), Some(until));
    assert_eq!(deadline.silent_since(silent.minus(TICK)), None);
    assert_eq!(deadline.wakeup(overdue_max, silent), None);
}
