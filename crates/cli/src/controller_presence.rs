//! Finds out, from leases and Deployments, whether a controller of Taintward may run, before a command waits for it.
//!
//! - Invariant: what cannot be read counts as unknown, never as absent.

use crate::args::controllers::{TAINT_EVICTION, TOLERATION_HOLD, runs};
use serde_json::Value;
use std::time::Duration;
use taintward_kube::api::RequestBudget;
use taintward_kube::api::paged_list;
use taintward_kube::clock::Clock;
use taintward_kube::config::greet;
use taintward_kube::lease_holder;

/// Name of the lease, of the Deployment and of the container of an installation.
const NAME: &str = "taintward";

/// How long to wait for the server's time.
const GREETING_MAX: Duration = Duration::from_secs(5);

/// Whether a controller runs, as far as leases and Deployments show it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ControllerPresence {
    /// Its Deployment lists it.
    Runs,
    /// A process holds the lease, and there is no Deployment that says which controllers it runs: as in a sandbox.
    WithoutDeployment,
    /// No process holds the lease. One that runs without an election holds none.
    NoLease,
    /// The Deployment in this namespace lists other controllers.
    NotListed { namespace: String, list: String },
    /// It cannot be read.
    Unknown,
}

/// Why the controller does not seem to run, as a clause; `None`: it runs, or that is unknown.
pub(crate) async fn absence(client: &kube::Client, controller: &str, limit: RequestBudget) -> Option<String> {
    match presence(client, controller, limit).await {
        ControllerPresence::NoLease => {
            Some(format!("{controller} does not run: no process holds a lease named {NAME}"))
        }
        ControllerPresence::NotListed { namespace, list } => {
            Some(format!("{controller} does not run: deployment {namespace}/{NAME} has --controllers={list}"))
        }
        ControllerPresence::Runs | ControllerPresence::WithoutDeployment | ControllerPresence::Unknown => {
            None
        }
    }
}

/// Whether an installation runs, and does not list the controller.
pub(crate) async fn is_switched_off(client: &kube::Client, controller: &str, limit: RequestBudget) -> bool {
    matches!(presence(client, controller, limit).await, ControllerPresence::NotListed { .. })
}

/// Whether Taintward evicts by itself, and no toleration-hold-controller changes pods; `false` if that is unknown. A process
/// without a Deployment counts as one with the default controllers: toleration-hold-controller is for managed clusters,
/// where Taintward runs in one.
pub(crate) async fn evicts_by_itself(client: &kube::Client, limit: RequestBudget) -> bool {
    match presence(client, TOLERATION_HOLD, limit).await {
        ControllerPresence::WithoutDeployment => true,
        ControllerPresence::NotListed { .. } => absence(client, TAINT_EVICTION, limit).await.is_none(),
        _ => false,
    }
}

async fn presence(client: &kube::Client, controller: &str, limit: RequestBudget) -> ControllerPresence {
    let date = greet(client, GREETING_MAX).await.ok().and_then(|server| server.date);
    let now = date.unwrap_or_else(|| Clock::system().now().wall);
    let Ok(holders) = lease_holder::holders(client, NAME, now, limit).await else {
        return ControllerPresence::Unknown;
    };
    let mut found = ControllerPresence::NoLease;
    for (namespace, _) in holders {
        let on = ("apps", "deployments");
        let deployment = match paged_list::object(client, on, &namespace, NAME, limit).await {
            Ok(Some(json)) => serde_json::from_slice::<Value>(&json).ok(),
            Ok(None) => return ControllerPresence::WithoutDeployment,
            Err(_) => None,
        };
        let Some(deployment) = deployment else { return ControllerPresence::Unknown };
        let list = controllers_of(&deployment).unwrap_or("*");
        if runs(list, controller) {
            return ControllerPresence::Runs;
        }
        found = ControllerPresence::NotListed { namespace, list: list.to_owned() };
    }
    found
}

/// The value of `--controllers` in a Deployment.
pub(crate) fn controllers_of(deployment: &Value) -> Option<&str> {
    let containers = deployment.pointer("/spec/template/spec/containers")?.as_array()?;
    let arguments = containers.iter().filter_map(|container| container["args"].as_array()).flatten();
    arguments.filter_map(Value::as_str).find_map(|argument| argument.strip_prefix("--controllers="))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::controllers::TOLERATION_GUARD;
    use http::{Request, Response};
    use kube::client::Body;
    use serde_json::json;
    use std::convert::Infallible;

    fn deployment(arguments: &Value) -> Value {
        let containers = json!([{"name": NAME, "args": arguments}]);
        json!({"spec": {"template": {"spec": {"containers": containers}}}})
    }

    #[test]
    fn the_deployment_says_which_controllers_run() {
        let of = |arguments: Value| controllers_of(&deployment(&arguments)).map(str::to_owned);
        assert_eq!(of(json!(["run", "-v=0"])), None);
        assert_eq!(of(json!(["run", "--controllers=*"])).as_deref(), Some("*"));
        assert_eq!(controllers_of(&json!({})), None);
        assert!(runs("*,toleration-hold-controller", TOLERATION_HOLD) && !runs("*", TOLERATION_HOLD));
        assert!(!runs("*,toleration-hold-controller", TOLERATION_GUARD));
    }

    /// A server with the lease in these namespaces, and a Deployment with these controllers in the first.
    fn server(leases: &'static [&'static str], list: Option<&'static str>, readable: bool) -> kube::Client {
        let service = tower::service_fn(move |request: Request<Body>| {
            let path = request.uri().path().to_owned();
            let lease = |namespace: &&str| {
                json!({"metadata": {"namespace": namespace, "name": NAME}, "spec": {"holderIdentity": "a",
                    "leaseDurationSeconds": 15, "renewTime": "2100-01-01T00:00:00.000000Z"}})
            };
            let (status, body) = match (path.as_str(), list) {
                ("/version", _) => (200, json!({"gitVersion": "v1.36.3"})),
                ("/apis/coordination.k8s.io/v1/leases", _) if readable => {
                    (200, json!({"items": leases.iter().map(lease).collect::<Vec<_>>()}))
                }
                ("/apis/apps/v1/namespaces/first/deployments/taintward", Some(list)) => {
                    (200, deployment(&json!(["run", format!("--controllers={list}")])))
                }
                ("/apis/coordination.k8s.io/v1/leases", _) => (403, json!({})),
                _ => (404, json!({})),
            };
            let json = Response::builder().status(status).header("content-type", "application/json");
            let body = Body::from(body.to_string().into_bytes());
            async move { Ok::<_, Infallible>(json.body(body).unwrap()) }
        });
        kube::Client::new(service, "default")
    }

    async fn absent(
        leases: &'static [&'static str],
        list: Option<&'static str>,
        readable: bool,
    ) -> Option<String> {
        let limit = RequestBudget::from(Duration::from_secs(5));
        absence(&server(leases, list, readable), TOLERATION_HOLD, limit).await
    }

    #[tokio::test]
    async fn only_what_can_be_read_makes_a_controller_absent() {
        let none = absent(&[], None, true).await.unwrap();
        assert!(none.ends_with("no process holds a lease named taintward"), "{none}");
        let other = absent(&["first"], Some("*"), true).await.unwrap();
        assert!(other.ends_with("deployment first/taintward has --controllers=*"), "{other}");
        let present = "*,toleration-hold-controller";
        for (leases, list, readable) in [
            (&["first"][..], Some(present), true),
            (&["second", "first"], Some(present), true),
            // A process outside of a Deployment may run any controller.
            (&["second"], None, true),
            (&["first", "second"], Some("*"), true),
            (&[], None, false),
        ] {
            assert_eq!(absent(leases, list, readable).await, None, "{leases:?}");
        }
    }

    #[tokio::test]
    async fn taintward_evicts_by_itself_unless_it_holds_pods_or_does_not_evict() {
        for (leases, list, expected) in [
            (&["first"][..], Some("*"), true),
            (&["second"], None, true),
            (&["first"], Some("*,toleration-hold-controller"), false),
            (&["first"], Some("node-lifecycle-controller"), false),
            (&[], Some("*"), false),
        ] {
            let limit = RequestBudget::from(Duration::from_secs(5));
            let evicts = evicts_by_itself(&server(leases, list, true), limit).await;
            assert_eq!(evicts, expected, "{leases:?} {list:?}");
        }
    }
}
