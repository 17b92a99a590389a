//! Compares docs/security-checklist.md with the results; `EXAMPLES=overwrite` writes it.

use super::items::ITEMS;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

const HEAD: &str = "| # | what holds | against | result | command |\n|--:|---|---|---|---|\n";

/// The result of each item, by its number.
pub(crate) type ChecklistResults = BTreeMap<usize, String>;

fn path() -> PathBuf {
    super::elsewhere::file("docs/security-checklist.md")
}

/// The table of the items that ran.
pub(crate) fn table(results: &ChecklistResults) -> String {
    let row = |(number, result): (&usize, &String)| {
        let item = &ITEMS[number - 1];
        let (result, command) = (result.replace('|', "\\|"), item.command(*number));
        format!("| {number} | {} | {} | {result} | `{command}` |\n", item.holds, item.against)
    };
    let rows: String = results.iter().map(row).collect();
    format!("{HEAD}{rows}")
}

/// Whether the page shows this table; with `EXAMPLES=overwrite`, writes it first.
pub(crate) fn shows(table: &str) -> bool {
    let page = fs::read_to_string(path()).unwrap();
    let (before, shown) = page.split_once(HEAD).unwrap();
    let end: usize = shown.split_inclusive('\n').take_while(|line| line.starts_with('|')).map(str::len).sum();
    let (shown, after) = shown.split_at(end);
    if table.strip_prefix(HEAD) == Some(shown) {
        return true;
    }
    if std::env::var("EXAMPLES").as_deref() != Ok("overwrite") {
        return false;
    }
    fs::write(path(), format!("{before}{table}{after}")).unwrap();
    true
}
