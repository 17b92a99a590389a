//! # Schema: the fields of the API, from the Go types
//! Room:     runs xtask/cluster/schema and keeps what it prints.
//! Comes in: a Go toolchain, the pinned modules.
//! Goes out: crates/sandbox/src/schema/kubernetes.txt and crates/sandbox/src/normal/gonames.txt.
//! Not here: what is told (main.go), what is made of it (crates/sandbox).

use crate::golden;
use anyhow::Result;

pub(crate) fn run() -> Result<()> {
    golden::keep(&["./schema"], "crates/sandbox/src/schema/kubernetes.txt")?;
    golden::keep(&["./schema", "names"], "crates/sandbox/src/normal/gonames.txt")
}
