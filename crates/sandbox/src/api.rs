//! Implements the verbs of an API server on objects, over the store.
//!
//! - Invariant: every write is one transaction of the store.
//! - See `http.rs` for HTTP, `controllers.rs` for what acts on objects.

mod admission_plugin;
mod admit;
mod create;
mod delete;
mod events;
mod eviction;
mod kind;
mod meta;
mod rules;
mod scale;
mod update;
mod user;
mod write_options;

pub use create::CreateResult;
pub use delete::{DeleteOptions, DeleteResult};
pub use update::PatchBody;
pub use user::RequestUser;
pub use write_options::{FieldValidation, Propagation, ResourcePath, WriteOptions};

pub(crate) use events::{from_home as shown, is_shown_otherwise};
pub(crate) use eviction::{is_ready, set_condition};
pub(crate) use kind::check_body;
pub(crate) use meta::{is_ending, is_held};
pub(crate) use scale::{patched as patched_scale, read as read_scale};

use crate::api_status::StatusError;
use crate::clock::VirtualClock;
use crate::defaults::AdmissionDefaults;
use crate::id_generator::IdGenerator;
use crate::resource::ResourceId;
use crate::store::{ObjectStore, StoredObject};
use crate::token::BearerToken;
use admission_plugin::WebhookPlugin;
use serde_json::Value;
use std::sync::Arc;

/// A cluster's API server.
#[derive(Clone)]
pub struct SandboxApi {
    shared: Arc<ApiState>,
    user: Arc<RequestUser>,
}

struct ApiState {
    store: ObjectStore,
    clock: VirtualClock,
    ids: IdGenerator,
    token: BearerToken,
    admission: AdmissionDefaults,
    /// The rules of Taintward's webhook, if they are on.
    gate: Option<WebhookPlugin>,
}

impl SandboxApi {
    /// A server with nothing in it.
    pub fn new(store: ObjectStore, clock: VirtualClock, seed: u64, admission: AdmissionDefaults) -> Self {
        let gate = admission.rules.then(WebhookPlugin::new);
        let (ids, token) = (IdGenerator::new(seed), BearerToken::random());
        let shared = ApiState { store, clock, ids, token, admission, gate };
        Self { shared: Arc::new(shared), user: Arc::default() }
    }

    /// The same server, to which requests come from this account unless they say otherwise.
    #[must_use]
    pub fn as_user(&self, user: RequestUser) -> Self {
        Self { shared: Arc::clone(&self.shared), user: Arc::new(user) }
    }

    /// From whom requests come unless they say otherwise.
    pub(crate) fn user(&self) -> &RequestUser {
        &self.user
    }

    /// The objects.
    pub fn store(&self) -> &ObjectStore {
        &self.shared.store
    }

    /// The cluster's time.
    pub fn clock(&self) -> &VirtualClock {
        &self.shared.clock
    }

    /// Where identities come from.
    pub fn ids(&self) -> &IdGenerator {
        &self.shared.ids
    }

    /// What lets clients on sockets in; within the process it is not asked for.
    pub fn token(&self) -> &BearerToken {
        &self.shared.token
    }

    /// One object, to be worked on.
    pub fn get(&self, number: ResourceId, namespace: &str, name: &str) -> Option<Value> {
        self.shared.store.get(number, &key(namespace, name)).map(|object| object.value())
    }

    /// One object.
    ///
    /// # Errors
    /// 404.
    pub fn read(&self, on: &ResourcePath) -> Result<Arc<StoredObject>, StatusError> {
        let found = self.shared.store.get(on.number, &on.key());
        found.ok_or_else(|| StatusError::not_found(on.number.get(), &on.name))
    }
}

/// What an object is kept under.
pub fn key(namespace: &str, name: &str) -> String {
    match namespace {
        "" => name.to_owned(),
        namespace => format!("{namespace}/{name}"),
    }
}
