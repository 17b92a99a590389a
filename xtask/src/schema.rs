//! Regenerates the sandbox's schema and standard roles from the Go types (xtask/cluster/schema, xtask/cluster/roles).

use crate::golden;
use anyhow::Result;

pub(crate) fn run() -> Result<()> {
    golden::keep(&["./schema"], "crates/sandbox/src/schema/kubernetes.txt")?;
    golden::keep(&["./roles"], "crates/sandbox/src/standard/roles.json")
}
