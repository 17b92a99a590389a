//! Runs one contender through one fault: taints nodes, causes the fault, and reads the audit log.

use super::deletion_webhook::{DeletionWebhook, WebhookFault};
use super::fault::FaultKind;
use super::proxy::FaultProxy;
use super::stage::{BINDINGS, IN_FLIGHT, LEAD, NODES, PROBES, SPARED, Stage, WAITING, binding_name};
use super::verdict::{self, FaultVerdict, FaultWindow, PodHistory, WriteSpan};
use crate::bench::load::{PODS, in_parallel};
use crate::contender::{Contender, ContenderOptions, Contenders};
use crate::http;
use crate::server_process::ServerProcess;
use anyhow::{Context as _, Result};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::{Duration, Instant};
use taintward_envtest::api::PatchType;
use taintward_envtest::audit::AuditEntry;
use taintward_envtest::{Account, TestApi};
use tokio::task::JoinSet;
use tokio::time::sleep;

/// For pods that are still there after the last countdown.
const STARTUP_TIMEOUT: f64 = 45.0;
/// In which the contender starts before its certificate expires.
const VALID: Duration = Duration::from_secs(30);
const LONG_VALID: Duration = Duration::from_secs(86_400);
/// Writes after the backup, so that the restored store has lower versions for a while.
const LOST_WRITES: usize = 400;

/// The pause between two looks at the readiness of Taintward.
const READINESS_PERIOD: Duration = Duration::from_millis(250);

/// What a run showed.
pub(crate) struct RunReading {
    pub(crate) verdict: FaultVerdict,
    /// When Taintward was first not ready, in seconds since the begin of the fault.
    pub(crate) unready: Option<f64>,
    /// The statuses of the contender's DELETE requests for pods.
    pub(crate) responses: BTreeMap<u16, usize>,
    /// The contender's log, and its requests as the API server recorded them.
    pub(crate) logs: [String; 2],
}

impl Stage<'_> {
    /// Runs the contender through the fault.
    pub(crate) async fn run(&mut self, contenders: &Contenders, who: Contender) -> Result<RunReading> {
        let kind = self.fault.kind;
        let is_original = who == Contender::Original;
        let account = if is_original { Account::ControllerManager } else { Account::Taintward };
        let admin = self.cluster.api(Account::Admin).await?;
        self.furnish(&admin).await?;
        if let FaultKind::Restored { counting: false } = kind {
            self.cluster.back_up().await?;
            self.cluster.ready(0).await?;
        }
        let expires = self.now() + VALID.as_secs_f64();
        let is_short = matches!(kind, FaultKind::ExpiredCertificate);
        let identity = self.cluster.identity(account, if is_short { VALID } else { LONG_VALID })?;
        let proxy = match kind.needs_proxy() {
            true => Some(FaultProxy::start(self.cluster, &identity).await?),
            false => None,
        };
        let port = proxy.as_ref().map_or(self.cluster.port(0), |proxy| proxy.server.port);
        let kubeconfig = self.cluster.kubeconfig_with(&identity, port)?;
        let flags: Vec<String> = self.fault.flags.iter().map(|&flag| flag.to_owned()).collect();
        let options = ContenderOptions { controllers: None, flags: &flags, kubeconfig: Some(&kubeconfig) };
        let ServerProcess { process: mut program, port } =
            contenders.start(who, self.cluster, &options).await?;
        let lead = if is_short { expires - LEAD.as_secs_f64() - self.now() } else { 1.0 };
        sleep(Duration::from_secs_f64(lead.max(0.0))).await;
        // What the audit log has of earlier runs.
        self.audit.read()?;
        let admin = self.cluster.api(Account::Admin).await?;
        if !matches!(kind, FaultKind::Restored { counting: false }) {
            let spared = (!kind.restores()).then_some(SPARED);
            self.taint(&admin, WAITING.chain(spared)).await?;
        }
        sleep(LEAD).await;
        let mut readiness = JoinSet::new();
        if !is_original {
            readiness.spawn(unready_after(port));
        }
        let (window, lasting) = self.inflict(&admin, proxy.as_ref(), account).await?;
        // A client of the time before may have a dead connection.
        let admin = self.cluster.api(Account::Admin).await?;
        self.taint(&admin, PROBES).await?;
        if self.taints[SPARED].added.is_some() && self.taints[SPARED].removed.is_none() {
            self.write(&admin, [SPARED], &[], |taint, span| taint.removed = Some(span)).await?;
        }
        let left = self.wait(&admin, window).await?;
        let unready = readiness.try_join_next().transpose()?;
        program.expect_running()?;
        program.kill()?;
        if let Some(webhook) = lasting {
            webhook.unregister(&admin).await?;
        }
        let reading = self.read(account, window, &left)?;
        self.clear(&admin).await?;
        let [_, requests] = reading.logs;
        Ok(RunReading { unready, logs: [program.output(), requests], ..reading })
    }

    /// Causes the fault, and ends it unless it is a lasting one. A lasting webhook is returned.
    async fn inflict(
        &mut self,
        admin: &TestApi,
        proxy: Option<&FaultProxy>,
        account: Account,
    ) -> Result<(FaultWindow, Option<DeletionWebhook>)> {
        let (lasts, begin) = (self.fault.lasts, self.now());
        let (mut lifted, mut lasting) = (None, None);
        match self.fault.kind {
            FaultKind::Killed => {
                self.cluster.server(0).kill()?;
                sleep(lasts).await;
                lifted = Some(self.now());
                self.cluster.restart(0).await?;
            }
            FaultKind::Forbidden => {
                let path = format!("{BINDINGS}/{}", binding_name(account));
                let binding = admin.get(&path).await?;
                admin.delete(&path, &json!({})).await?;
                sleep(lasts).await;
                let metadata = json!({"name": binding["metadata"]["name"]});
                let again = json!({"metadata": metadata, "roleRef": binding["roleRef"], "subjects": binding["subjects"]});
                admin.create(BINDINGS, &again).await?;
            }
            FaultKind::Webhook(fault) => {
                let webhook = DeletionWebhook::register(admin, fault).await?;
                sleep(lasts).await;
                match fault {
                    WebhookFault::Deny => webhook.unregister(admin).await?,
                    WebhookFault::Delay(_) => lasting = Some(webhook),
                }
            }
            FaultKind::Proxy(fault) => {
                let proxy = proxy.context("a fault of the proxy without a proxy")?;
                proxy.set(Some(fault));
                sleep(lasts).await;
                proxy.set(None);
            }
            FaultKind::LastingProxy(fault) => {
                proxy.context("a fault of the proxy without a proxy")?.set(Some(fault));
                sleep(lasts).await;
            }
            FaultKind::Cut => {
                let proxy = proxy.context("a cut without a proxy")?;
                proxy.server.cut(true);
                sleep(lasts).await;
                proxy.server.cut(false);
            }
            FaultKind::ExpiredCertificate => {
                sleep(lasts).await;
                let renewed = self.cluster.identity(account, LONG_VALID)?;
                self.cluster.kubeconfig_with(&renewed, self.cluster.port(0))?;
            }
            FaultKind::Restored { counting } => lifted = Some(self.restore(admin, counting).await?),
        }
        let end = self.now();
        let window =
            FaultWindow { begin, lifted: lifted.unwrap_or(end), end, excuses: !self.fault.kind.is_lasting() };
        Ok((window, lasting))
    }

    /// Restores etcd; the taint of the spared node is lost with it. Returns when the API server started.
    async fn restore(&mut self, admin: &TestApi, counting: bool) -> Result<f64> {
        if counting {
            self.cluster.back_up().await?;
            self.cluster.ready(0).await?;
            self.taint(admin, [SPARED]).await?;
        }
        let path = format!("/api/v1/nodes/{}", self.node(NODES - 1));
        in_parallel(0..LOST_WRITES, IN_FLIGHT, async |number| {
            let body = json!({"metadata": {"labels": {"number": number.to_string()}}}).to_string();
            admin.patch(&path, PatchType::Merge, &body).await
        })
        .await?;
        sleep(self.fault.lasts).await;
        let begin = self.now();
        self.cluster.restore().await?;
        if counting {
            self.taints[SPARED].removed = Some(WriteSpan { begin, end: self.now() });
        }
        Ok(begin)
    }

    /// Waits until all pods that had to leave have left and all others had time to be deleted wrongly. Returns the names
    /// of the pods that are left.
    async fn wait(&self, admin: &TestApi, window: FaultWindow) -> Result<BTreeSet<String>> {
        let pods = self.histories(&BTreeMap::new(), &BTreeSet::new());
        let wrong = pods.iter().filter_map(|(_, pod)| {
            Some(pod.taint.added?.end + f64::from(pod.seconds?) + 1.0).filter(|_| pod.deadline().is_none())
        });
        let last = pods.iter().filter_map(|(_, pod)| pod.deadline()).chain(wrong).fold(window.end, f64::max);
        loop {
            sleep(Duration::from_millis(500)).await;
            let list = admin.get(PODS).await?;
            let items = list["items"].as_array().context("a list without items")?;
            let left: BTreeSet<String> =
                items.iter().filter_map(|pod| pod["metadata"]["name"].as_str().map(String::from)).collect();
            let is_waiting = pods.iter().any(|(name, pod)| pod.must_leave() && left.contains(name));
            if self.now() > last + if is_waiting { STARTUP_TIMEOUT } else { 0.0 } {
                return Ok(left);
            }
        }
    }

    fn read(&mut self, account: Account, window: FaultWindow, left: &BTreeSet<String>) -> Result<RunReading> {
        let (mut deleted, mut responses) = (BTreeMap::<String, Vec<WriteSpan>>::new(), BTreeMap::new());
        let (mut success, mut requests) = (None, String::new());
        for entry in self.audit.read()?.iter().filter(|entry| entry.user == account.user()) {
            let at = self.seconds(entry.received);
            let succeeds = (200..300).contains(&entry.code);
            let _ = writeln!(requests, "{at:8.3} {} {} {}", entry.code, entry.verb, entry.uri);
            if succeeds && at >= window.lifted && success.is_none() {
                success = Some(at);
            }
            if is_deletion(entry) {
                *responses.entry(entry.code).or_default() += 1;
                if succeeds {
                    let request = WriteSpan { begin: at, end: self.seconds(entry.completed) };
                    deleted.entry(entry.name.clone()).or_default().push(request);
                }
            }
        }
        let pods: Vec<PodHistory> = self.histories(&deleted, left).into_iter().map(|(_, pod)| pod).collect();
        let verdict = verdict::judge(&pods, window, success);
        let _ = writeln!(requests, "{window:.3?}");
        Ok(RunReading { verdict, unready: None, responses, logs: [String::new(), requests] })
    }
}

/// The seconds until a program is not ready.
async fn unready_after(port: u16) -> f64 {
    let began = Instant::now();
    loop {
        sleep(READINESS_PERIOD).await;
        let response = tokio::task::spawn_blocking(move || http::get(port, "/readyz")).await;
        if matches!(response, Ok(Ok((status, _))) if status != 200) {
            return began.elapsed().as_secs_f64();
        }
    }
}

fn is_deletion(entry: &AuditEntry) -> bool {
    entry.verb == "delete" && entry.resource == "pods" && entry.stage == "ResponseComplete"
}
