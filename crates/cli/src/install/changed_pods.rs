//! Refuses to remove the controller that gives pods their own seconds back, while pods are held or have a ceiling.
//!
//! - An uninstallation lists pods in any case: a process outside of the cluster may have changed them. Otherwise the
//!   present Deployment says which controllers run, and pods are listed only if one of these is to go.

use super::install_args::{InstallAction, InstallArgs, InstallPart};
use super::{InstallError, NAME};
use crate::args::controllers::{self, TOLERATION_GUARD, TOLERATION_HOLD};
use crate::controller_presence::controllers_of;
use crate::messages::counted;
use crate::output::enumerated;
use crate::toleration_seconds::each;
use serde_json::Value;
use taintward_kube::api::RequestError;
use taintward_kube::api::paged_list::ListRequest;
use taintward_kube::config::Connected;
use taintward_kube::decode::DecodedPod;
use taintward_kube::node_client::NodeRequestError;
use taintward_kube::object_client::{ObjectClient, ObjectRef};

/// The maximum number of pods in the message.
const NAMED_MAX: usize = 3;

/// Why nothing was changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChangedPodsError {
    #[error(
        "nothing was changed: {controllers} has changed the seconds of {} ({}), and only it restores them; while it \
         runs, type `taintward release --all` and `taintward guard off --all`, and wait until they end; or use \
         --keep-seconds to leave the pods as they are", counted(pods.len(), "pod"), enumerated(pods, NAMED_MAX)
    )]
    Changed { controllers: String, pods: Vec<String> },
    #[error("cannot check whether pods are held or guarded: {0}; use --keep-seconds to skip this check")]
    Unknown(String),
}

/// Which of the two controllers a list enables.
fn enabled(list: &str) -> [bool; 2] {
    [TOLERATION_HOLD, TOLERATION_GUARD].map(|name| controllers::runs(list, name))
}

/// Which of the two controllers the present Deployment runs.
async fn running(server: &ObjectClient, namespace: &str) -> Result<[bool; 2], ChangedPodsError> {
    let (group, version, plural) = ("apps", "v1", "deployments");
    let deployment = ObjectRef { group, version, plural, namespace, name: NAME };
    let unknown = |why: NodeRequestError| ChangedPodsError::Unknown(why.to_string());
    let present = server.read(deployment).await.map_err(unknown)?;
    let present = present.and_then(|present| serde_json::from_slice::<Value>(&present.body).ok());
    Ok(present.as_ref().and_then(controllers_of).map_or([false; 2], enabled))
}

/// Checks that no pod needs a controller that the command removes.
pub(crate) async fn check(
    connected: &Connected,
    server: &ObjectClient,
    options: &InstallArgs,
) -> Result<(), InstallError> {
    let values = &options.values;
    if options.keep_seconds || !values.has(InstallPart::Controller) {
        return Ok(());
    }
    let go = match options.action() {
        InstallAction::Remove(..) => [true; 2],
        _ => {
            let (run, stay) =
                (running(server, &values.common.namespace).await?, enabled(&values.controller.controllers));
            [run[0] && !stay[0], run[1] && !stay[1]]
        }
    };
    let names: Vec<&str> = [TOLERATION_HOLD, TOLERATION_GUARD]
        .into_iter()
        .zip(go)
        .filter_map(|(name, go)| go.then_some(name))
        .collect();
    if names.is_empty() {
        return Ok(());
    }
    let pods =
        changed(connected, options, go).await.map_err(|why| ChangedPodsError::Unknown(why.to_string()))?;
    match pods.is_empty() {
        true => Ok(()),
        false => Err(ChangedPodsError::Changed { controllers: names.join(" and "), pods }.into()),
    }
}

/// The pods with an annotation of one of these controllers.
async fn changed(
    connected: &Connected,
    options: &InstallArgs,
    [hold, guard]: [bool; 2],
) -> Result<Vec<String>, RequestError> {
    let fields = "spec.nodeName!=";
    let request = ListRequest { group: "", plural: "pods", namespace: "", selector: "", fields };
    let mut found = Vec::new();
    each(&connected.streams, request, options.server.timeout, |pod: DecodedPod, _| {
        if let Some(pod) = pod.for_holds()
            && ((hold && pod.records.hold) || (guard && pod.records.guard))
        {
            found.push(pod.id.name().to_string());
        }
    })
    .await?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_says_which_pods_and_what_to_do() {
        let pods = |count: usize| (0..count).map(|at| format!("shop/p{at}")).collect();
        let text =
            |pods| ChangedPodsError::Changed { controllers: TOLERATION_HOLD.to_owned(), pods }.to_string();
        assert!(
            text(pods(1)).contains("toleration-hold-controller has changed the seconds of 1 pod (shop/p0)")
        );
        assert!(text(pods(5)).contains("5 pods (shop/p0, shop/p1, shop/p2 and 2 more)"));
    }
}
