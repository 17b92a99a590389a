//! Shows the preview and prompts for confirmation before pods are evicted, if there is a terminal.

use super::TaintCommandError;
use super::taint_args::{DryRun, TaintOptions};
use crate::confirm;
use std::io::{self, Write as _};
use taintward_core::taint::{Taint, TaintEffect};
use taintward_core::taint_edit::TaintEdit;

/// A short preview: for each node, the NoExecute taints that it would get.
pub(crate) type Preview<'p> = &'p dyn Fn(&[(String, Vec<Taint>)]) -> String;

/// Shows the preview and prompts, if needed; fails if the user does not confirm.
pub(super) fn before(
    options: &TaintOptions,
    change: &TaintEdit,
    names: &[String],
    preview: Preview<'_>,
) -> Result<(), TaintCommandError> {
    let evicting: Vec<Taint> =
        change.add.iter().filter(|taint| taint.effect == TaintEffect::NoExecute).cloned().collect();
    if !confirm::is_possible()
        || !options.preview
        || options.dry_run != DryRun::No
        || evicting.is_empty()
        || names.is_empty()
    {
        return Ok(());
    }
    let nodes: Vec<(String, Vec<Taint>)> =
        names.iter().map(|name| (name.clone(), evicting.clone())).collect();
    io::stderr().write_all(preview(&nodes).as_bytes())?;
    if !options.prompt {
        return Ok(());
    }
    if confirm::ask()? { Ok(()) } else { Err(TaintCommandError::Declined) }
}
