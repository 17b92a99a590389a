//! Builds the list of pods that taints have evicted, according to events.

use super::{PendingArgs, PendingError};
use crate::cluster_state::details::ObjectNames;
use crate::cluster_state::related::{RelatedObjects, in_files, past_evictions};
use crate::cluster_state::{ClusterReader, no_nodes};
use crate::messages::{self, stamp, with_zone};
use crate::output::{API_VERSION, PrintOptions, Printable, Table, TableColumn};
use crate::past_eviction::PastEviction;
use crate::runtime::Runtime;
use crate::stderr;
use serde_json::{Value, json};
use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

/// Prints the list; returns whether all of it could be read.
pub(super) fn run(options: &PendingArgs) -> Result<ExitCode, PendingError> {
    let (related, namespace) = read(options)?;
    let state = &related.state;
    stderr::errors(&state.gaps);
    state.notes.iter().for_each(stderr::note);
    let mut evictions = PastEviction::all(&state.snapshot, &related.details.past_events);
    evictions.retain(|eviction| namespace.is_empty() || eviction.namespace() == namespace);
    let exit_code = if state.gaps.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    if options.state.output.is_for_people() {
        if io::stderr().is_terminal() {
            let context = messages::about(&state.from, state.snapshot.now());
            messages::print_wrapped(&context, &options.state.output.view());
        }
        if evictions.is_empty() {
            let partly = if state.gaps.is_empty() { "" } else { "Partial result: " };
            let place = match namespace.as_str() {
                "" => String::new(),
                namespace => format!(" in namespace {namespace}"),
            };
            stderr::line(partly, format!("No event reports an eviction by a taint{place}."));
            return Ok(exit_code);
        }
    }
    let all_namespaces = namespace.is_empty();
    options.state.output.print(&PastEvictionList { related: &related, evictions, all_namespaces })?;
    Ok(exit_code)
}

/// The events and nodes, and the namespace of the list; all if it is empty.
fn read(options: &PendingArgs) -> Result<(RelatedObjects, String), PendingError> {
    if !options.filename.is_empty() {
        let wanted = ObjectNames { past: true, ..ObjectNames::default() };
        let related = in_files(&options.filename, wanted, options.state.as_of, options.state.numeric());
        if related.state.snapshot.nodes().is_empty() {
            return Err(no_nodes(related.state).into());
        }
        return Ok((related, options.state.cluster.named_namespace().to_owned()));
    }
    let runtime = Runtime::new()?;
    runtime.block_on(async {
        let reader = ClusterReader::of(&options.state.cluster).await?;
        let namespace = options.state.cluster.namespace(&reader.connected).to_owned();
        Ok((past_evictions(&reader, &namespace, options.state.as_of).await, namespace))
    })
}

/// The list.
struct PastEvictionList<'r> {
    related: &'r RelatedObjects,
    /// The newest last.
    evictions: Vec<PastEviction<'r>>,
    all_namespaces: bool,
}

impl Printable for PastEvictionList<'_> {
    fn object(&self) -> Value {
        let state = &self.related.state;
        json!({
            "apiVersion": API_VERSION,
            "kind": "PastEvictionList",
            "complete": state.gaps.is_empty(),
            "from": state.from,
            "asOf": stamp(state.snapshot.now().mono),
            "items": self.evictions.iter().map(PastEviction::object).collect::<Vec<_>>(),
            "notes": state.notes,
            "readErrors": state.gaps.iter().map(ToString::to_string).collect::<Vec<_>>(),
        })
    }

    fn names(&self) -> Vec<String> {
        self.evictions.iter().map(|eviction| format!("pod/{}", eviction.pod())).collect()
    }

    fn human(&self, view: &PrintOptions) -> String {
        let now = self.related.state.snapshot.now();
        let mut columns = vec![TableColumn::new(&with_zone("EVICTED", now))];
        if self.all_namespaces {
            columns.push(TableColumn::new("NAMESPACE").shortens().yields());
        }
        columns.extend([
            TableColumn::new("POD").shortens(),
            TableColumn::new("NODE").shortens().yields(),
            TableColumn::new("BY"),
            TableColumn::new("NOEXECUTE TAINT").shortens().yields(),
        ]);
        let mut table = Table::new(columns);
        for eviction in view.in_order(&self.evictions) {
            let mut cells = vec![eviction.time(now).into()];
            if self.all_namespaces {
                cells.push(eviction.namespace().into());
            }
            let causes = eviction.causes();
            let causes: Vec<&str> =
                causes.iter().map(|taint| taint.strip_suffix(":NoExecute").unwrap_or(taint)).collect();
            let causes = if causes.is_empty() { "<unknown>".to_owned() } else { causes.join(", ") };
            cells.extend([
                eviction.pod().into(),
                eviction.node().unwrap_or("<unknown>").into(),
                eviction.by().into(),
                causes.into(),
            ]);
            table.push(cells);
        }
        table.print(view)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::described::{check, schema};
    use taintward_core::toleration_matching::NumericOperators;

    #[test]
    fn the_schema_describes_what_is_printed() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cmd/explain.in/past.yaml");
        let as_of = Some("2026-11-21T14:00:00Z".parse().unwrap());
        let wanted = ObjectNames { past: true, ..ObjectNames::default() };
        let related = in_files(&[file.into()], wanted, as_of, NumericOperators::Off);
        let evictions = PastEviction::all(&related.state.snapshot, &related.details.past_events);
        assert_eq!(evictions.len(), 5);
        let list = PastEvictionList { related: &related, evictions, all_namespaces: true };
        check(&schema("past-evictions.schema.json"), &list.object());
    }
}
