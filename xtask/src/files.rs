//! Finds the files of a folder by their extension.

use anyhow::{Context as _, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// The files below `folder` that have one of `extensions`, sorted, without the files that Cargo built and hidden folders.
pub fn files_below(folder: &Path, extensions: &[&str]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_dir() {
                if name != "target" && !name.starts_with('.') {
                    folders.push(path);
                }
            } else if extensions.iter().any(|wanted| path.extension().is_some_and(|found| found == *wanted)) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
