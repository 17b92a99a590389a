//! Formats tolerations, names and lists of user input for messages: one line, bounded length, no harmful characters.

use crate::text::Quoted;
use crate::toleration::{Toleration, TolerationOperator};
use alloc::format;
use alloc::string::{String, ToString};

/// At most this many names of a list are shown.
const SHOWN_MAX: usize = 3;

/// Returns harmless text unchanged; otherwise escapes its unusual characters and truncates it.
pub(super) fn text_of(text: &str) -> String {
    let quoted = Quoted(text).to_string();
    quoted[1..quoted.len() - 1].to_string()
}

/// Formats a toleration for people: `key=value:Effect`, `key:Effect`, `every taint`; then the seconds.
pub(super) fn toleration_of(toleration: &Toleration) -> String {
    let (key, value) = (text_of(&toleration.key), text_of(&toleration.value));
    let effect = toleration.effect.as_ref().map_or(String::new(), |effect| text_of(effect.as_str()));
    let colon = if effect.is_empty() { "" } else { ":" };
    let seconds = toleration.seconds.map_or(String::new(), |seconds| format!(" for {seconds} s"));
    match &toleration.operator {
        TolerationOperator::Exists if key.is_empty() && effect.is_empty() => format!("every taint{seconds}"),
        TolerationOperator::Exists if key.is_empty() => format!("every {effect} taint{seconds}"),
        TolerationOperator::Exists => format!("{key}{colon}{effect}{seconds}"),
        TolerationOperator::Unset | TolerationOperator::Equal if value.is_empty() => {
            format!("{key}{colon}{effect}{seconds}")
        }
        TolerationOperator::Unset | TolerationOperator::Equal => {
            format!("{key}={value}{colon}{effect}{seconds}")
        }
        other => format!("{key} {} {value}{colon}{effect}{seconds}", text_of(other.as_str())),
    }
}

/// `a, b, c and 4 more`.
pub(super) fn few<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let mut shown = String::new();
    let mut more = 0;
    for (at, name) in names.into_iter().enumerate() {
        if at >= SHOWN_MAX {
            more += 1;
            continue;
        }
        if at > 0 {
            shown += ", ";
        }
        shown += &text_of(name);
    }
    if more > 0 {
        shown += &format!(" and {more} more");
    }
    shown
}
