//! Sets up the control plane of a campaign: two API servers on one etcd, KWOK, and a link and a proxy for the controller.

use super::churn::{Churn, ChurnMode, GUARDED};
use super::faulty_link::FaultyLink;
use super::timeline::CampaignTimeline;
use crate::bench::faults::{FaultProxy, bind_controller_manager};
use crate::contender::Contender;
use crate::sources;
use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use taintward_envtest::audit::AuditTail;
use taintward_envtest::{Account, Binaries, ChildProcess, Cluster, ClusterConfig, TestApi, binaries, wait};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// The controller's API server.
pub(crate) const DISTURBED: usize = 0;
/// That of all others.
pub(crate) const CALM: usize = 1;

const TIMEOUT: Duration = Duration::from_secs(60);
const VALID: Duration = Duration::from_secs(86_400);

/// A control plane for many episodes.
pub(crate) struct CampaignCluster {
    pub(crate) cluster: Cluster,
    pub(crate) account: Account,
    pub(crate) audit: AuditTail,
    pub(crate) timeline: Arc<CampaignTimeline>,
    pub(crate) kubelets: ChildProcess,
    _budgets: ChildProcess,
    pub(crate) link: FaultyLink,
    pub(crate) proxy: FaultProxy,
    pub(crate) kubeconfig: PathBuf,
    pub(crate) churn: watch::Sender<ChurnMode>,
    pub(crate) deleted: Arc<Mutex<BTreeSet<String>>>,
    _tasks: JoinSet<()>,
}

impl CampaignCluster {
    pub(crate) async fn start(who: Contender, seed: u64) -> Result<Self> {
        let tools = Binaries::find_or_build()?;
        let kwok = binaries::KWOK.find_or_build()?;
        let cluster =
            Cluster::start(&tools, ClusterConfig { servers: 2, gogc: 200, ..ClusterConfig::default() })
                .await?;
        let admin = TestApi::from_kubeconfig(&cluster.kubeconfig(Account::Admin, CALM)).await?;
        let account = match who {
            Contender::Original => Account::ControllerManager,
            _ => Account::Taintward,
        };
        bind_controller_manager(&admin).await?;
        allow_policies(&admin, account).await?;
        let file = sources::root().join("deploy/crds/evictionpolicies.yaml");
        cluster.kubectl(["apply", "--server-side", "--filename", &file.display().to_string()])?;
        wait::until("eviction policies to be served", TIMEOUT, async || {
            Ok(admin.get("/apis/taintward.io/v1alpha1/evictionpolicies").await.ok())
        })
        .await?;
        let kubelets = cluster.kwok(&kwok).await?;
        let budgets = cluster.controller_manager("disruption-controller", &[]).await?;
        admin.create(BUDGETS, &budget()).await?;
        let identity = cluster.identity(account, VALID)?;
        let link = FaultyLink::open(cluster.port(DISTURBED)).await?;
        let proxy = FaultProxy::start(&cluster, &identity).await?;
        let kubeconfig = cluster.kubeconfig_with(&identity, link.port)?;
        let timeline = CampaignTimeline::new();
        let mut tasks = timeline.follow(&admin);
        let (modes, mode) = watch::channel(ChurnMode::default());
        let mut churn = Churn::new(admin.clone(), Arc::clone(&timeline), mode, seed);
        churn.furnish().await.context("creating nodes and pods")?;
        let deleted = churn.deleted();
        tasks.spawn(churn.run());
        let audit = cluster.audit_tail();
        Ok(Self {
            cluster,
            account,
            audit,
            timeline,
            kubelets,
            _budgets: budgets,
            link,
            proxy,
            kubeconfig,
            churn: modes,
            deleted,
            _tasks: tasks,
        })
    }

    /// A client that no fault of the controller's API server concerns.
    pub(crate) async fn admin(&self) -> Result<TestApi> {
        TestApi::from_kubeconfig(&self.cluster.kubeconfig(Account::Admin, CALM)).await
    }
}

const BUDGETS: &str = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";

/// A budget that never allows a disruption.
fn budget() -> Value {
    let selector = json!({"matchLabels": {GUARDED.0: GUARDED.1}});
    json!({"metadata": {"name": "guarded"}, "spec": {"minAvailable": 1_000, "selector": selector}})
}

/// Grants what `--eviction-policies` needs beyond the usual permissions.
async fn allow_policies(admin: &TestApi, account: Account) -> Result<()> {
    const GROUP: &str = "rbac.authorization.k8s.io";
    const NAME: &str = "campaign-policies";
    let rule = |groups: &[&str], resources: &[&str], verbs: &[&str]| json!({"apiGroups": groups, "resources": resources, "verbs": verbs});
    let rules = [
        rule(&["taintward.io"], &["evictionpolicies"], &["list", "watch"]),
        rule(&["taintward.io"], &["evictionpolicies/status"], &["patch"]),
        rule(&[""], &["pods/eviction"], &["create"]),
        rule(&[""], &["namespaces"], &["list", "watch"]),
        rule(&["policy"], &["poddisruptionbudgets"], &["list", "watch"]),
        rule(&["apps"], &["deployments", "replicasets", "statefulsets"], &["list", "watch"]),
    ];
    let role = json!({"metadata": {"name": NAME}, "rules": rules});
    admin.create(&format!("/apis/{GROUP}/v1/clusterroles"), &role).await?;
    let binding = json!({
        "metadata": {"name": NAME}, "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": NAME},
        "subjects": [{"kind": "User", "name": account.user(), "apiGroup": GROUP}],
    });
    admin.create(&format!("/apis/{GROUP}/v1/clusterrolebindings"), &binding).await?;
    Ok(())
}
