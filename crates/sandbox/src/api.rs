//! # Api: what an API server does with a request
//! Room:     the server's state and its verbs on objects; HTTP on top of them.
//! Comes in: requests, from a socket or from within the process.
//! Goes out: answers, streams of changes; every write goes into the store in one transaction.
//! Not here: what lives in the cluster (`life`), sockets (`serve.rs`).

mod admit;
mod ask;
mod create;
mod delete;
mod events;
mod eviction;
mod gate;
mod kind;
mod meta;
mod rules;
mod scale;
mod update;
mod user;

pub use ask::{On, Propagation, Strictness, Wish};
pub use create::Made;
pub use delete::{Deletion, Gone};
pub use update::Patch;
pub use user::User;

pub(crate) use events::{from_home as shown, is_shown_otherwise};
pub(crate) use eviction::{is_ready, set_condition};
pub(crate) use kind::check_body;
pub(crate) use meta::{is_ending, is_held};
pub(crate) use scale::{patched as patched_scale, read as read_scale};

use crate::clock::Clock;
use crate::defaults::Admission;
use crate::failure::Failure;
use crate::ids::Ids;
use crate::resource::Number;
use crate::store::{Object, Store};
use crate::token::Token;
use gate::Gate;
use serde_json::Value;
use std::sync::Arc;

/// A cluster's API server.
#[derive(Clone)]
pub struct Server {
    shared: Arc<Shared>,
    user: Arc<User>,
}

struct Shared {
    store: Store,
    clock: Clock,
    ids: Ids,
    token: Token,
    admission: Admission,
    /// The rules of Taintward's webhook, if they are on.
    gate: Option<Gate>,
}

impl Server {
    /// A server with nothing in it.
    pub fn new(store: Store, clock: Clock, seed: u64, admission: Admission) -> Self {
        let gate = admission.rules.then(Gate::new);
        let (ids, token) = (Ids::new(seed), Token::random());
        let shared = Shared { store, clock, ids, token, admission, gate };
        Self { shared: Arc::new(shared), user: Arc::default() }
    }

    /// The same server, to which requests come from this account unless they say otherwise.
    #[must_use]
    pub fn as_user(&self, user: User) -> Self {
        Self { shared: Arc::clone(&self.shared), user: Arc::new(user) }
    }

    /// From whom requests come unless they say otherwise.
    pub(crate) fn user(&self) -> &User {
        &self.user
    }

    /// The objects.
    pub fn store(&self) -> &Store {
        &self.shared.store
    }

    /// The cluster's time.
    pub fn clock(&self) -> &Clock {
        &self.shared.clock
    }

    /// Where identities come from.
    pub fn ids(&self) -> &Ids {
        &self.shared.ids
    }

    /// What lets clients on sockets in; within the process it is not asked for.
    pub fn token(&self) -> &Token {
        &self.shared.token
    }

    /// One object, to be worked on.
    pub fn get(&self, number: Number, namespace: &str, name: &str) -> Option<Value> {
        self.shared.store.get(number, &key(namespace, name)).map(|object| object.value())
    }

    /// One object.
    ///
    /// # Errors
    /// 404.
    pub fn read(&self, on: &On) -> Result<Arc<Object>, Failure> {
        let found = self.shared.store.get(on.number, &on.key());
        found.ok_or_else(|| Failure::not_found(on.number.get(), &on.name))
    }
}

/// What an object is kept under.
pub fn key(namespace: &str, name: &str) -> String {
    match namespace {
        "" => name.to_owned(),
        namespace => format!("{namespace}/{name}"),
    }
}
