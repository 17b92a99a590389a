//! Builds the book of `docs/SUMMARY.md` with mdBook, and checks every link of the built pages.
//!
//! - In `target/book-src` each page has the path that it has in the repository, so that its links are valid without changes,
//!   including those to pages and files outside of `docs`. `xtask/tests/repository/book.rs` tests what does not need mdBook.

mod built_links;

use crate::cargo_tool::{MDBOOK, MERMAID};
use crate::markdown::{links, pages};
use anyhow::{Context as _, Result, bail};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The page that lists the pages of the book, from the root of the repository.
pub const SUMMARY: &str = "docs/SUMMARY.md";

/// Builds `target/book` below `root`; fails if mdBook warns, or if a link of the book is broken.
pub fn run(root: &Path) -> Result<()> {
    let (mdbook, mermaid) = (MDBOOK.find_or_build()?, MERMAID.find_or_build()?);
    let (source, book) = (root.join("target/book-src"), root.join("target/book"));
    for folder in [&source, &book] {
        if folder.exists() {
            fs::remove_dir_all(folder).with_context(|| format!("removing {}", folder.display()))?;
        }
    }
    stage(root, &source)?;
    write_scripts(root, &mermaid)?;
    let mut build = Command::new(mdbook);
    build.arg("build").current_dir(root).env("MDBOOK_PREPROCESSOR__MERMAID__COMMAND", &mermaid);
    let done = build.output().context("starting mdbook")?;
    let output = String::from_utf8_lossy(&done.stderr).into_owned() + &String::from_utf8_lossy(&done.stdout);
    if !done.status.success() || ["WARN", "ERROR"].iter().any(|word| output.contains(word)) {
        bail!("mdbook warns:\n{output}");
    }
    let wrong = built_links::wrong(&book)?;
    if !wrong.is_empty() {
        bail!("broken links in the book:\n{}", wrong.join("\n"));
    }
    println!("the book: {}", book.join("index.html").display());
    Ok(())
}

/// Writes the scripts that draw diagrams in the reader's browser, without a network, where book.toml names them.
fn write_scripts(root: &Path, mermaid: &Path) -> Result<()> {
    let folder = root.join("target/book-scripts");
    // It adds them to the book.toml next to them.
    write(&folder.join("book.toml"), "")?;
    let done = Command::new(mermaid).args(["install", "."]).current_dir(&folder).output();
    let done = done.context("starting mdbook-mermaid")?;
    match done.status.success() {
        true => Ok(()),
        false => bail!("mdbook-mermaid install failed:\n{}", String::from_utf8_lossy(&done.stderr)),
    }
}

/// The pages of the book, by their paths from the root of the repository.
pub fn chapters(root: &Path) -> Result<Vec<PathBuf>> {
    let text = fs::read_to_string(root.join(SUMMARY)).with_context(|| format!("reading {SUMMARY}"))?;
    Ok(links(Path::new(SUMMARY), &text).into_iter().map(|link| link.file).collect())
}

/// Copies the pages of the book, and the files that they link to, into `source`.
fn stage(root: &Path, source: &Path) -> Result<()> {
    let chapters = chapters(root)?;
    let mut files = BTreeSet::new();
    for page in &chapters {
        let text =
            fs::read_to_string(root.join(page)).with_context(|| format!("reading {}", page.display()))?;
        for link in links(page, &text).into_iter().filter(|link| !is_page(&link.file)) {
            files.insert(link.file);
        }
        write(&source.join(staged_path(page)), &staged(&text))?;
    }
    for file in files.iter().filter(|file| root.join(file).is_file()) {
        let to = source.join(file);
        fs::create_dir_all(to.parent().context("a file is in a folder")?)?;
        fs::copy(root.join(file), to).with_context(|| format!("copying {}", file.display()))?;
    }
    let summary = fs::read_to_string(root.join(SUMMARY))?;
    // mdBook needs it at the root of all pages; `docs/SUMMARY.md` is one folder below.
    let summary = summary.replace("](", "](docs/").replace("](docs/../", "](");
    write(&source.join("SUMMARY.md"), &staged(&summary))
}

/// The link to the list of all pages, in the pages and in mdBook.
const CONTENTS: [&str; 2] = ["](docs/SUMMARY.md)", "](toc.html)"];

fn is_page(file: &Path) -> bool {
    file.extension().is_some_and(|end| end == "md")
}

/// A README is the page of its folder, for which browsers load `index`.
fn staged_path(page: &Path) -> PathBuf {
    if page.ends_with("README.md") { page.with_file_name("index.md") } else { page.to_owned() }
}

fn staged(text: &str) -> String {
    let text = text.replace(CONTENTS[0], CONTENTS[1]);
    ["](", "/"].iter().fold(text, |text, before| {
        [")", "#"].iter().fold(text, |text, after| {
            text.replace(&format!("{before}README.md{after}"), &format!("{before}index.md{after}"))
        })
    })
}

fn write(file: &Path, text: &str) -> Result<()> {
    fs::create_dir_all(file.parent().context("a file is in a folder")?)?;
    fs::write(file, text).with_context(|| format!("writing {}", file.display()))
}

/// The pages of `docs`, except the summary itself.
pub fn pages_of_docs(root: &Path) -> Result<Vec<PathBuf>> {
    Ok(pages(root, Path::new("docs"))?.into_iter().filter(|page| !page.ends_with("SUMMARY.md")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_readme_becomes_the_index_of_its_folder_and_nothing_else_does() {
        let text = "[a](README.md) [b](../cli/README.md#x) [c](MYREADME.md) `README.md`";
        assert_eq!(staged(text), "[a](index.md) [b](../cli/index.md#x) [c](MYREADME.md) `README.md`");
        assert_eq!(staged_path(Path::new("docs/cli/README.md")), Path::new("docs/cli/index.md"));
        assert_eq!(staged_path(Path::new("docs/cli/run.md")), Path::new("docs/cli/run.md"));
    }
}
