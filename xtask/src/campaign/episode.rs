//! Runs one episode: starts the controller, changes taints and pods, causes the faults, waits until every due pod has left, and judges.

use super::campaign_cluster::CampaignCluster;
use super::campaign_fault::CampaignFault;
use super::controllers::{CampaignControllers, CampaignSettings};
use super::episode_plan::EpisodePlan;
use super::inflict;
use super::judge::{self, EpisodeVerdict, EpisodeWindow, JudgedDeletion, Misdeed};
use crate::contender::{Contender, Contenders};
use anyhow::{Context as _, Result};
use fastrand::Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::{Duration, Instant};
use taintward_envtest::audit::AuditEntry;
use tokio::time::sleep;

/// After the fault and the last change, every due pod has to leave within this: a new leader waits for the lease of the old one.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(45);
const SETTLE_POLL: Duration = Duration::from_millis(200);

/// What a log says about a request that the controller's own check objects to.
const VIOLATION: &str = "a request violates a property";

/// An episode and its result.
pub(crate) struct EpisodeResult {
    pub(crate) verdict: EpisodeVerdict,
    /// What went wrong besides, such as a replay that differs.
    pub(crate) failures: Vec<String>,
    /// The folder with logs and records, if something went wrong.
    pub(crate) folder: Option<PathBuf>,
}

/// Runs an episode. `folder` is for what each process records and logs, and is removed if all is well.
pub(crate) async fn run(
    campaign: &mut CampaignCluster,
    contenders: &Contenders,
    who: Contender,
    plan: &EpisodePlan,
    folder: &Path,
) -> Result<EpisodeResult> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    let mut rng = Rng::with_seed(plan.seed);
    campaign.timeline.with(super::history::CampaignHistory::forget_past);
    for fault in &plan.faults {
        inflict::prepare(campaign, *fault).await?;
    }
    campaign.audit.read()?;
    let opened = campaign.timeline.now();
    let settings = CampaignSettings {
        who,
        contenders,
        is_elected: plan.any(CampaignFault::is_elected),
        has_policies: plan.any(|fault| fault == CampaignFault::Policies),
        folder,
    };
    let mut controllers = CampaignControllers::start(campaign, settings).await?;
    let started = campaign.timeline.now();
    campaign.churn.send_modify(|mode| mode.runs = true);
    sleep(plan.before).await;
    let begin = campaign.timeline.now();
    let mut inflicted = Vec::new();
    // The second fault needs an API server that answers, and so it begins first.
    for fault in plan.faults.iter().rev() {
        inflicted.push(inflict::begin(campaign, &mut controllers, *fault, &mut rng).await?);
    }
    sleep(plan.lasts).await;
    for one in inflicted.into_iter().rev() {
        inflict::end(campaign, &mut controllers, one).await?;
    }
    let window = EpisodeWindow {
        opened,
        started,
        begin,
        end: campaign.timeline.now(),
        excuses: plan.any(CampaignFault::excuses),
        restored: plan.any(|fault| fault == CampaignFault::Restored),
    };
    sleep(plan.after).await;
    campaign.churn.send_modify(|mode| mode.runs = false);
    let missing = settle(campaign).await;
    let mut failures: Vec<String> =
        controllers.stop().err().map(|error| format!("{error:#}")).into_iter().collect();
    let mut verdict = read(campaign, who, window, plan.any(CampaignFault::loses_log))?;
    verdict.misdeeds.extend(missing.into_iter().map(|pod| {
        (
            Misdeed::Missing,
            format!("pod {pod}: it is due, and still there {} s after the episode", SETTLE_TIMEOUT.as_secs()),
        )
    }));
    failures.extend(controllers.log().lines().filter(|line| line.contains(VIOLATION)).map(str::to_owned));
    failures.extend(controllers.replay().err().map(|error| format!("{error:#}")));
    fs::write(folder.join("controller.log"), controllers.log())?;
    clear(campaign).await?;
    let is_well = failures.is_empty() && (verdict.misdeeds.is_empty() || who == Contender::Original);
    if is_well {
        fs::remove_dir_all(folder)?;
    }
    Ok(EpisodeResult { verdict, failures, folder: (!is_well).then(|| folder.to_owned()) })
}

/// Waits until no pod is due any more, and returns those that stay nevertheless.
async fn settle(campaign: &CampaignCluster) -> Vec<String> {
    let began = Instant::now();
    loop {
        sleep(SETTLE_POLL).await;
        let now = campaign.timeline.now();
        let overdue = campaign.timeline.with(|history| judge::overdue(history, now));
        if overdue.is_empty() || began.elapsed() > SETTLE_TIMEOUT {
            return overdue;
        }
    }
}

/// Reads the audit log, and judges.
fn read(
    campaign: &mut CampaignCluster,
    who: Contender,
    window: EpisodeWindow,
    loses_log: bool,
) -> Result<EpisodeVerdict> {
    let entries = campaign.audit.read()?;
    let (user, timeline) = (campaign.account.user(), &campaign.timeline);
    let at = |entry: &AuditEntry| (timeline.seconds(entry.received), timeline.seconds(entry.completed));
    let is_done = |entry: &&AuditEntry| entry.stage == "ResponseComplete" && (200..300).contains(&entry.code);
    let (ours, others): (Vec<_>, Vec<_>) =
        entries.iter().filter(is_done).partition(|entry| entry.user == user);
    let mut reads: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for entry in ours.iter().filter(|entry| entry.verb == "get" && entry.resource == "nodes") {
        reads.entry(entry.name.clone()).or_default().push(at(entry).0);
    }
    let deleted = campaign.deleted.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ok(timeline.with(|history| {
        let uids: BTreeMap<_, _> = history.pods().iter().map(|(uid, pod)| (pod.name.as_str(), uid)).collect();
        let mut deletions = Vec::new();
        for entry in ours.iter().filter(|entry| is_deletion(entry)) {
            let (received, completed) = at(entry);
            let version = entry.request.pointer("/preconditions/resourceVersion");
            let version = version.and_then(|version| version.as_str()).map(str::to_owned);
            let uid = uids.get(entry.name.as_str()).map_or_else(|| entry.name.clone(), |uid| (*uid).clone());
            deletions.push(JudgedDeletion { uid, version, received, completed, is_logged: true });
        }
        if loses_log {
            let logged: BTreeSet<_> = deletions.iter().map(|deletion| deletion.uid.clone()).collect();
            let by_others = |name: &str, before: f64| {
                deleted.contains(name)
                    || others
                        .iter()
                        .any(|entry| is_deletion(entry) && entry.name == name && at(entry).0 <= before)
            };
            for (uid, pod) in history.pods().iter().filter(|(uid, _)| !logged.contains(*uid)) {
                let first = pod.states.iter().find(|state| state.is_terminating).map(|state| state.at);
                let ended = first.or(pod.gone).filter(|ended| *ended > window.opened);
                if let Some(ended) = ended.filter(|ended| !by_others(&pod.name, *ended)) {
                    let uid = uid.clone();
                    deletions.push(JudgedDeletion {
                        uid,
                        version: None,
                        received: ended,
                        completed: ended,
                        is_logged: false,
                    });
                }
            }
        }
        let reads = (who != Contender::Original).then_some(&reads);
        judge::judge(history, &deletions, reads, window)
    }))
}

fn is_deletion(entry: &AuditEntry) -> bool {
    matches!((entry.verb.as_str(), entry.resource.as_str()), ("delete", "pods") | ("create", "pods/eviction"))
}

/// Removes the lease, for which the next episode's replicas would wait if its holder was killed.
async fn clear(campaign: &CampaignCluster) -> Result<()> {
    match campaign.admin().await?.delete(crate::bench::faults::LEASE, &serde_json::json!({})).await {
        Err(error) if error.code() != Some(404) => Err(error)?,
        _ => Ok(()),
    }
}
