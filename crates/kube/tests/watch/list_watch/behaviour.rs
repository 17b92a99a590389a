//! Formats watch events as short lines to compare.

use taintward_core::fact::PodFact;
use taintward_kube::watch::WatchEvent;

/// The events as words: `begin`, `+p1 listed`, `+p1`, `-p1`, `?p1`, `end`, `aborted`, `sanitized`.
pub(crate) fn words(received: &[WatchEvent<PodFact>]) -> Vec<String> {
    received.iter().map(word).collect()
}

fn word(received: &WatchEvent<PodFact>) -> String {
    match received {
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
