//! Formats watch events as short lines to compare.

use taintward_core::fact::PodFact;
use taintward_kube::watch::WatchEvent;

/// The events as words: `begin`, `+p1 listed`, `+p1`, `-p1`, `?p1`, `end`, `aborted`, `quiet`.
pub(crate) fn words(heard: &[WatchEvent<PodFact>]) -> Vec<String> {
    heard.iter().map(word).collect()
}

fn word(heard: &WatchEvent<PodFact>) -> String {
    match heard {
        WatchEvent::ListStarted { .. } => "begin".to_owned(),
        WatchEvent::Applied { fact, listed: true } => format!("+{} listed", fact.id.name().name()),
        WatchEvent::Applied { fact, listed: false } => format!("+{}", fact.id.name().name()),
        WatchEvent::Deleted { identity, .. } => format!("-{}", identity.name),
        WatchEvent::Undecodable(unreadable) => {
            format!("?{}", unreadable.identity.as_ref().map_or("", |identity| identity.name.as_str()))
        }
        WatchEvent::ListCompleted => "end".to_owned(),
        WatchEvent::ListAborted => "aborted".to_owned(),
        WatchEvent::Bookmark => "quiet".to_owned(),
    }
}
