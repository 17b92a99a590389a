//! Tests the tables and deadlines of node lifecycle.

mod observation;
mod silence;
mod tables;

use super::fact::ConditionKind;

#[test]
fn conditions_have_the_names_of_the_api() {
    let names = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"];
    assert_eq!(ConditionKind::ALL.map(ConditionKind::as_str), names);
    assert_eq!(names.map(ConditionKind::new), ConditionKind::ALL.map(Some));
    assert_eq!(ConditionKind::new("KernelDeadlock"), None);
}
