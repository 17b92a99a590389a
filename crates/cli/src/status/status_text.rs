//! Formats the status for people: facts with their titles, then a table for each list.

use super::cluster_status::{ClusterStatus, EvictionBacklog, PolicyRow, StatusPart};
use crate::active_controllers::LeaseHolder;
use crate::color::Color;
use crate::controller_deployment::DeploymentFacts;
use crate::eviction_delays::release_command;
use crate::messages::{at_moment, counted, lasting};
use crate::output::{PrintOptions, Table, TableCell, TableColumn, harmless, wrap};
use std::fmt::Write as _;
use taintward_core::eviction::DelayCategory;
use taintward_core::time::{Mono, Now};

/// The width of the titles.
const TITLES: usize = 12;

/// What is printed instead of an empty list.
const NONE: &str = "<none>";

impl ClusterStatus {
    pub(super) fn text(&self, view: &PrintOptions) -> String {
        let mut text = String::new();
        fact(&mut text, "Leader", &self.leader(), view);
        fact(&mut text, "Mode", &described(&self.deployment, mode), view);
        fact(&mut text, "Backlog", &described(&self.backlog, sum), view);
        if let Some(oldest) = self.backlog.known().and_then(|backlog| oldest(backlog, self.now)) {
            fact(&mut text, "Oldest", &oldest, view);
        }
        if let Some(why) = self.backlog.known().and_then(|backlog| backlog.unread.as_ref()) {
            fact(&mut text, "Delays", &format!("unknown: {why}"), view);
        }
        let holds = self.holds.known().filter(|holds| !holds.is_empty());
        section(&mut text, "Holds", &self.holds, holds.map(|holds| holds.table(self.now.wall)), view);
        section(&mut text, "Brake", &self.brake, self.brake_table(), view);
        let policies = self.policies.known().filter(|policies| !policies.is_empty());
        section(&mut text, "Policies", &self.policies, policies.map(|rows| policy_table(rows)), view);
        let budgets = self.backlog.known().and_then(budget_table);
        section(&mut text, "Budgets", &self.backlog, budgets, view);
        text
    }

    fn leader(&self) -> String {
        match &self.controllers.ours {
            LeaseHolder::Held { holder, since } => {
                let since = since.map(|since| lasting(self.now, Mono::from_micros(since.as_micros())));
                let since = since.unwrap_or_else(|| "an unknown time".to_owned());
                format!("{holder} leads since {since}")
            }
            _ => self.controllers.remark().unwrap_or_else(|| self.controllers.described()),
        }
    }

    fn brake_table(&self) -> Option<Table> {
        let keys = self.brake.known().filter(|keys| !keys.is_empty())?;
        let titles = ["KEY", "NODES", "LIMIT", "COMMAND THAT ENDS THE DELAY"];
        let [key, nodes, limit, command] = titles.map(TableColumn::new);
        let mut table = Table::new(vec![key, nodes.right(), limit.right(), command]);
        for braked in keys {
            table.push(vec![
                TableCell::new(&*braked.key).colored(Color::Red),
                braked.nodes.to_string().into(),
                braked.limit.to_string().into(),
                release_command(&braked.key).into(),
            ]);
        }
        Some(table)
    }
}

fn described<T>(part: &StatusPart<T>, form: impl FnOnce(&T) -> String) -> String {
    match part {
        StatusPart::Known(part) => form(part),
        StatusPart::Absent(why) | StatusPart::Unread(why) => format!("unknown: {why}"),
    }
}

fn mode(deployment: &DeploymentFacts) -> String {
    let mode = if deployment.observes() { "observe" } else { "enforce" };
    let policies = deployment.applies_policies().then(|| "--eviction-policies".to_owned());
    let brake = deployment.brake_limit().map(|limit| format!("--brake-limit={limit}"));
    let flags: Vec<String> = policies.into_iter().chain(brake).collect();
    let flags = if flags.is_empty() { String::new() } else { format!(", {}", flags.join(", ")) };
    format!("{mode}{flags} (Deployment {})", deployment.name)
}

/// `3 pods are due: 2 wait for a budget; 12 are counting down`.
fn sum(backlog: &EvictionBacklog) -> String {
    let due = match backlog.due.len() {
        1 => "1 pod is due".to_owned(),
        count => format!("{count} pods are due"),
    };
    let waiting: Vec<String> = backlog
        .waiting()
        .into_iter()
        .map(|(category, count)| format!("{count} {}", waits(category, count)))
        .collect();
    let waiting = if waiting.is_empty() { String::new() } else { format!(": {}", waiting.join(", ")) };
    format!("{due}{waiting}; {} counting down", counted(backlog.counting, "pod"))
}

fn waits(category: DelayCategory, count: usize) -> String {
    let what = match category {
        DelayCategory::Budget => "for a budget",
        DelayCategory::Limit => "for a limit",
        DelayCategory::Order => "for their order",
        DelayCategory::Policy => "for a policy",
        DelayCategory::Brake => "for the brake",
    };
    format!("{} {what}", if count == 1 { "waits" } else { "wait" })
}

fn oldest(backlog: &EvictionBacklog, now: Now) -> Option<String> {
    let pod = backlog.due.first()?;
    let delay = pod.delay.as_ref().map(|delay| format!(": {}", delay.sentence(now))).unwrap_or_default();
    let since = at_moment(now, pod.since);
    Some(format!("{}/{} on {}, due since {since}{delay}", pod.namespace, pod.pod, pod.node))
}

fn policy_table(rows: &[PolicyRow]) -> Table {
    let titles = ["NAME", "GOVERNED", "WAITING", "FORCED", "READY", "BLOCKED", "MESSAGE"];
    let [name, governed, waiting, forced, ready, blocked, message] = titles.map(TableColumn::new);
    let numbers = [governed.right(), waiting.right(), forced.right()];
    let columns = [name].into_iter().chain(numbers).chain([ready, blocked, message]);
    let mut table = Table::new(columns.collect());
    for row in rows {
        let state = |kind| row.condition(kind).map_or("<unknown>", |condition| &*condition.status);
        let message = match row.condition("Ready") {
            None => "no controller has reported on it yet",
            Some(_) => row.complaint().unwrap_or("-"),
        };
        table.push(vec![
            row.name().into(),
            row.governed().to_string().into(),
            row.waiting().to_string().into(),
            row.forced().to_string().into(),
            state("Ready").into(),
            state("Blocked").into(),
            message.into(),
        ]);
    }
    table
}

fn budget_table(backlog: &EvictionBacklog) -> Option<Table> {
    let budgets = backlog.budgets();
    let [name, waiting, allows] = ["BUDGET", "WAITING", "ALLOWS"].map(TableColumn::new);
    let mut table = Table::new(vec![name, waiting.right(), allows]);
    for (budget, waiting) in &budgets {
        let allows = if budget.never_allows { "never" } else { "at times" };
        table.push(vec![
            format!("{}/{}", budget.namespace, budget.name).into(),
            waiting.to_string().into(),
            allows.into(),
        ]);
    }
    (!budgets.is_empty()).then_some(table)
}

/// A title and a sentence, which is wrapped beside the title.
fn fact(text: &mut String, title: &str, sentence: &str, view: &PrintOptions) {
    let room = view.paper.measure().saturating_sub(TITLES);
    for (at, line) in wrap(&harmless(sentence), room).into_iter().enumerate() {
        let title = if at == 0 { format!("{title}:") } else { String::new() };
        // Writing to a string does not fail.
        let _ = writeln!(text, "{title:<TITLES$}{line}");
    }
}

/// A title and the table below it; without a table, why there is none.
fn section<T>(
    text: &mut String,
    title: &str,
    part: &StatusPart<T>,
    table: Option<Table>,
    view: &PrintOptions,
) {
    let Some(table) = table else { return fact(text, title, &described(part, |_| NONE.to_owned()), view) };
    let _ = writeln!(text, "{title}:");
    let mut view = view.clone();
    view.paper.width = view.paper.width.saturating_sub(2);
    table.print(&view).lines().for_each(|line| {
        let _ = writeln!(text, "  {line}");
    });
}
