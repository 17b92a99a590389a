//! # Schema: the fields of the API, from the Go types; the roles of every cluster
//! Room:     runs xtask/cluster/schema and xtask/cluster/roles and keeps what they print.
//! Comes in: a Go toolchain, the pinned modules.
//! Goes out: kubernetes.txt (schema) and roles.json (bootstrap) in crates/fakekube/src.
//! Not here: what is told (main.go), what is made of it (crates/fakekube).

use crate::golden;
use anyhow::Result;

pub(crate) fn run() -> Result<()> {
    golden::keep(&["./schema"], "crates/fakekube/src/schema/kubernetes.txt")?;
    golden::keep(&["./roles"], "crates/fakekube/src/bootstrap/roles.json")
}
