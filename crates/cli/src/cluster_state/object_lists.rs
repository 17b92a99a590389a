//! Lists the objects of a kind from a cluster or from files.

use super::{ClusterReader, FileObjects};
use taintward_kube::api::RequestError;
use taintward_kube::api::paged_list::ListRequest;
use taintward_kube::decode::DecodeError;

/// Where objects are listed.
#[derive(Clone, Copy)]
pub(crate) enum ObjectLists<'l, 'c> {
    Cluster(&'l ClusterReader<'c>),
    Files(&'l FileObjects),
}

impl ObjectLists<'_, '_> {
    /// Passes each object to `add`. Of files, all objects of the kind are listed, whatever the request selects.
    pub(crate) async fn each(
        &self,
        request: ListRequest<'_>,
        add: &mut dyn FnMut(&[u8]) -> Result<(), DecodeError>,
    ) -> Result<(), RequestError> {
        match self {
            Self::Cluster(reader) => reader.each(request, add).await,
            Self::Files(objects) => {
                // What cannot be decoded was reported when the files were read.
                objects.each((request.group, request.plural), &mut |json| _ = add(json).ok());
                Ok(())
            }
        }
    }
}
