//! Counts the test programs of the workspace: cargo links each of them.

use super::measure::Measure;
use crate::files::files_below;
use anyhow::Result;
use std::path::Path;

/// The programs in `crates/*/tests` and `xtask/tests` of the checkout in `root`.
pub(crate) fn measure(root: &Path) -> Result<Measure> {
    let mut programs = Vec::new();
    for file in files_below(root, &["rs"])? {
        programs.extend(program(&file.strip_prefix(root)?.to_string_lossy()));
    }
    programs.sort();
    Ok(Measure::count("test programs", 25.0, programs))
}

/// The program whose first file this is: a file in the folder of the tests, or the `main.rs` of a folder there.
fn program(path: &str) -> Option<String> {
    let parts: Vec<&str> = path.split('/').collect();
    match parts[..] {
        ["crates", package, "tests", file] => Some(format!("{package}: {}", file.trim_end_matches(".rs"))),
        ["crates", package, "tests", folder, "main.rs"] => Some(format!("{package}: {folder}")),
        ["xtask", "tests", file] => Some(format!("xtask: {}", file.trim_end_matches(".rs"))),
        ["xtask", "tests", folder, "main.rs"] => Some(format!("xtask: {folder}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::program;

    #[test]
    fn parts_of_a_program_are_not_counted() {
        assert_eq!(program("crates/core/tests/budgets.rs").as_deref(), Some("core: budgets"));
        assert_eq!(program("crates/core/tests/engines/main.rs").as_deref(), Some("core: engines"));
        assert_eq!(program("xtask/tests/repository/main.rs").as_deref(), Some("xtask: repository"));
        for part in [
            "crates/core/tests/common/mod.rs",
            "crates/core/tests/engines/fleet.rs",
            "crates/core/src/tests.rs",
        ] {
            assert_eq!(program(part), None, "{part}");
        }
    }
}
