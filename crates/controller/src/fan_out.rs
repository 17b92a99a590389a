//! Distributes the events of one watch to its subscribers, to each in its own form.
//!
//! - Invariant: nothing is dropped, so the slowest subscriber sets the rate.

use crate::watch_queues::WatchReceiver;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use prometheus_client::metrics::counter::Counter;
use taintward_core::object_event::ObjectEvent;
use tokio::sync::{mpsc, watch};

/// The form of an object for one controller, which may see the object as deleted or undecodable; and whether it is listed.
pub(crate) type EventForm<S, F> = fn(&S, bool) -> ObjectEvent<F>;

/// The subscribers of a watch.
pub(crate) struct FanOut<S> {
    subscribers: Vec<Box<dyn Subscriber<S>>>,
    /// Objects whose form for one subscriber cannot be decoded (D11); the watcher counts those that it cannot decode.
    undecodable: Counter,
}

impl<S: Sync + 'static> FanOut<S> {
    /// No subscribers.
    pub(crate) fn new(undecodable: Counter) -> Self {
        Self { subscribers: Vec::new(), undecodable }
    }

    /// Adds a subscriber.
    pub(crate) fn subscribe<F: Send + 'static>(&mut self, form: EventForm<S, F>) -> WatchReceiver<F> {
        self.add(form, None)
    }

    /// Adds a subscriber that receives events while they are demanded, from the start of a list on.
    pub(crate) fn subscribe_while<F: Send + 'static>(
        &mut self,
        demanded: watch::Receiver<bool>,
        form: EventForm<S, F>,
    ) -> WatchReceiver<F> {
        self.add(form, Some(Demand { on: demanded, is_open: false }))
    }

    fn add<F: Send + 'static>(&mut self, form: EventForm<S, F>, demand: Option<Demand>) -> WatchReceiver<F> {
        let (queue, receiver) = mpsc::channel(1);
        let undecodable = self.undecodable.clone();
        self.subscribers.push(Box::new(Subscription { queue, form, demand, undecodable }));
        receiver
    }

    pub(crate) fn has_subscribers(&self) -> bool {
        !self.subscribers.is_empty()
    }

    /// Sends every batch to the subscribers until the watch has ended or no subscriber is left.
    pub(crate) async fn run(mut self, mut from: WatchReceiver<S>) {
        while self.has_subscribers()
            && let Some(batch) = from.recv().await
        {
            let mut remaining = Vec::with_capacity(self.subscribers.len());
            for mut subscriber in self.subscribers {
                if subscriber.deliver(&batch).await {
                    remaining.push(subscriber);
                }
            }
            self.subscribers = remaining;
        }
    }
}

/// A subscriber, whatever its form.
trait Subscriber<S>: Send {
    /// Sends a batch in the subscriber's form; false once the subscriber has ended.
    fn deliver<'b>(&'b mut self, batch: &'b [ObjectEvent<S>]) -> BoxFuture<'b, bool>;
}

struct Subscription<S, F> {
    queue: mpsc::Sender<Vec<ObjectEvent<F>>>,
    form: EventForm<S, F>,
    /// `None`: it receives everything.
    demand: Option<Demand>,
    undecodable: Counter,
}

struct Demand {
    on: watch::Receiver<bool>,
    /// A list has started since events are demanded.
    is_open: bool,
}

impl Demand {
    fn admits<S>(&mut self, event: &ObjectEvent<S>) -> bool {
        let on = *self.on.borrow();
        self.is_open = on && (self.is_open || matches!(event, ObjectEvent::ListStarted { .. }));
        self.is_open
    }
}

impl<S, F> Subscription<S, F> {
    fn form(&self, event: &ObjectEvent<S>) -> ObjectEvent<F> {
        match event.as_object() {
            Ok((object, listed)) => {
                let event = (self.form)(object, listed);
                if matches!(event, ObjectEvent::Undecodable(_)) {
                    self.undecodable.inc();
                }
                event
            }
            Err(event) => event,
        }
    }
}

impl<S: Sync, F: Send> Subscriber<S> for Subscription<S, F> {
    fn deliver<'b>(&'b mut self, batch: &'b [ObjectEvent<S>]) -> BoxFuture<'b, bool> {
        let mut events = Vec::with_capacity(batch.len());
        for event in batch {
            if self.demand.as_mut().is_none_or(|demand| demand.admits(event)) {
                events.push(self.form(event));
            }
        }
        async move {
            match events.is_empty() {
                true => !self.queue.is_closed(),
                false => self.queue.send(events).await.is_ok(),
            }
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests;
