//! Writes the golden rows of tables, as the API server's own printers print them: `crates/fakekube/tests/golden/columns.txt`.
//!
//! - It needs a Go toolchain, and runs `xtask/cluster/columns` on the sample objects in `crates/fakekube/tests/golden/columns`.

use crate::golden;
use anyhow::Result;

pub(crate) fn run() -> Result<()> {
    golden::keep(&["./columns"], "crates/fakekube/tests/golden/columns.txt")
}
