//! # Columns: rows of tables, from the API server's own printers
//! Room:     runs xtask/cluster/columns and keeps what it prints.
//! Comes in: a Go toolchain, the pinned modules; the sample objects.
//! Goes out: crates/fakekube/tests/golden/columns.txt.
//! Not here: the samples (crates/fakekube/tests/golden/columns), the test that reads the answers (crates/fakekube/tests).

use crate::golden;
use anyhow::Result;

pub(crate) fn run() -> Result<()> {
    golden::keep(&["./columns"], "crates/fakekube/tests/golden/columns.txt")
}
