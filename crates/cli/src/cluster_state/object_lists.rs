//! Lists the objects of a kind from a cluster or from files.

use super::FileObjects;
use taintward_kube::api::paged_list::{ListRequest, pages};
use taintward_kube::api::{RequestBudget, RequestError};
use taintward_kube::decode::DecodeError;

/// Where objects are listed.
#[derive(Clone, Copy)]
pub(crate) enum ObjectLists<'l> {
    /// A cluster, with the time for one list.
    Cluster(&'l kube::Client, RequestBudget),
    Files(&'l FileObjects),
}

impl ObjectLists<'_> {
    /// Passes each object to `add`. Of files, all objects of the kind are listed, whatever the request selects.
    pub(crate) async fn each(
        &self,
        request: ListRequest<'_>,
        add: &mut (dyn FnMut(&[u8]) -> Result<(), DecodeError> + Send),
    ) -> Result<(), RequestError> {
        match self {
            Self::Cluster(client, limit) => pages(client, request, *limit, add).await,
            Self::Files(objects) => {
                // What cannot be decoded was reported when the files were read.
                objects.each((request.group, request.plural), &mut |json| _ = add(json).ok());
                Ok(())
            }
        }
    }
}
