//! Tests that no measure of the sources gets worse than recorded.

use std::path::Path;
use xtask::measures::MeasuresReport;

#[test]
fn no_measure_grows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let report = MeasuresReport::of(root).unwrap();
    report.improvements().iter().for_each(|improvement| println!("{improvement}"));
    let regressions = report.regressions();
    assert!(regressions.is_empty(), "see `cargo xtask measures --list`:\n{}", regressions.join("\n"));
}
