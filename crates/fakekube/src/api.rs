//! Implements the verbs of an API server on objects, over the store.
//!
//! - Invariant: every write is one transaction of the store.
//! - See `http.rs` for HTTP.

mod admission_plugin;
mod events;
mod restore;
mod user;
mod write;
mod write_options;

pub use admission_plugin::{AdmissionAttributes, AdmissionPlugin};
pub use user::RequestUser;
pub use write::{CreateResult, DeleteOptions, DeleteResult, is_ending, is_held, is_ready, set_condition};
pub use write_options::{FieldValidation, PatchBody, Propagation, ResourcePath, WriteOptions};

pub(crate) use events::{from_home as shown, is_shown_otherwise};
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

/// What an API server is like.
#[derive(Clone)]
pub struct ApiServerSettings {
    /// The same seed gives the same UIDs and generated names.
    pub seed: u64,
    /// The cluster's time.
    pub clock: VirtualClock,
    /// How much of the past watches can begin with.
    pub history: HistoryLimits,
    /// What is done to objects on their way in.
    pub admission: AdmissionDefaults,
    /// Rules about objects on their way in, asked in this order.
    pub plugins: Vec<Arc<dyn AdmissionPlugin>>,
    /// What `gitVersion` of `/version` ends with, so that clients can tell what they speak to.
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
    /// A server with nothing in it.
    pub fn new(settings: ApiServerSettings) -> Self {
        let ApiServerSettings { seed, clock, history, admission, plugins, version_suffix } = settings;
        let (store, ids, token) = (ObjectStore::new(history), IdGenerator::new(seed), BearerToken::random());
        let shared = ApiState { store, clock, ids, token, admission, plugins, version_suffix };
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

    /// What `gitVersion` ends with.
    pub(crate) fn version_suffix(&self) -> &'static str {
        self.shared.version_suffix
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
