//! # Behaviour: what tests say about things heard
//! Room:     short words for what was heard.
//! Comes in: batches of the listener.
//! Goes out: lines to compare.
//! Not here: objects in detail: `decode`'s own tests compare those.

use taintward_client::listen::Heard;
use taintward_core::fact::PodFact;

/// What was heard, in words: `begin`, `+p1 listed`, `+p1`, `-p1`, `?p1`, `end`, `aborted`, `quiet`.
pub(crate) fn words(heard: &[Heard<PodFact>]) -> Vec<String> {
    heard.iter().map(word).collect()
}

fn word(heard: &Heard<PodFact>) -> String {
    match heard {
        Heard::SyncBegins { .. } => "begin".to_owned(),
        Heard::Seen { fact, listed: true } => format!("+{} listed", fact.name.name()),
        Heard::Seen { fact, listed: false } => format!("+{}", fact.name.name()),
        Heard::Gone { identity, .. } => format!("-{}", identity.name),
        Heard::Unreadable(unreadable) => {
            format!("?{}", unreadable.identity.as_ref().map_or("", |identity| identity.name.as_str()))
        }
        Heard::SyncEnds => "end".to_owned(),
        Heard::SyncAborted => "aborted".to_owned(),
        Heard::Quiet => "quiet".to_owned(),
    }
}
