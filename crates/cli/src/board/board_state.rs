//! Shares the model between its feed and the viewers, with the last messages for those that reconnect.
//!
//! - Invariant: the board stores nothing for a viewer. A slow one gets the later messages or, if older ones are gone, the
//!   whole state.
//! - The board sends the whole state in parts: a viewer works on one while the board makes the next. Only the last part has an
//!   id, so a viewer that loses its connection in between gets the whole state again. A later part may be newer than the first
//!   one; the messages after the first part follow the last part, and bring all parts to the same state.

use super::cluster_model::{ClusterModel, ModelChange, SnapshotFrame, SnapshotPart, json};
use super::views::{Heading, seconds};
use hyper::body::Bytes;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use taintward_core::identity::NodeName;
use taintward_core::time::Now;
use tokio::sync::watch;

/// The maximum number of bytes of stored messages; the last one is stored at any size.
const KEPT_BYTES_MAX: usize = 4 << 20;

/// The approximate number of pods in one part of the whole state, and the maximum in a message.
pub(super) const PART_PODS: usize = 10_000;

/// The position of a viewer: `EPOCH-NUMBER` as text. Numbers of another process are invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EventId {
    epoch: i64,
    number: u64,
}

impl EventId {
    /// Reads a `Last-Event-ID`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (epoch, number) = text.split_once('-')?;
        Some(Self { epoch: epoch.parse().ok()?, number: number.parse().ok()? })
    }
}

/// The model and its messages.
pub(crate) struct BoardState {
    shared: Mutex<SharedState>,
    latest: watch::Sender<u64>,
    epoch: i64,
    cluster: String,
    /// The token for the buttons of a sandbox.
    token: Option<String>,
}

struct SharedState {
    model: ClusterModel,
    /// Messages with their numbers, the oldest first.
    messages: VecDeque<(u64, Bytes)>,
    bytes: usize,
    number: u64,
    heading: CurrentHeading,
}

#[derive(Clone, Debug, PartialEq)]
struct CurrentHeading {
    now: f64,
    speed: f64,
    problem: Option<String>,
}

impl CurrentHeading {
    fn view(&self) -> Heading<'_> {
        Heading { now: self.now, speed: self.speed, problem: self.problem.as_deref() }
    }
}

impl BoardState {
    pub(crate) fn new(cluster: String, token: Option<String>, now: Now) -> Self {
        let heading = CurrentHeading { now: seconds(now.wall), speed: 1.0, problem: None };
        let shared = SharedState {
            model: ClusterModel::new(PART_PODS),
            messages: VecDeque::new(),
            bytes: 0,
            number: 0,
            heading,
        };
        let (latest, _) = watch::channel(0);
        Self { shared: Mutex::new(shared), latest, epoch: now.wall.as_micros(), cluster, token }
    }

    fn lock(&self) -> MutexGuard<'_, SharedState> {
        // A panic ends the process.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the model.
    pub(crate) fn update(&self, change: impl FnOnce(&mut ClusterModel)) {
        change(&mut self.lock().model);
    }

    /// Whether nodes and pods were listed once.
    pub(crate) fn is_synced(&self) -> bool {
        self.lock().model.is_synced()
    }

    /// Whether a pod is due or held, and the number of pods.
    pub(crate) fn due_or_held(&self, now: Now) -> (bool, usize) {
        self.lock().model.due_or_held(now)
    }

    /// Creates a message from the changes, and wakes the viewers.
    pub(crate) fn publish(&self, now: Now, speed: f64, problem: Option<String>) {
        let mut shared = self.lock();
        let SharedState { model, messages, bytes, number, heading } = &mut *shared;
        let current = CurrentHeading { now: seconds(now.wall), speed, problem };
        let is_new = (&current.problem, current.speed) != (&heading.problem, heading.speed);
        *heading = current;
        match model.change(now, heading.view(), is_new) {
            ModelChange::Nothing => return,
            ModelChange::Message(json) => {
                *number += 1;
                let message = self.message("change", *number, &json);
                *bytes += message.len();
                messages.push_back((*number, message));
                while *bytes > KEPT_BYTES_MAX && messages.len() > 1 {
                    *bytes -= messages.pop_front().map_or(0, |(_, oldest)| oldest.len());
                }
            }
            // No message has this number, and no viewer needs the messages before it.
            ModelChange::WholeState => {
                *number += 1;
                messages.clear();
                *bytes = 0;
            }
        }
        self.latest.send_replace(*number);
    }

    fn message(&self, event: &str, number: u64, json: &str) -> Bytes {
        format!("id: {}-{number}\nevent: {event}\ndata: {json}\n\n", self.epoch).into()
    }

    /// A viewer that has seen everything up to `last`.
    pub(crate) fn viewer(&self, last: Option<EventId>) -> Viewer {
        let known = last.filter(|last| last.epoch == self.epoch);
        let at = known.map_or(Position::Unknown, |last| Position::After(last.number));
        Viewer { at, latest: self.latest.subscribe(), is_greeted: false }
    }

    /// The next message, or the next part of the whole state, and the position after it; `None`: nothing is new.
    fn next(&self, at: &Position, now: Now) -> Option<(Position, Bytes)> {
        let mut shared = self.lock();
        let number = shared.number;
        match at {
            Position::Parts { number, node } => {
                return Some(self.part(*number, shared.model.pods_after(node, PART_PODS)));
            }
            Position::After(at) if *at == number => return None,
            Position::After(at) => {
                if let Some((number, message)) = shared.messages.iter().find(|(number, _)| *number == at + 1)
                {
                    return Some((Position::After(*number), message.clone()));
                }
            }
            Position::Unknown => {}
        }
        shared.heading.now = seconds(now.wall);
        let frame = SnapshotFrame {
            cluster: &self.cluster,
            token: self.token.as_deref(),
            heading: shared.heading.view(),
        };
        Some(self.part(number, shared.model.snapshot(frame, PART_PODS)))
    }

    fn part(&self, number: u64, part: SnapshotPart) -> (Position, Bytes) {
        match part.next {
            None => (Position::After(number), self.message("snapshot", number, &part.json)),
            // An empty id also clears the one that the viewer had.
            Some(node) => {
                (Position::Parts { number, node }, format!("id\nevent: part\ndata: {}\n\n", part.json).into())
            }
        }
    }

    /// The time for a viewer that has missed nothing up to `at`, because its own clock may have been suspended.
    fn greeting(&self, at: u64, now: Now) -> Bytes {
        let mut shared = self.lock();
        shared.heading.now = seconds(now.wall);
        self.message("change", at, &json(&shared.heading.view()))
    }
}

/// What a viewer has received.
enum Position {
    Unknown,
    /// The parts of the whole state as of message `number` up to the one with the pods of `node`.
    Parts {
        number: u64,
        node: NodeName,
    },
    /// All up to the message with this number.
    After(u64),
}

/// A viewer with its position.
pub(crate) struct Viewer {
    at: Position,
    latest: watch::Receiver<u64>,
    is_greeted: bool,
}

impl Viewer {
    /// Waits for the next message; the first one is available immediately.
    pub(crate) async fn next(&mut self, state: &BoardState, now: impl Fn() -> Now) -> Bytes {
        let is_greeted = std::mem::replace(&mut self.is_greeted, true);
        loop {
            self.latest.mark_unchanged();
            if let Some((at, message)) = state.next(&self.at, now()) {
                self.at = at;
                return message;
            }
            if let Position::After(at) = self.at
                && !is_greeted
            {
                return state.greeting(at, now());
            }
            if self.latest.changed().await.is_err() {
                // The board stops.
                return std::future::pending().await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taintward_core::time::{Mono, Wall};

    fn now(seconds: i64) -> Now {
        Now::exact(Mono::from_secs(seconds), Wall::from_secs(1_800_000_000 + seconds))
    }

    fn state() -> BoardState {
        BoardState::new("a cluster".to_owned(), None, now(0))
    }

    #[test]
    fn positions_are_read_back() {
        assert_eq!(EventId::parse("17-3"), Some(EventId { epoch: 17, number: 3 }));
        for text in ["", "17", "17-", "-3", "a-3", "17-3-4", "17-99999999999999999999999"] {
            assert_eq!(EventId::parse(text), None, "{text}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_viewer_gets_the_reason_for_an_empty_board() {
        let state = state();
        let mut viewer = state.viewer(None);
        viewer.next(&state, || now(0)).await;
        state.publish(now(1), 1.0, Some("pods are not shown".to_owned()));
        let message = viewer.next(&state, || now(1)).await;
        let text = String::from_utf8_lossy(&message);
        assert!(text.contains("event: change\n") && text.contains("pods are not shown"), "{text}");
        state.publish(now(2), 1.0, Some("pods are not shown".to_owned()));
        let waits = tokio::time::timeout(std::time::Duration::from_secs(60), viewer.next(&state, || now(2)));
        assert!(waits.await.is_err(), "once");
    }

    #[tokio::test(start_paused = true)]
    async fn a_viewer_gets_the_whole_state_first_and_after_another_process() {
        let state = state();
        let first = state.viewer(None).next(&state, || now(1)).await;
        let text = String::from_utf8_lossy(&first);
        assert!(
            text.starts_with("id: 1800000000000000-0\nevent: snapshot\ndata: {\"cluster\":\"a cluster\""),
            "{text}"
        );
        let known = EventId { epoch: 1_800_000_000_000_000, number: 0 };
        let mut viewer = state.viewer(Some(known));
        let greeting = viewer.next(&state, || now(7)).await;
        let text = String::from_utf8_lossy(&greeting);
        let expected = "id: 1800000000000000-0\nevent: change\ndata: {\"now\":1800000007.0,\"speed\":1.0,\"problem\":null}\n\n";
        assert_eq!(text, expected, "the time, and nothing else");
        let waits = tokio::time::timeout(std::time::Duration::from_secs(60), viewer.next(&state, || now(1)));
        assert!(waits.await.is_err(), "it has seen everything");
        let stranger = EventId { epoch: 5, number: 0 };
        let message = state.viewer(Some(stranger)).next(&state, || now(1)).await;
        assert!(message.starts_with(b"id: 1800000000000000-0\nevent: snapshot\n"));
    }
}
