//! Causes the faults of an episode, and ends them.

use super::campaign_cluster::{CALM, CampaignCluster, DISTURBED};
use super::campaign_fault::CampaignFault;
use super::controllers::CampaignControllers;
use super::faulty_link::LinkFault;
use crate::bench::faults::{BINDINGS, DeletionWebhook, LEASE, ProxyFault, WebhookFault, binding_name};
use anyhow::{Context as _, Result};
use fastrand::Rng;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::time::Duration;
use taintward_envtest::TestApi;
use taintward_envtest::api::PatchType;

const POLICIES: &str = "/apis/taintward.io/v1alpha1/evictionpolicies";
const POLICY: &str = "campaign";

/// What a fault needs to end.
pub(crate) struct Inflicted {
    fault: CampaignFault,
    webhook: Option<DeletionWebhook>,
    binding: Option<Value>,
    /// The replica that leads.
    replica: usize,
}

/// Prepares what must precede the start of the controller.
pub(crate) async fn prepare(campaign: &mut CampaignCluster, fault: CampaignFault) -> Result<()> {
    if fault == CampaignFault::Restored {
        campaign.cluster.back_up().await?;
        campaign.cluster.ready(DISTURBED).await?;
        campaign.cluster.ready(CALM).await?;
    }
    Ok(())
}

pub(crate) async fn begin(
    campaign: &mut CampaignCluster,
    controllers: &mut CampaignControllers<'_>,
    fault: CampaignFault,
    rng: &mut Rng,
) -> Result<Inflicted> {
    let mut inflicted = Inflicted { fault, webhook: None, binding: None, replica: 0 };
    let mut milliseconds = |from: u64, to: u64| Duration::from_millis(rng.u64(from..to));
    match fault {
        CampaignFault::None | CampaignFault::Restored => {}
        CampaignFault::ServerKilled => drop(campaign.cluster.server(DISTURBED).kill()?),
        CampaignFault::ServerPaused => campaign.cluster.server(DISTURBED).pause()?,
        CampaignFault::EtcdKilled => drop(campaign.cluster.etcd().kill()?),
        CampaignFault::EtcdPaused => campaign.cluster.etcd().pause()?,
        CampaignFault::OtherServer => campaign.link.lead_to(campaign.cluster.port(CALM)),
        CampaignFault::Cut => campaign.link.set(Some(LinkFault::Cut)),
        CampaignFault::HalfOpen => campaign.link.set(Some(LinkFault::HalfOpen)),
        CampaignFault::Delay => campaign.link.set(Some(LinkFault::Delay(milliseconds(300, 1_000)))),
        CampaignFault::Throttle => {
            campaign.link.set(Some(LinkFault::Throttle(rng.u32(20_000..100_000))));
        }
        CampaignFault::NotFound => lead_to_proxy(campaign, ProxyFault::Foreign(404)),
        CampaignFault::BadGateway => lead_to_proxy(campaign, ProxyFault::Foreign(502)),
        CampaignFault::TooManyRequests => {
            lead_to_proxy(campaign, ProxyFault::TooManyRequests { retry_after: rng.bool() });
        }
        CampaignFault::SlowNodes => {
            lead_to_proxy(campaign, ProxyFault::SlowNodes(milliseconds(1_000, 3_000)))
        }
        CampaignFault::ControllerKilled => controllers.kill(0)?,
        CampaignFault::ControllerPaused => controllers.pause(0)?,
        CampaignFault::LeaderKilled => {
            inflicted.replica = controllers.leader().await?;
            controllers.kill(inflicted.replica)?;
        }
        CampaignFault::LeaderPaused => {
            inflicted.replica = controllers.leader().await?;
            controllers.pause(inflicted.replica)?;
        }
        CampaignFault::LeaseTaken => {
            let now = format!("{:.6}", Timestamp::now());
            let taken = json!({"holderIdentity": "elsewhere", "leaseDurationSeconds": 15, "renewTime": now});
            patch_lease(&campaign.admin().await?, &taken).await?;
        }
        CampaignFault::Forbidden => {
            let (admin, path) = (campaign.admin().await?, binding_path(campaign));
            inflicted.binding = Some(admin.get(&path).await?);
            admin.delete(&path, &json!({})).await?;
        }
        CampaignFault::WebhookDenies => inflicted.webhook = register(campaign, WebhookFault::Deny).await?,
        CampaignFault::WebhookDelays => {
            inflicted.webhook = register(campaign, WebhookFault::Delay(milliseconds(1_000, 2_500))).await?;
        }
        CampaignFault::KubeletsPaused => campaign.kubelets.pause()?,
        CampaignFault::NodesFlap => campaign.churn.send_modify(|mode| mode.flaps = true),
        CampaignFault::NodesReplaced => campaign.churn.send_modify(|mode| mode.replaces = true),
        CampaignFault::Policies => create_policy(&campaign.admin().await?).await?,
    }
    Ok(inflicted)
}

/// Ends a fault. Returns when the cluster is ready again.
pub(crate) async fn end(
    campaign: &mut CampaignCluster,
    controllers: &mut CampaignControllers<'_>,
    inflicted: Inflicted,
) -> Result<()> {
    match inflicted.fault {
        CampaignFault::None => {}
        CampaignFault::ServerKilled => campaign.cluster.restart(DISTURBED).await?,
        CampaignFault::ServerPaused => {
            campaign.cluster.server(DISTURBED).resume()?;
            campaign.cluster.ready(DISTURBED).await?;
        }
        CampaignFault::EtcdKilled => {
            campaign.cluster.restart_etcd().await?;
            both_ready(campaign).await?;
        }
        CampaignFault::EtcdPaused => {
            campaign.cluster.etcd().resume()?;
            both_ready(campaign).await?;
        }
        CampaignFault::Restored => {
            // What changes between the restore and the next list is not observed.
            campaign.churn.send_modify(|mode| mode.runs = false);
            campaign.cluster.restore().await?;
            campaign.timeline.list_again().await?;
            campaign.churn.send_modify(|mode| mode.runs = true);
        }
        CampaignFault::OtherServer => campaign.link.lead_to(campaign.cluster.port(DISTURBED)),
        CampaignFault::Cut | CampaignFault::HalfOpen | CampaignFault::Delay | CampaignFault::Throttle => {
            campaign.link.set(None);
        }
        CampaignFault::NotFound
        | CampaignFault::BadGateway
        | CampaignFault::TooManyRequests
        | CampaignFault::SlowNodes => {
            campaign.proxy.set(None);
            campaign.link.lead_to(campaign.cluster.port(DISTURBED));
        }
        CampaignFault::ControllerKilled | CampaignFault::LeaderKilled => {
            controllers.restart(campaign, inflicted.replica).await?;
        }
        CampaignFault::ControllerPaused | CampaignFault::LeaderPaused => {
            controllers.resume(inflicted.replica)?
        }
        CampaignFault::LeaseTaken => {
            patch_lease(&campaign.admin().await?, &json!({"holderIdentity": ""})).await?;
        }
        CampaignFault::Forbidden => {
            let old = inflicted.binding.context("a binding that was removed")?;
            let metadata = json!({"name": old["metadata"]["name"]});
            let binding =
                json!({"metadata": metadata, "roleRef": old["roleRef"], "subjects": old["subjects"]});
            match campaign.admin().await?.create(BINDINGS, &binding).await {
                // A store that was restored has it again.
                Err(error) if error.code() != Some(409) => Err(error)?,
                _ => {}
            }
        }
        CampaignFault::WebhookDenies | CampaignFault::WebhookDelays => {
            let webhook = inflicted.webhook.context("a webhook that was registered")?;
            webhook.unregister(&campaign.admin().await?).await?;
        }
        CampaignFault::KubeletsPaused => campaign.kubelets.resume()?,
        CampaignFault::NodesFlap => campaign.churn.send_modify(|mode| mode.flaps = false),
        CampaignFault::NodesReplaced => campaign.churn.send_modify(|mode| mode.replaces = false),
        CampaignFault::Policies => {
            campaign.admin().await?.delete(&format!("{POLICIES}/{POLICY}"), &json!({})).await?;
        }
    }
    Ok(())
}

fn lead_to_proxy(campaign: &CampaignCluster, fault: ProxyFault) {
    campaign.proxy.set(Some(fault));
    campaign.link.lead_to(campaign.proxy.server.port);
}

async fn both_ready(campaign: &mut CampaignCluster) -> Result<()> {
    campaign.cluster.ready(DISTURBED).await?;
    campaign.cluster.ready(CALM).await
}

fn binding_path(campaign: &CampaignCluster) -> String {
    format!("{BINDINGS}/{}", binding_name(campaign.account))
}

async fn register(campaign: &CampaignCluster, fault: WebhookFault) -> Result<Option<DeletionWebhook>> {
    DeletionWebhook::register(&campaign.admin().await?, fault).await.map(Some)
}

async fn patch_lease(admin: &TestApi, spec: &Value) -> Result<()> {
    admin.patch(LEASE, PatchType::Merge, &json!({"spec": spec}).to_string()).await?;
    Ok(())
}

async fn create_policy(admin: &TestApi) -> Result<()> {
    let policy = json!({
        "apiVersion": "taintward.io/v1alpha1", "kind": "EvictionPolicy", "metadata": {"name": POLICY},
        "spec": {"respectBudgets": {"deadlineSeconds": 3600}},
    });
    admin.create(POLICIES, &policy).await?;
    Ok(())
}
