//! Formats paragraphs that several parts of a plan have.

use crate::messages::{bullet, paragraph};
use crate::output::PrintOptions;

/// The largest number of reasons for staying shown for each node; the others are counted together.
pub(crate) const STAYS_MAX: usize = 5;

/// `now`, `at 14:08:11, in 5m`.
pub(crate) fn at(moment: &str) -> String {
    if moment == "now" { moment.to_owned() } else { format!("at {moment}") }
}

/// Adds a sentence in a paragraph of its own.
pub(crate) fn remark(text: &mut String, sentence: &str, view: &PrintOptions) {
    text.push('\n');
    paragraph(text, sentence, view);
}

/// Adds reasons with their numbers of pods, the first `most` of them each.
pub(crate) fn reasons(
    text: &mut String,
    title: &str,
    all: &[(&str, usize)],
    most: usize,
    view: &PrintOptions,
) {
    if all.is_empty() {
        return;
    }
    *text += &format!("\n{title}:\n");
    for (why, count) in all.iter().take(most) {
        bullet(text, &format!("{count}: {why}"), view.paper.measure());
    }
    let rest: usize = all.iter().skip(most).map(|(_, count)| count).sum();
    if rest > 0 {
        bullet(text, &format!("{rest} more, for other reasons"), view.paper.measure());
    }
}
