//! Implements the verbs of an API server on objects, over the store.
//!
//! - Invariant: every write is one transaction of the store.
//! - See `http.rs` for HTTP.

mod admission_plugin;
mod conversion;
mod restore;
mod user;
mod write;
mod write_options;

pub use admission_plugin::{AdmissionAttributes, AdmissionPlugin};
pub use user::RequestUser;
pub use write::{CreateResult, DeleteOptions, DeleteResult, is_ending, is_held, is_ready, set_condition};
pub use write_options::{FieldValidation, PatchBody, Propagation, ResourcePath, WriteOptions};

pub(crate) use conversion::{from_home as shown, is_shown_otherwise};
pub(crate) use write::{check_body, scale_of};

use crate::api_status::StatusError;
use crate::clock::VirtualClock;
use crate::defaults::AdmissionDefaults;
use crate::id_generator::IdGenerator;
use crate::resource::ResourceId;
use crate::store::{HistoryLimits, ObjectStore, StoredObject};
use crate::token::BearerToken;
use jiff::Timestamp;
use serde_json::Value;
use std::sync::Arc;

/// Settings of an API server.
#[derive(Clone)]
pub struct ApiServerSettings {
    /// The same seed gives the same UIDs and generated names.
    pub seed: u64,
    /// The cluster's time.
    pub clock: VirtualClock,
    /// How much history watches can start from.
    pub history: HistoryLimits,
    /// Which admission defaults are applied to new objects.
    pub admission: AdmissionDefaults,
    /// Admission plugins, called in this order.
    pub plugins: Vec<Arc<dyn AdmissionPlugin>>,
    /// The suffix of `gitVersion` in `/version`, by which clients can identify this server.
    pub version_suffix: &'static str,
}

impl Default for ApiServerSettings {
    fn default() -> Self {
        Self {
            seed: 1,
            clock: VirtualClock::starting(Timestamp::now(), 1.0),
            history: HistoryLimits::default(),
            admission: AdmissionDefaults::default(),
            plugins: Vec::new(),
            version_suffix: "+fakekube",
        }
    }
}

/// A cluster's API server.
#[derive(Clone)]
pub struct ApiServer {
    shared: Arc<ApiState>,
    user: Arc<RequestUser>,
}

struct ApiState {
    store: ObjectStore,
    clock: VirtualClock,
    ids: IdGenerator,
    token: BearerToken,
    admission: AdmissionDefaults,
    plugins: Vec<Arc<dyn AdmissionPlugin>>,
    version_suffix: &'static str,
}

impl ApiServer {
    /// Creates an empty server.
    pub fn new(settings: ApiServerSettings) -> Self {
        let ApiServerSettings { seed, clock, history, admission, plugins, version_suffix } = settings;
        let (store, ids, token) = (ObjectStore::new(history), IdGenerator::new(seed), BearerToken::random());
        let shared = ApiState { store, clock, ids, token, admission, plugins, version_suffix };
        Self { shared: Arc::new(shared), user: Arc::default() }
    }

    /// The same server, with `user` as the user of requests that do not impersonate one.
    #[must_use]
    pub fn as_user(&self, user: RequestUser) -> Self {
        Self { shared: Arc::clone(&self.shared), user: Arc::new(user) }
    }

    /// The user of requests that do not impersonate one.
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

    /// The bearer token that clients on sockets must send. Requests within the process need none.
    pub fn token(&self) -> &BearerToken {
        &self.shared.token
    }

    /// What `gitVersion` ends with.
    pub(crate) fn version_suffix(&self) -> &'static str {
        self.shared.version_suffix
    }

    /// A mutable copy of one object.
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

/// The key that the store uses for an object.
pub fn key(namespace: &str, name: &str) -> String {
    match namespace {
        "" => name.to_owned(),
        namespace => format!("{namespace}/{name}"),
    }
}
