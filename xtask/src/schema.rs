//! Writes the fields of the API from the Go types, and the roles of every cluster, for `fakekube`.
//!
//! - It needs a Go toolchain, and runs `xtask/cluster/schema` and `xtask/cluster/roles`.
//! - It writes `kubernetes.txt` (schema) and `roles.json` (bootstrap) in `crates/fakekube/src`.

use crate::golden;
use anyhow::Result;

pub(crate) fn run() -> Result<()> {
    golden::keep(&["./schema"], "crates/fakekube/src/schema/kubernetes.txt")?;
    golden::keep(&["./roles"], "crates/fakekube/src/bootstrap/roles.json")
}
