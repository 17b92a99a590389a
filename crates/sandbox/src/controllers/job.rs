//! Implements the Job controller: parallelism, completions, failures, status.
//!
//! - Invariant: each pod counts once; a pod that disappeared has failed, unless `podFailurePolicy` ignores the reason.
//! - Indexed jobs, backoff between failures, success policies and CronJobs are not supported.

use super::pod_summary::PodSummary;
use super::pods::{pods, uid};
use super::record_event::EventFields;
use super::{Controller, ReconcileContext};
use crate::core_types;
use fakekube::api::{self, DeleteOptions, WriteOptions};
use fakekube::resource::{ResourceId, known};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const NAME: &str = "job-controller";

/// The largest number of pods created for one Job in one step.
const BURST: i64 = 500;

#[derive(Default)]
pub(super) struct JobController {
    dirty: BTreeSet<String>,
    /// The state of each Job, by UID.
    books: BTreeMap<String, JobState>,
    /// Jobs to reconcile at a time even if nothing has changed.
    due: BTreeMap<String, Timestamp>,
}

/// The state of a Job's pods.
#[derive(Default)]
struct JobState {
    /// Pods that have not ended, with the conditions of terminating ones.
    live: BTreeMap<String, Value>,
    /// Pods that have ended and are counted, and those that the Job itself has deleted.
    counted: BTreeSet<String>,
    succeeded: i64,
    failed: i64,
    /// The failure policy has failed the Job.
    given_up: bool,
}

fn jobs() -> ResourceId {
    known("batch", "jobs")
}

impl Controller for JobController {
    fn step(&mut self, view: &ReconcileContext<'_>) -> Option<Timestamp> {
        self.dirty.extend(view.changed.of(jobs()).map(String::from));
        if view.changed.any(pods()) {
            let touched: BTreeSet<&str> =
                view.changed.of(pods()).filter_map(|key| key.split('/').next()).collect();
            let inside = |key: &&str| key.split('/').next().is_some_and(|one| touched.contains(one));
            self.dirty.extend(view.mirror.all(jobs()).map(|(key, _)| key).filter(inside).map(String::from));
        }
        self.dirty.extend(self.due.iter().filter(|(_, at)| **at <= view.now).map(|(key, _)| key.clone()));
        for key in std::mem::take(&mut self.dirty) {
            self.due.remove(&key);
            let Some(job) = view.mirror.one(jobs(), &key).filter(|job| !api::is_ending(job)) else {
                continue;
            };
            let book = self.books.entry(uid(job).to_owned()).or_insert_with(|| JobState::of(view, job));
            if let Some(at) = tend(view, job, book) {
                self.due.insert(key, at);
            }
        }
        if view.changed.any(jobs()) {
            let there: BTreeSet<&str> = view.mirror.all(jobs()).map(|(_, job)| uid(job)).collect();
            self.books.retain(|uid, _| there.contains(uid.as_str()));
        }
        self.due.values().min().copied()
    }
}

fn count(job: &Value, field: &str) -> i64 {
    job["status"][field].as_i64().unwrap_or_default()
}

fn is(job: &Value, condition: &str) -> bool {
    core_types::list(&job["status"]["conditions"])
        .any(|one| one["type"] == condition && one["status"] == "True")
}

impl JobState {
    /// The initial state. If another controller has handled the Job before, its status counts the pods that have ended.
    fn of(view: &ReconcileContext<'_>, job: &Value) -> Self {
        let over = view.mirror.controlled(uid(job)).filter(|(_, pod)| pod.over);
        let counted = match job["status"]["startTime"].is_null() {
            true => BTreeSet::new(),
            false => over.map(|(_, pod)| pod.uid().to_owned()).collect(),
        };
        Self { counted, succeeded: count(job, "succeeded"), failed: count(job, "failed"), ..Self::default() }
    }

    /// Counts the pods that have ended since the last call.
    fn catch_up(&mut self, job: &Value, mine: &[(&str, &PodSummary)]) {
        for (_, pod) in mine.iter().filter(|(_, pod)| pod.over) {
            self.live.remove(pod.uid());
            if self.counted.insert(pod.uid().to_owned()) {
                let value = pod.value();
                match value["status"]["phase"] == "Succeeded" {
                    true => self.succeeded += 1,
                    false => self.fail(job, &value["status"]["conditions"]),
                }
            }
        }
        let there: BTreeSet<&str> = mine.iter().map(|(_, pod)| pod.uid()).collect();
        let gone: Vec<String> =
            self.live.keys().filter(|uid| !there.contains(uid.as_str())).cloned().collect();
        for uid in gone {
            let conditions = self.live.remove(&uid).unwrap_or_default();
            self.fail(job, &conditions);
        }
        for (_, pod) in mine.iter().filter(|(_, pod)| !pod.over && !self.counted.contains(pod.uid())) {
            let conditions =
                if pod.ending { pod.value()["status"]["conditions"].clone() } else { Value::Null };
            self.live.insert(pod.uid().to_owned(), conditions);
        }
    }

    fn fail(&mut self, job: &Value, conditions: &Value) {
        let rules = core_types::list(&job["spec"]["podFailurePolicy"]["rules"]);
        let meets = |pattern: &Value| {
            core_types::list(conditions)
                .any(|one| one["type"] == pattern["type"] && one["status"] == pattern["status"])
        };
        let mut fitting = rules.filter(|rule| core_types::list(&rule["onPodConditions"]).any(meets));
        match fitting.next().and_then(|rule| rule["action"].as_str()) {
            Some("Ignore") => {}
            action => {
                self.failed += 1;
                self.given_up |= action == Some("FailJob");
            }
        }
    }
}

/// What to do with a Job.
enum JobOutcome {
    Goes(i64),
    Complete,
    Failed(&'static str, &'static str),
}

/// Reconciles a Job. Returns when to do so again even if nothing has changed.
fn tend(view: &ReconcileContext<'_>, job: &Arc<Value>, book: &mut JobState) -> Option<Timestamp> {
    if is(job, "Complete") || is(job, "Failed") {
        return expire(view, job);
    }
    let mine: Vec<(&str, &PodSummary)> = view.mirror.controlled(uid(job)).collect();
    book.catch_up(job, &mine);
    let spec = &job["spec"];
    let active: Vec<(&str, &PodSummary)> = mine.iter().copied().filter(|(_, pod)| pod.is_active()).collect();
    let terminating = mine.iter().filter(|(_, pod)| pod.ending && !pod.over).count();
    let suspended = spec["suspend"] == true;
    let time = |value: &Value| value.as_str().and_then(|text| text.parse::<Timestamp>().ok());
    let deadline = spec["activeDeadlineSeconds"].as_i64().filter(|_| !suspended).and_then(|seconds| {
        let began = time(&job["status"]["startTime"]).unwrap_or(view.now);
        began.saturating_add(SignedDuration::from_secs(seconds)).ok()
    });
    let verdict = judge(spec, book, active.len(), deadline.is_some_and(|at| at <= view.now), suspended);
    // A terminating pod is replaced immediately unless the Job waits for its end.
    let waits = if spec["podReplacementPolicy"] == "Failed" { terminating } else { 0 };
    let (now_active, goes) =
        (i64::try_from(active.len()).unwrap_or(i64::MAX), i64::try_from(waits).unwrap_or(0));
    let wanted = if let JobOutcome::Goes(wanted) = verdict { wanted } else { 0 };
    let mut made = 0;
    for _ in 0..(wanted - goes - now_active).clamp(0, BURST) {
        if !view.create_pod(NAME, job, super::pods::from_template(job, &spec["template"])) {
            break;
        }
        made += 1;
    }
    let surplus = usize::try_from(now_active - wanted).unwrap_or(0);
    for (key, pod) in active.iter().take(surplus) {
        // The Job deletes it itself, so it does not count as failed.
        book.live.remove(pod.uid());
        book.counted.insert(pod.uid().to_owned());
        view.delete_pod(NAME, job, key, pod);
    }
    let mut status = json!({
        "conditions": job["status"]["conditions"], "startTime": job["status"]["startTime"],
        "active": (now_active + made).min(wanted.max(0)), "ready": active.iter().filter(|(_, pod)| pod.ready).count(),
        "terminating": terminating, "succeeded": book.succeeded, "failed": book.failed, "uncountedTerminatedPods": {},
    });
    write(view, job, &mut status, &verdict, suspended);
    view.set_status(jobs(), job, NAME, &tidied(status));
    deadline.filter(|at| *at > view.now)
}

fn judge(spec: &Value, book: &JobState, active: usize, is_late: bool, suspended: bool) -> JobOutcome {
    let parallelism = spec["parallelism"].as_i64().unwrap_or(1);
    let completions = spec["completions"].as_i64();
    if book.given_up {
        return JobOutcome::Failed("PodFailurePolicy", "A rule of the pod failure policy ended the Job");
    }
    if book.failed > spec["backoffLimit"].as_i64().unwrap_or(6) {
        return JobOutcome::Failed("BackoffLimitExceeded", "Job has reached the specified backoff limit");
    }
    if is_late {
        return JobOutcome::Failed("DeadlineExceeded", "Job was active longer than specified deadline");
    }
    match completions {
        Some(all) if book.succeeded >= all => JobOutcome::Complete,
        None if book.succeeded > 0 && active == 0 => JobOutcome::Complete,
        _ if suspended => JobOutcome::Goes(0),
        Some(all) => JobOutcome::Goes(parallelism.min(all - book.succeeded)),
        // In a Job with a work queue, the other pods continue after one has succeeded, but no new pods start.
        None if book.succeeded > 0 => JobOutcome::Goes(i64::try_from(active).unwrap_or(i64::MAX)),
        None => JobOutcome::Goes(parallelism),
    }
}

/// Writes conditions and times.
fn write(
    view: &ReconcileContext<'_>,
    job: &Value,
    status: &mut Value,
    verdict: &JobOutcome,
    suspended: bool,
) {
    let now = view.server.clock().time_text();
    let mut set_condition = |kind: &str, is: bool, reason: &str, message: &str| {
        let value = if is { "True" } else { "False" };
        let mut all: Vec<Value> = core_types::list(&status["conditions"]).cloned().collect();
        if all.iter().any(|one| one["type"] == kind && one["status"] == value) {
            return;
        }
        all.retain(|one| one["type"] != kind);
        all.push(json!({
            "type": kind, "status": value, "reason": reason, "message": message,
            "lastProbeTime": now, "lastTransitionTime": now,
        }));
        status["conditions"] = json!(all);
    };
    let (reason, message, event) = match verdict {
        JobOutcome::Complete => {
            let (reason, message) = ("CompletionsReached", "Reached expected number of succeeded pods");
            set_condition("SuccessCriteriaMet", true, reason, message);
            set_condition("Complete", true, reason, message);
            status["completionTime"] = json!(now);
            ("Completed", "Job completed", "Normal")
        }
        JobOutcome::Failed(reason, message) => {
            set_condition("FailureTarget", true, reason, message);
            set_condition("Failed", true, reason, message);
            (*reason, *message, "Warning")
        }
        JobOutcome::Goes(_) => {
            if suspended {
                set_condition("Suspended", true, "JobSuspended", "Job suspended");
                status["startTime"] = Value::Null;
            } else {
                if core_types::list(&job["status"]["conditions"]).any(|one| one["type"] == "Suspended") {
                    set_condition("Suspended", false, "JobResumed", "Job resumed");
                }
                if status["startTime"].is_null() {
                    status["startTime"] = json!(now);
                }
            }
            return;
        }
    };
    view.record(job, &EventFields { by: NAME, kind: event, reason, action: None, message });
}

/// Removes empty fields.
fn tidied(mut status: Value) -> Value {
    if let Some(fields) = status.as_object_mut() {
        let counted = ["active", "succeeded", "failed"];
        fields.retain(|name, value| !(value.is_null() || counted.contains(&name.as_str()) && *value == 0));
    }
    status
}

/// Deletes a finished Job when its TTL has expired, if it has one.
fn expire(view: &ReconcileContext<'_>, job: &Value) -> Option<Timestamp> {
    let seconds = job["spec"]["ttlSecondsAfterFinished"].as_i64()?;
    let mut ends = core_types::list(&job["status"]["conditions"])
        .filter(|one| (one["type"] == "Complete" || one["type"] == "Failed") && one["status"] == "True");
    let ended = ends.next()?["lastTransitionTime"].as_str()?.parse::<Timestamp>().ok()?;
    let at = ended.saturating_add(SignedDuration::from_secs(seconds)).ok()?;
    if at > view.now {
        return Some(at);
    }
    let how = DeleteOptions {
        uid: Some(uid(job).to_owned()),
        propagation: Some(api::Propagation::Foreground),
        ..DeleteOptions::default()
    };
    let _ = view.server.delete(
        &super::pods::on(jobs(), job),
        &how,
        &WriteOptions::by("ttl-after-finished-controller"),
    );
    None
}
