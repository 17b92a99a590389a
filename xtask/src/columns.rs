//! # Columns: rows of tables, from the API server's own printers
//! Room:     runs xtask/cluster/columns and keeps what it prints.
//! Comes in: a Go toolchain, the pinned modules; the sample objects.
//! Goes out: crates/sandbox/tests/golden/columns.txt.
//! Not here: the samples (crates/sandbox/tests/golden/columns), the test that reads the answers (crates/sandbox/tests).

use crate::golden;
use anyhow::Result;

pub(crate) fn run() -> Result<()> {
    golden::keep(&["./columns"], "crates/sandbox/tests/golden/columns.txt")
}
