//! Warns at the start if another Taintward holds another lease: an election separates only processes with one lease.
//!
//! - Needs no permission: an account that may not list leases of all namespaces is not warned, and sends no request that
//!   the server would reject.

use super::super::PROBE_MAX;
use crate::settings::{ControllerSettings, ElectionSettings, WriteMode};
use taintward_core::time::Wall;
use taintward_kube::api::{Permission, RequestError, check_access};
use taintward_kube::clock::Clock;
use taintward_kube::lease_holder;

pub(crate) async fn report(client: kube::Client, settings: ControllerSettings, clock: Clock) {
    if settings.mode == WriteMode::Observe {
        return;
    }
    let list = Permission::everywhere("list", "coordination.k8s.io", "leases");
    match check_access(&client, &[list], None, PROBE_MAX).await {
        Ok(missing) if missing.is_empty() => {}
        Ok(_) => return tracing::debug!("may not look for other leases"),
        Err(why) => return tracing::debug!(err = %why.message, "cannot look for other leases"),
    }
    match held(&client, settings.election.as_ref(), clock.now().wall).await {
        Ok(others) => {
            for (lease, holder) in others {
                tracing::warn!(
                    lease,
                    holder,
                    remedy = "end one of the two, or give both the same --leader-elect-resource-namespace and \
                              --leader-elect-resource-name",
                    "another taintward holds another lease, so both act"
                );
            }
        }
        Err(why) => tracing::warn!(err = %why.message, "cannot look for other leases"),
    }
}

/// The other leases with the name of this process's lease, or with the usual name, each with its holder.
async fn held(
    client: &kube::Client,
    own: Option<&ElectionSettings>,
    now: Wall,
) -> Result<Vec<(String, String)>, RequestError> {
    let usual = ElectionSettings::default().name;
    let own_name = own.map(|own| &own.name).filter(|name| **name != usual);
    let mut others = Vec::new();
    for name in own_name.into_iter().chain([&usual]) {
        for (namespace, holder) in lease_holder::holders(client, name, now, PROBE_MAX).await? {
            if own.is_none_or(|own| (&own.namespace, &own.name) != (&namespace, name)) {
                others.push((format!("{namespace}/{name}"), holder));
            }
        }
    }
    Ok(others)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{Request, Response};
    use kube::client::Body;
    use std::convert::Infallible;

    /// A server with one lease of the usual name in each of two namespaces, and an abandoned one in a third.
    fn server() -> kube::Client {
        let lease = |namespace: &str, renewed: &str| {
            format!(
                r#"{{"metadata": {{"namespace": "{namespace}", "name": "taintward"}}, "spec": {{"holderIdentity":
                   "pod-of-{namespace}", "leaseDurationSeconds": 15, "renewTime": "{renewed}"}}}}"#
            )
        };
        let items = [
            lease("kube-system", "2026-11-21T13:59:59.000000Z"),
            lease("ops", "2026-11-21T13:59:58.000000Z"),
            lease("old", "2026-11-20T13:59:59.000000Z"),
        ];
        let list = format!(r#"{{"items": [{}]}}"#, items.join(","));
        let service = tower::service_fn(move |request: Request<Body>| {
            let query = request.uri().query().unwrap_or_default();
            let body = match query.contains("metadata.name%3Dtaintward") || query.ends_with("=taintward") {
                true => list.clone(),
                false => r#"{"items": []}"#.to_owned(),
            };
            async move {
                let json = Response::builder().header("content-type", "application/json");
                Ok::<_, Infallible>(json.body(Body::from(body.into_bytes())).unwrap())
            }
        });
        kube::Client::new(service, "default")
    }

    async fn others(own: Option<(&str, &str)>) -> Vec<String> {
        let own = own.map(|(namespace, name)| ElectionSettings {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            ..ElectionSettings::default()
        });
        let now: jiff::Timestamp = "2026-11-21T14:00:00Z".parse().unwrap();
        let now = Wall::from_micros(now.as_microsecond());
        let found = held(&server(), own.as_ref(), now).await.unwrap();
        found.into_iter().map(|(lease, holder)| format!("{lease} {holder}")).collect()
    }

    #[tokio::test]
    async fn every_held_lease_but_the_own_one_is_another() {
        let (usual, ops) = ("kube-system/taintward pod-of-kube-system", "ops/taintward pod-of-ops");
        assert_eq!(others(Some(("kube-system", "taintward"))).await, [ops]);
        assert_eq!(others(Some(("ops", "taintward"))).await, [usual]);
        assert_eq!(others(Some(("kube-system", "mine"))).await, [usual, ops]);
        assert_eq!(others(None).await, [usual, ops]);
    }
}
