//! Asks admission plugins about objects, after the defaults and in the transaction that writes.
//!
//! - Invariant: every plugin may change an object before any plugin validates it.
//! - See `defaults.rs` for the admission that every cluster has.

use super::{ResourcePath, WriteOptions};
use crate::api_status::StatusError;
use crate::store::Transaction;
use serde_json::Value;

/// An object on its way in.
pub struct AdmissionAttributes<'a> {
    /// Where it is written; a subresource too.
    pub path: &'a ResourcePath,
    /// What it takes the place of; `None` if it is new.
    pub old: Option<&'a Value>,
    /// Who writes it, and how.
    pub options: &'a WriteOptions,
    /// All objects of the cluster, as they are before this write.
    pub objects: &'a Transaction<'a>,
}

/// Rules about objects on their way in, asked as an API server asks its admission plugins and webhooks. They are asked
/// of every resource and subresource, of deletions not. No other write happens meanwhile.
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
/// let refused = server.create(&path, config, &WriteOptions::default()).unwrap_err();
/// assert_eq!(refused.code, 403);
/// # }
/// ```
pub trait AdmissionPlugin: Send + Sync {
    /// Changes an object, or refuses it.
    ///
    /// # Errors
    /// What the client is told if the object is refused.
    fn admit(
        &self,
        attributes: &AdmissionAttributes<'_>,
        object: &mut Value,
        warnings: &mut Vec<String>,
    ) -> Result<(), StatusError> {
        let _ = (attributes, object, warnings);
        Ok(())
    }

    /// Judges an object that is changed no more.
    ///
    /// # Errors
    /// What the client is told if the object is refused.
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
