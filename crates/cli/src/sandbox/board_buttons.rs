//! Performs the actions of the board's buttons.

use super::kube_client;
use crate::board::{CommandRunner, SandboxAction, SandboxControls, taint_fault};
use crate::messages::counted;
use fakekube::api::ApiServer;
use futures::future::BoxFuture;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use std::sync::Arc;
use taintward_core::time::Wall;
use taintward_kube::clock::ClockRate;
use taintward_sandbox::snapshot;
use tokio::sync::watch;

/// The allowed speeds of a sandbox.
pub(super) const SPEEDS: std::ops::RangeInclusive<f64> = 0.01..=10_000.0;

/// The largest number of replicas to scale to, so that a typing error does not exhaust the memory.
const REPLICAS_MAX: u32 = 10_000;

/// The actions of the board on a sandbox.
pub(super) struct BoardButtons {
    pub(super) server: ApiServer,
    pub(super) commands: Arc<CommandRunner>,
    /// The speed of Taintward's clock.
    pub(super) rate: watch::Sender<ClockRate>,
}

impl SandboxControls for BoardButtons {
    fn act(&self, action: SandboxAction) -> BoxFuture<'_, Result<String, String>> {
        Box::pin(self.done(action))
    }
}

impl BoardButtons {
    async fn done(&self, action: SandboxAction) -> Result<String, String> {
        if let Some(flag) = action.names().into_iter().find(|name| name.starts_with('-')) {
            return Err(format!("{flag:?} is invalid, because it begins as a flag; name a node and a taint"));
        }
        match action {
            SandboxAction::Taint { node, taint } => {
                if let Some(fault) = taint_fault(&taint) {
                    return Err(fault);
                }
                self.command(&["taint", "node", &node, &taint, "--overwrite=true", "--yes"]).await?;
                Ok(format!("node/{node} tainted"))
            }
            SandboxAction::Untaint { node, taint } => {
                self.command(&["taint", "node", &node, &format!("{taint}-"), "--yes"]).await?;
                Ok(format!("node/{node} untainted"))
            }
            SandboxAction::Silence { node } => self.command(&["sandbox", "node", "silence", &node]).await,
            SandboxAction::Recover { node } => self.command(&["sandbox", "node", "recover", &node]).await,
            SandboxAction::Cordon { node } => {
                self.patch(NODE, "", &node, json!({"spec": {"unschedulable": true}})).await?;
                Ok(format!("node/{node} cordoned"))
            }
            SandboxAction::Uncordon { node } => {
                self.patch(NODE, "", &node, json!({"spec": {"unschedulable": null}})).await?;
                Ok(format!("node/{node} uncordoned"))
            }
            SandboxAction::Scale { workload, replicas } => self.scale(&workload, replicas).await,
            SandboxAction::Load { text } => self.load(&text),
            SandboxAction::Speed { speed } => self.set_speed(speed),
        }
    }

    /// The output of a command, without the final line break.
    async fn command(&self, words: &[&str]) -> Result<String, String> {
        match self.commands.run(words).await {
            Ok(output) => Ok(output.trim_end().to_owned()),
            Err(why) => Err(why.to_string()),
        }
    }

    async fn patch(
        &self,
        (group, kind, plural): (&str, &str, &str),
        namespace: &str,
        name: &str,
        patch: Value,
    ) -> Result<(), String> {
        let api_version = if group.is_empty() { "v1".to_owned() } else { format!("{group}/v1") };
        let resource = ApiResource {
            group: group.to_owned(),
            version: "v1".to_owned(),
            api_version,
            kind: kind.to_owned(),
            plural: plural.to_owned(),
        };
        let client = kube_client(&self.server);
        let objects: Api<DynamicObject> = match namespace {
            "" => Api::all_with(client, &resource),
            namespace => Api::namespaced_with(client, namespace, &resource),
        };
        match objects.patch_metadata(name, &PatchParams::default(), &Patch::Merge(patch)).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) => Err(status.message.clone()),
            Err(why) => Err(why.to_string()),
        }
    }

    async fn scale(&self, workload: &str, replicas: u32) -> Result<String, String> {
        if replicas > REPLICAS_MAX {
            return Err(format!(
                "cannot scale to {replicas} replicas: the board's limit is {REPLICAS_MAX}; enter a smaller number"
            ));
        }
        let [kind, namespace, name] = *workload.splitn(3, '/').collect::<Vec<_>>() else {
            return Err("expected a workload as Kind/namespace/name".to_owned());
        };
        let plural = match kind {
            "Deployment" => "deployments",
            "StatefulSet" => "statefulsets",
            _ => {
                return Err(format!(
                    "cannot scale a {kind}: it has no number of replicas; choose a Deployment or a StatefulSet"
                ));
            }
        };
        let patch = json!({"spec": {"replicas": replicas}});
        self.patch(("apps", kind, plural), namespace, name, patch).await?;
        Ok(format!("{}/{name} scaled to {}", kind.to_ascii_lowercase(), counted(replicas as usize, "pod")))
    }

    fn load(&self, text: &str) -> Result<String, String> {
        let loaded = snapshot::load(&self.server, text.as_bytes()).map_err(|why| why.to_string())?;
        let objects = counted(loaded.objects, "object");
        Ok(match loaded.left_out.first() {
            None => format!("{objects} loaded"),
            Some(first) => {
                format!("{objects} loaded, {} skipped; the first: {first}", loaded.left_out_count)
            }
        })
    }

    fn set_speed(&self, speed: f64) -> Result<String, String> {
        if !SPEEDS.contains(&speed) {
            return Err(format!("{speed} is not a speed; expected {} to {}", SPEEDS.start(), SPEEDS.end()));
        }
        let rate = self.server.clock().set_speed(speed);
        let wall = Wall::from_micros(rate.at.as_microsecond());
        self.rate.send_replace(ClockRate { since: rate.began, wall, speed });
        Ok(format!("the cluster's time runs at {speed} times the speed of real time"))
    }
}

/// The resource of nodes: group, kind, plural.
const NODE: (&str, &str, &str) = ("", "Node", "nodes");
