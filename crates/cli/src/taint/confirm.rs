//! Shows the preview and prompts for confirmation before pods are evicted, if there is a terminal.

use super::TaintCommandError;
use super::taint_args::{DryRun, TaintOptions};
use std::io::{self, IsTerminal as _, Write as _};
use taintward_core::taint::{Taint, TaintEffect};
use taintward_core::taint_edit::TaintEdit;

/// A short preview: for each node, the NoExecute taints that it would get.
pub(crate) type Preview<'p> = &'p dyn Fn(&[(String, Vec<Taint>)]) -> String;

/// Shows the preview and prompts, if needed; fails if the user does not confirm.
pub(super) fn before(
    plan: &TaintOptions,
    change: &TaintEdit,
    names: &[String],
    preview: Preview<'_>,
) -> Result<(), TaintCommandError> {
    let evicting: Vec<Taint> =
        change.add.iter().filter(|taint| taint.effect == TaintEffect::NoExecute).cloned().collect();
    let watched = io::stdin().is_terminal() && io::stderr().is_terminal();
    if !watched || !plan.preview || plan.dry_run != DryRun::No || evicting.is_empty() || names.is_empty() {
        return Ok(());
    }
    let nodes: Vec<(String, Vec<Taint>)> =
        names.iter().map(|name| (name.clone(), evicting.clone())).collect();
    io::stderr().write_all(preview(&nodes).as_bytes())?;
    if !plan.prompt {
        return Ok(());
    }
    io::stderr().write_all(b"Continue? [y/N] ")?;
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    if is_yes(&line) { Ok(()) } else { Err(TaintCommandError::Declined) }
}

/// Only `y` or `yes` confirms.
fn is_yes(line: &str) -> bool {
    matches!(line.trim().to_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_y_or_yes_confirms() {
        for yes in ["y\n", "Y\r\n", " yes \n", "YES"] {
            assert!(is_yes(yes), "{yes:?}");
        }
        for no in ["", "\n", "n\n", "ye\n", "yy\n", "yes please\n"] {
            assert!(!is_yes(no), "{no:?}");
        }
    }
}
