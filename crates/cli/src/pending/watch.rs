//! Implements `pending -w`: watches nodes and pods, and shows the list on a terminal or a line per change elsewhere.
//!
//! - Invariant: only the leases are polled, and while pods are due, what delays them.

use super::deadline_watch::{DeadlineWatch, WatchProblem};
use super::delayed_rows;
use super::row_table::{event_table, table};
use super::{PendingArgs, PendingError, PendingRow, empty_list};
use crate::active_controllers::ActiveControllers;
use crate::cluster_change::ClusterChange;
use crate::cluster_state::ClusterReader;
use crate::messages::{paragraph, stamp};
use crate::output::{API_VERSION, OutputFormat, PrintOptions};
use crate::runtime::Runtime;
use crate::terminal_screen::{TerminalScreen, quit};
use serde_json::json;
use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;
use taintward_core::api_error::ApiFailure;
use taintward_core::time::Now;
use taintward_kube::api::paged_list::{self, ListRequest};
use taintward_kube::watch::{MissingAccess, WatchScope};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};

/// The interval between two checks and drawings of countdowns.
const TICK: Duration = Duration::from_secs(1);

/// The interval between two reads of the leases of controllers that evict.
const ENFORCERS_EVERY: Duration = Duration::from_secs(15);

pub(super) fn run(options: &PendingArgs) -> Result<(), PendingError> {
    let runtime = Runtime::new()?;
    runtime.block_on(async {
        let reader = ClusterReader::of(&options.state.cluster).await?;
        let (sender, enforcers) = watch::channel(None);
        let looking = async {
            loop {
                let found = ActiveControllers::of(&reader, reader.clock.now().wall).await;
                sender.send_replace(Some(found));
                tokio::time::sleep(ENFORCERS_EVERY).await;
            }
        };
        let namespace = options.state.cluster.namespace(&reader.connected);
        let scope = WatchScope {
            namespace: namespace.to_owned(),
            labels: options.state.cluster.selector().to_owned(),
            fields: options.state.cluster.fields().to_owned(),
        };
        understood(&reader, &scope).await?;
        tokio::select! {
            done = PendingWatch::new(options, &reader, scope, enforcers).run() => done,
            never = looking => never,
        }
    })
}

/// Checks that the server accepts the selectors, because a watch would retry without a limit.
async fn understood(reader: &ClusterReader<'_>, scope: &WatchScope) -> Result<(), PendingError> {
    let WatchScope { namespace, labels, fields } = scope;
    if labels.is_empty() && fields.is_empty() {
        return Ok(());
    }
    let listing = ListRequest { group: "", plural: "pods", namespace, selector: labels, fields };
    match paged_list::one(&reader.connected.client, listing, reader.cluster.server.timeout).await {
        Err(rejection) if rejection.failure == ApiFailure::Rejected => {
            Err(PendingError::Rejected(rejection.message))
        }
        // The watch reports other errors, and retries.
        _ => Ok(()),
    }
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
    deadlines: DeadlineWatch,
    reader: &'a ClusterReader<'a>,
    view: PrintOptions,
    form: &'a OutputFormat,
    /// All if empty.
    namespace: String,
    enforcers: watch::Receiver<Option<ActiveControllers>>,
    /// The last remarks about the streams, the controllers that evict, and what delays due pods.
    remarks: [Option<String>; 3],
}

impl<'a> PendingWatch<'a> {
    fn new(
        options: &'a PendingArgs,
        reader: &'a ClusterReader<'a>,
        scope: WatchScope,
        enforcers: watch::Receiver<Option<ActiveControllers>>,
    ) -> Self {
        let (client, numeric) = (&reader.connected.streams, options.state.numeric());
        let (namespace, limit) = (scope.namespace.clone(), reader.cluster.server.timeout);
        Self {
            deadlines: DeadlineWatch::new(
                (client, limit),
                scope,
                numeric,
                TICK,
                reader.clock.clock().clone(),
            ),
            reader,
            view: options.state.output.view(),
            form: &options.state.output.output,
            namespace,
            enforcers,
            remarks: [None, None, None],
        }
    }

    async fn run(mut self) -> Result<(), PendingError> {
        let (mut interrupt, mut end) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let mut out = self.out()?;
        let mut quit = match &out {
            WatchOutput::Screen(_) => quit(),
            WatchOutput::Lines { .. } | WatchOutput::Objects => mpsc::channel(1).1,
        };
        let on_screen = matches!(out, WatchOutput::Screen(_));
        loop {
            let changes = tokio::select! {
                _ = interrupt.recv() => return Ok(()),
                _ = end.recv() => return Ok(()),
                Some(()) = quit.recv(), if on_screen => return Ok(()),
                Ok(()) = self.enforcers.changed() => Vec::new(),
                changes = self.deadlines.next() => changes,
            };
            let problem = match self.deadlines.problem() {
                Some(WatchProblem::Forbidden(missing)) => return Err(self.forbidden(missing)),
                Some(WatchProblem::Interrupted(why)) => Some(format!("the list may be old: {why}")),
                None => None,
            };
            if self.show(&mut out, &changes, problem)?.is_gone() {
                return Ok(());
            }
        }
    }

    fn forbidden(&self, MissingAccess { verb, resource, .. }: MissingAccess) -> PendingError {
        let what = match (resource, self.namespace.as_str()) {
            ("pods", "") => "pods in all namespaces".to_owned(),
            ("pods", namespace) => format!("pods in namespace {namespace}"),
            _ => resource.to_owned(),
        };
        PendingError::Forbidden { place: self.reader.place(), verb, resource, what }
    }

    fn out(&self) -> io::Result<WatchOutput> {
        Ok(match self.form {
            OutputFormat::Json => WatchOutput::Objects,
            _ if io::stdout().is_terminal() => WatchOutput::Screen(TerminalScreen::enter()?),
            _ => WatchOutput::Lines { titled: !self.view.headers },
        })
    }

    fn show(
        &mut self,
        out: &mut WatchOutput,
        changes: &[(ClusterChange, PendingRow)],
        problem: Option<String>,
    ) -> Result<ReaderState, PendingError> {
        let now = self.deadlines.now();
        let remark = self.enforcers.borrow().as_ref().and_then(ActiveControllers::remark);
        if let WatchOutput::Screen(screen) = out {
            let notes = problem.into_iter().chain(remark).chain(self.deadlines.unread());
            let rows = self.deadlines.rows();
            let picture = live_list(notes, rows.as_deref(), &self.namespace, now, &self.view);
            return Ok(ReaderState::of(screen.draw(&picture))?);
        }
        self.note([problem, remark, self.deadlines.unread()]);
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
    fn note(&mut self, now: [Option<String>; 3]) {
        for (last, now) in self.remarks.iter_mut().zip(now) {
            if let Some(now) = now.as_ref().filter(|_| *last != now) {
                crate::stderr::note(now);
            }
            *last = now;
        }
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
        Some(rows) => {
            text += &table(rows, namespace.is_empty(), now).print(&view);
            text += &delayed_rows::sentences(rows, now, &view);
        }
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
