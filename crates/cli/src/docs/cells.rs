//! Formats flags as cells of Markdown tables.

use clap::Arg;
use std::fmt::Write as _;

/// `--flag`, and its other spellings; of an argument without a flag its place.
pub(super) fn names(arg: &Arg) -> String {
    let short = arg.get_short().map(|short| format!("`-{short}`"));
    let long = arg.get_long().map(|long| format!("`--{long}`"));
    let aliases =
        arg.get_visible_aliases().unwrap_or_default().into_iter().map(|alias| format!("`--{alias}`"));
    let names: Vec<String> = short.into_iter().chain(long).chain(aliases).collect();
    match (names.is_empty(), arg.get_value_names()) {
        (true, Some(places)) => places.iter().map(|place| format!("`{place}`")).collect::<Vec<_>>().join(" "),
        _ => names.join(", "),
    }
}

pub(super) fn default(arg: &Arg) -> String {
    let values = arg.get_default_values().iter().map(|value| format!("`{}`", value.to_string_lossy()));
    // A flag is off unless it is given.
    if arg.get_action().takes_values() { values.collect::<Vec<_>>().join(", ") } else { String::new() }
}

pub(super) fn meaning(arg: &Arg) -> String {
    let meaning = cell(&arg.get_help().map(ToString::to_string).unwrap_or_default());
    let values: Vec<String> = arg
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set() && arg.get_action().takes_values())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if values.is_empty() { meaning } else { format!("{meaning}: {}", values.join(", ")) }
}

pub(super) fn line(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{arguments}");
}

/// Text that stays in its cell.
pub(super) fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ").trim_end_matches('.').to_owned()
}
