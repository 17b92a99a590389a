//! Calls admission plugins after the defaults, within the transaction that writes.
//!
//! - Invariant: every plugin may change an object before any plugin validates it.
//! - See `defaults.rs` for the admission that every cluster has.

use super::{ResourcePath, WriteOptions};
use crate::api_status::StatusError;
use crate::store::Transaction;
use serde_json::Value;

/// An admission request.
pub struct AdmissionAttributes<'a> {
    /// The path of the request, which may name a subresource.
    pub path: &'a ResourcePath,
    /// The object that this write replaces; `None` for a create.
    pub old: Option<&'a Value>,
    /// The writer and the options of the write.
    pub options: &'a WriteOptions,
    /// All objects of the cluster, as they are before this write.
    pub objects: &'a Transaction<'a>,
}

/// Changes and validates objects before they are stored, like an API server's admission plugins and webhooks. The
/// server calls it for every resource and subresource, but not for deletions. No other write happens meanwhile.
///
/// ```
/// use fakekube::api::{AdmissionAttributes, AdmissionPlugin, ApiServer, ApiServerSettings, ResourcePath, WriteOptions};
/// use fakekube::api_status::StatusError;
/// use fakekube::resource::known;
/// use serde_json::{Value, json};
/// use std::sync::Arc;
///
/// struct RequireTeam;
///
/// impl AdmissionPlugin for RequireTeam {
///     fn validate(
///         &self,
///         attributes: &AdmissionAttributes<'_>,
///         object: &Value,
///         _: &mut Vec<String>,
///     ) -> Result<(), StatusError> {
///         let resource = attributes.path.number.get();
///         match resource.plural == "configmaps" && object["metadata"]["labels"]["team"].is_null() {
///             true => Err(StatusError::forbidden(resource, "", "a label team is needed")),
///             false => Ok(()),
///         }
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let plugins: Vec<Arc<dyn AdmissionPlugin>> = vec![Arc::new(RequireTeam)];
/// let server = ApiServer::new(ApiServerSettings { plugins, ..ApiServerSettings::default() });
/// server.bootstrap();
/// let path = ResourcePath::object(known("", "configmaps"), "default", "");
/// let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}});
/// let rejected = server.create(&path, config, &WriteOptions::default()).unwrap_err();
/// assert_eq!(rejected.code, 403);
/// # }
/// ```
pub trait AdmissionPlugin: Send + Sync {
    /// Changes or rejects an object.
    ///
    /// # Errors
    /// The error that the client receives if the object is rejected.
    fn admit(
        &self,
        attributes: &AdmissionAttributes<'_>,
        object: &mut Value,
        warnings: &mut Vec<String>,
    ) -> Result<(), StatusError> {
        let _ = (attributes, object, warnings);
        Ok(())
    }

    /// Validates an object after all changes.
    ///
    /// # Errors
    /// The error that the client receives if the object is rejected.
    fn validate(
        &self,
        attributes: &AdmissionAttributes<'_>,
        object: &Value,
        warnings: &mut Vec<String>,
    ) -> Result<(), StatusError> {
        let _ = (attributes, object, warnings);
        Ok(())
    }
}
