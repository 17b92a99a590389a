//! Runs the commands about the tolerationSeconds of pods: `hold`, `release`, `guard` and `backfill`.
//!
//! - Each writes at most annotations or labels; controllers of Taintward change the pods.

pub(crate) mod backfill;
pub(crate) mod controller_wait;
pub(crate) mod guard;
pub(crate) mod hold;

use taintward_core::admission::policy::TolerationPolicy;
use taintward_core::api_error::ApiFailure;
use taintward_kube::api::paged_list::{ListRequest, pages};
use taintward_kube::api::{RequestBudget, RequestError};
use taintward_kube::decode::{Decoded, PolicyObject, WatchedObject};

/// Why pods, or the policies of their namespaces, are unknown.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClusterReadError {
    #[error("{0}")]
    Read(#[from] RequestError),
    #[error(
        "cannot decode TolerationPolicy {name}: {why}; its namespaces are unknown, so the controller patches no pods; \
         correct the policy, or delete it"
    )]
    Policy { name: String, why: String },
}

/// Passes each object of a list that can be decoded to `take`, with its JSON.
pub(crate) async fn each<F: WatchedObject>(
    client: &kube::Client,
    request: ListRequest<'_>,
    limit: RequestBudget,
    mut take: impl FnMut(F, &[u8]),
) -> Result<(), RequestError> {
    let decode = &mut |body: &[u8]| {
        if let Decoded::Object(object) = F::from_json(body) {
            take(object, body);
        }
        Ok(())
    };
    pages(client, request, limit, decode).await
}

/// All policies; none if the kind is not defined.
pub(crate) async fn policies(
    client: &kube::Client,
    limit: RequestBudget,
) -> Result<Vec<TolerationPolicy>, ClusterReadError> {
    let listing = ListRequest::all(PolicyObject::RESOURCE.group, PolicyObject::RESOURCE.plural);
    let (mut policies, mut odd) = (Vec::new(), None);
    let decode = &mut |body: &[u8]| {
        match PolicyObject::from_json(body) {
            Decoded::Object(object) => policies.push(object.policy),
            Decoded::Undecodable(object) => odd = Some(object),
            Decoded::Unbound(_) => {}
        }
        Ok(())
    };
    match pages(client, listing, limit, decode).await {
        Err(why) if why.failure != ApiFailure::NotFound => return Err(why.into()),
        _ => {}
    }
    match odd {
        Some(object) => Err(ClusterReadError::Policy {
            name: object.identity.map(|identity| identity.name).unwrap_or_default(),
            why: object.why,
        }),
        None => Ok(policies),
    }
}
