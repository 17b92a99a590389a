//! Regenerates crates/sandbox/tests/golden/columns.txt with the API server's own table printers
//! (xtask/cluster/columns).

use crate::golden;
use anyhow::Result;

pub(crate) fn run() -> Result<()> {
    golden::keep(&["./columns"], "crates/sandbox/tests/golden/columns.txt")
}
