//! Sends watch events in batches through a bounded channel, and warns once about each undecodable object.
//!
//! - Nothing is dropped: a full channel pauses the watch.

use super::watch_event::WatchEvent;
use crate::decode::{ObjectIdentity, UndecodableObject, WatchedObject};
use crate::error_text::sanitize;
use std::collections::HashSet;
use tokio::sync::mpsc;

/// So many unreadable objects are named in the log; further ones are only counted.
const NAMED_MOST: usize = 1024;

/// The consumer is gone.
#[derive(Debug)]
pub(super) struct ReceiverDropped;

pub(super) struct Batcher<F> {
    out: mpsc::Sender<Vec<WatchEvent<F>>>,
    limit: usize,
    batch: Vec<WatchEvent<F>>,
    named: HashSet<String>,
}

impl<F: WatchedObject> Batcher<F> {
    pub(super) fn new(out: mpsc::Sender<Vec<WatchEvent<F>>>, limit: usize) -> Self {
        Self { out, limit: limit.max(1), batch: Vec::new(), named: HashSet::new() }
    }

    pub(super) fn put(&mut self, heard: WatchEvent<F>) {
        if let WatchEvent::Undecodable(unreadable) = &heard {
            self.name(unreadable);
        }
        self.batch.push(heard);
    }

    /// Whether there is a whole batch to hand over.
    pub(super) fn is_full(&self) -> bool {
        self.batch.len() >= self.limit
    }

    /// Hands everything over, waiting while the consumer is busy.
    pub(super) async fn flush(&mut self) -> Result<(), ReceiverDropped> {
        while !self.batch.is_empty() {
            let rest = self.batch.split_off(self.limit.min(self.batch.len()));
            let batch = std::mem::replace(&mut self.batch, rest);
            self.out.send(batch).await.map_err(|_| ReceiverDropped)?;
        }
        Ok(())
    }

    fn name(&mut self, unreadable: &UndecodableObject) {
        let object = unreadable.identity.as_ref().map_or_else(|| "an unknown object".to_owned(), written);
        if self.named.len() >= NAMED_MOST || !self.named.insert(object.clone()) {
            return;
        }
        tracing::warn!(
            resource = F::RESOURCE,
            object,
            why = unreadable.why,
            "an object can't be read: it is left alone and the others go on; its next readable version counts again"
        );
        if self.named.len() == NAMED_MOST {
            tracing::warn!(resource = F::RESOURCE, "further unreadable objects are counted, not named");
        }
    }
}

fn written(identity: &ObjectIdentity) -> String {
    let uid = identity.uid.as_ref().map_or_else(|| "unknown".to_owned(), ToString::to_string);
    let slash = if identity.namespace.is_empty() { "" } else { "/" };
    sanitize(&format!("{}{slash}{} (uid {uid})", identity.namespace, identity.name), 400)
}
