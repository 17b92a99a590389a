//! Implements `pending -w`: watches nodes and pods, and shows the list on a terminal or a line per change elsewhere.
//!
//! - Invariant: only the leases are polled.

mod terminal_screen;
mod tracker;

pub(crate) use terminal_screen::{TerminalScreen, quit};
pub(crate) use tracker::PendingTracker;

use super::pending_args::PendingOptions;
use super::row_table::{event_table, table};
use super::{PendingError, PendingRow, empty_list};
use crate::active_controllers::ActiveControllers;
use crate::cluster_state::{ClusterReader, ServerClock};
use crate::messages::{paragraph, stamp};
use crate::output::{API_VERSION, OutputFormat, PrintOptions};
use crate::runtime::Runtime;
use serde_json::json;
use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;
use taintward_core::api_error::ApiFailure;
use taintward_core::fact::NodeFact;
use taintward_core::time::{Mono, Now};
use taintward_kube::api::paged_list::{self, ListRequest};
use taintward_kube::decode::{DecodedPod, WatchedObject};
use taintward_kube::watch::{
    MissingAccess, StreamHealth, StreamPhase, WatchEvent, WatchScope, WatchSettings, Watcher,
};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};

/// The interval between two checks and drawings of countdowns.
const TICK: Duration = Duration::from_secs(1);

/// The interval between two reads of the leases of controllers that evict.
const ENFORCERS_EVERY: Duration = Duration::from_secs(15);

/// The maximum number of batches that wait.
const BATCHES_WAITING: usize = 16;

pub(super) fn run(options: &PendingOptions) -> Result<(), PendingError> {
    let runtime = Runtime::new()?;
    runtime.block_on(async {
        let reader = ClusterReader::of(&options.cluster).await?;
        let clock = reader.clock.clone();
        let (sender, enforcers) = watch::channel(None);
        let looking = async {
            loop {
                let found = ActiveControllers::of(&reader, clock.now().wall).await;
                sender.send_replace(Some(found));
                tokio::time::sleep(ENFORCERS_EVERY).await;
            }
        };
        let namespace = options.cluster.namespace(&reader.connected);
        let scope = WatchScope {
            namespace: namespace.to_owned(),
            labels: options.cluster.selector.clone(),
            fields: options.cluster.fields.clone(),
        };
        understood(&reader, &scope).await?;
        tokio::select! {
            done = PendingWatch::new(options, namespace, &clock, enforcers).run(&reader, scope) => done,
            never = looking => never,
        }
    })
}

/// The watch of one kind.
struct WatchInput<F> {
    news: mpsc::Receiver<Vec<WatchEvent<F>>>,
    health: watch::Receiver<StreamHealth>,
}

/// Checks that the server accepts the selectors, because a watch would retry without a limit.
async fn understood(reader: &ClusterReader<'_>, scope: &WatchScope) -> Result<(), PendingError> {
    let WatchScope { namespace, labels, fields } = scope;
    if labels.is_empty() && fields.is_empty() {
        return Ok(());
    }
    let listing = ListRequest { group: "", plural: "pods", namespace, selector: labels, fields };
    match paged_list::one(&reader.connected.client, listing, reader.cluster.timeout).await {
        Err(refusal) if refusal.failure == ApiFailure::Rejected => {
            Err(PendingError::Rejected(refusal.message))
        }
        // The watch reports other errors, and retries.
        _ => Ok(()),
    }
}

fn listen<F: WatchedObject>(reader: &ClusterReader<'_>, scope: WatchScope) -> WatchInput<F> {
    let (out, news) = mpsc::channel(BATCHES_WAITING);
    let (report, health) = watch::channel(StreamHealth::default());
    let listener = Watcher::<F>::new(
        reader.connected.streams.clone(),
        WatchSettings { scope, ..WatchSettings::default() },
    );
    tokio::spawn(listener.run(out, report));
    WatchInput { news, health }
}

/// The output of the list.
enum WatchOutput {
    /// The alternate screen of a terminal.
    Screen(TerminalScreen),
    /// A line for each change; with whether the titles were written.
    Lines { titled: bool },
    /// An object for each change.
    Objects,
}

/// A list that is watched.
struct PendingWatch<'a> {
    tracker: PendingTracker,
    clock: &'a ServerClock,
    view: PrintOptions,
    form: &'a OutputFormat,
    namespace: &'a str,
    enforcers: watch::Receiver<Option<ActiveControllers>>,
    /// The last remarks about the streams, and about the controllers that evict.
    remarks: [Option<String>; 2],
}

impl<'a> PendingWatch<'a> {
    fn new(
        options: &'a PendingOptions,
        namespace: &'a str,
        clock: &'a ServerClock,
        enforcers: watch::Receiver<Option<ActiveControllers>>,
    ) -> Self {
        Self {
            tracker: PendingTracker::new(options.numeric, namespace),
            clock,
            view: options.output.view().clone(),
            form: options.output.form(),
            namespace,
            enforcers,
            remarks: [None, None],
        }
    }

    async fn run(mut self, reader: &ClusterReader<'_>, scope: WatchScope) -> Result<(), PendingError> {
        let (mut interrupt, mut end) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let (mut nodes, mut pods) =
            (listen::<NodeFact>(reader, WatchScope::default()), listen::<DecodedPod>(reader, scope));
        let mut out = self.out()?;
        let mut quit = match &out {
            WatchOutput::Screen(_) => quit(),
            WatchOutput::Lines { .. } | WatchOutput::Objects => mpsc::channel(1).1,
        };
        let on_screen = matches!(out, WatchOutput::Screen(_));
        let mut tick = tokio::time::interval(TICK);
        loop {
            tokio::select! {
                _ = interrupt.recv() => return Ok(()),
                _ = end.recv() => return Ok(()),
                Some(()) = quit.recv(), if on_screen => return Ok(()),
                Some(batch) = nodes.news.recv() => self.tracker.nodes(batch, self.clock.now()),
                Some(batch) = pods.news.recv() => self.tracker.pods(batch, self.clock.now()),
                Ok(()) = nodes.health.changed() => {}
                Ok(()) = pods.health.changed() => {}
                Ok(()) = self.enforcers.changed() => {}
                _ = tick.tick() => {}
            }
            // All available batches are handled before the output.
            while let Ok(batch) = nodes.news.try_recv() {
                self.tracker.nodes(batch, self.clock.now());
            }
            while let Ok(batch) = pods.news.try_recv() {
                self.tracker.pods(batch, self.clock.now());
            }
            let trouble = [trouble(&nodes.health), trouble(&pods.health)].into_iter().flatten().next();
            if let Some(WatchProblem::Forbidden(MissingAccess { verb, resource, .. })) = trouble {
                let place = reader.connected.where_from.clone();
                let what = match (resource, self.namespace) {
                    ("pods", "") => "pods in all namespaces".to_owned(),
                    ("pods", namespace) => format!("pods in namespace {namespace}"),
                    _ => resource.to_owned(),
                };
                return Err(PendingError::Forbidden { place, verb, resource, what });
            }
            let trouble = match trouble {
                Some(WatchProblem::Interrupted(why)) => Some(format!("the list may be old: {why}")),
                _ => None,
            };
            if self.show(&mut out, trouble)?.is_gone() {
                return Ok(());
            }
        }
    }

    fn out(&self) -> io::Result<WatchOutput> {
        Ok(match self.form {
            OutputFormat::Json => WatchOutput::Objects,
            _ if io::stdout().is_terminal() => WatchOutput::Screen(TerminalScreen::enter()?),
            _ => WatchOutput::Lines { titled: !self.view.headers },
        })
    }

    fn show(&mut self, out: &mut WatchOutput, trouble: Option<String>) -> Result<ReaderState, PendingError> {
        let now = self.clock.now();
        let remark = self.enforcers.borrow().as_ref().and_then(ActiveControllers::remark);
        match out {
            WatchOutput::Screen(screen) => {
                let picture = self.picture(now, trouble, remark);
                return Ok(ReaderState::of(screen.draw(&picture))?);
            }
            WatchOutput::Lines { .. } | WatchOutput::Objects => self.say([trouble, remark]),
        }
        if !self.tracker.is_synced() {
            return Ok(ReaderState::There);
        }
        let changes = self.tracker.changes(now);
        let now = calendar(now);
        let text: String = match out {
            WatchOutput::Lines { titled } if !changes.is_empty() => {
                let mut view = self.view.clone();
                view.headers = !std::mem::replace(titled, true);
                let rows = changes.iter().map(|(event, row)| (event.as_str(), row));
                event_table(rows, self.namespace.is_empty(), now).print(&view)
            }
            WatchOutput::Objects => changes
                .iter()
                .map(|(event, row)| {
                    let mut object = row.object(now, self.enforcers.borrow().as_ref());
                    object["apiVersion"] = json!(API_VERSION);
                    object["kind"] = json!("PendingEvent");
                    object["event"] = json!(event.as_str());
                    object["observedAt"] = stamp(now.mono);
                    object.to_string() + "\n"
                })
                .collect(),
            _ => String::new(),
        };
        let mut standard = io::stdout().lock();
        Ok(ReaderState::of(standard.write_all(text.as_bytes()).and_then(|()| standard.flush()))?)
    }

    /// Prints new remarks to standard error.
    fn say(&mut self, now: [Option<String>; 2]) {
        for (last, now) in self.remarks.iter_mut().zip(now) {
            if let Some(now) = now.as_ref().filter(|_| *last != now) {
                crate::say::note(now);
            }
            *last = now;
        }
    }

    /// The text on a terminal.
    fn picture(&mut self, now: Now, trouble: Option<String>, remark: Option<String>) -> String {
        let notes = trouble.into_iter().chain(remark);
        if !self.tracker.is_synced() {
            return live_list(notes, None, self.namespace, now, &self.view);
        }
        self.tracker.changes(now);
        live_list(notes, Some(&self.tracker.rows()), self.namespace, calendar(now), &self.view)
    }
}

/// The text on a terminal, which the sandbox shows too; `None` before the lists are complete.
pub(crate) fn live_list(
    notes: impl IntoIterator<Item = String>,
    rows: Option<&[PendingRow]>,
    namespace: &str,
    now: Now,
    view: &PrintOptions,
) -> String {
    // The size of the terminal may have changed.
    let (width, _) = TerminalScreen::size();
    let mut view = view.clone();
    view.paper.width = width;
    let mut text = String::new();
    for sentence in notes {
        paragraph(&mut text, &format!("note: {sentence}"), &view);
    }
    match rows {
        None => return text + "Reading nodes and pods ...\n",
        Some([]) => paragraph(&mut text, &(empty_list(namespace) + "."), &view),
        Some(rows) => text += &table(rows, namespace.is_empty(), now).print(&view),
    }
    text + "\nPress q to quit.\n"
}

/// Whether standard output still has a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReaderState {
    There,
    Gone,
}

impl ReaderState {
    /// A reader that closes the pipe (`| head`) is not a failure.
    fn of(written: io::Result<()>) -> io::Result<Self> {
        match written {
            Ok(()) => Ok(Self::There),
            Err(why) if why.kind() == io::ErrorKind::BrokenPipe => Ok(Self::Gone),
            Err(why) => Err(why),
        }
    }

    fn is_gone(self) -> bool {
        self == Self::Gone
    }
}

/// Why a watch does not deliver events.
enum WatchProblem {
    Forbidden(MissingAccess),
    Interrupted(String),
}

fn trouble(health: &watch::Receiver<StreamHealth>) -> Option<WatchProblem> {
    let health = health.borrow();
    match (health.missing, &health.phase) {
        (Some(missing), _) => Some(WatchProblem::Forbidden(missing)),
        (None, StreamPhase::Waiting { why, .. }) => Some(WatchProblem::Interrupted(why.clone())),
        (None, _) => None,
    }
}

/// The same time with the wall clock instead of the monotonic one, for comparison with rows.
const fn calendar(now: Now) -> Now {
    Now::exact(Mono::from_micros(now.wall.as_micros()), now.wall)
}
