//! Formats the events of a watch as short lines to compare.

use taintward_core::fact::PodFact;
use taintward_core::object_event::ObjectEvent;

/// The events as words: `begin`, `+p1 listed`, `+p1`, `-p1`, `?p1`, `end`, `aborted`.
pub(crate) fn words(received: &[ObjectEvent<PodFact>]) -> Vec<String> {
    received.iter().map(word).collect()
}

fn word(received: &ObjectEvent<PodFact>) -> String {
    match received {
        ObjectEvent::ListStarted { .. } => "begin".to_owned(),
        ObjectEvent::Applied { fact, listed: true } => format!("+{} listed", fact.id.name().name()),
        ObjectEvent::Applied { fact, listed: false } => format!("+{}", fact.id.name().name()),
        ObjectEvent::Deleted(object) => format!("-{}", object.name),
        ObjectEvent::Undecodable(object) => format!("?{}", object.name),
        ObjectEvent::ListCompleted => "end".to_owned(),
        ObjectEvent::ListAborted => "aborted".to_owned(),
    }
}
