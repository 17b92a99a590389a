//! # Nodes: one node as an object, for people's commands
//! Room:     a live read; a patch that applies to exactly what was read; what the server says, in its own words.
//! Comes in: a node's name; a body made by [`NodeObject`]; who writes, and whether it is only tried.
//! Goes out: the object as it is now, or a [`Complaint`].
//! Not here: the controller's own writes (`act.rs`); what is changed (whoever asks); retries (nobody).

use crate::act::{Ask, Heard, JSON_PATCH, Refusal, Resource, hear, push_encoded, quiet};
use bytes::Bytes;
use http::Method;
use kube::Client;
use serde::Deserialize;
use std::time::Duration;
use taintward_core::identity::NodeName;
use thiserror::Error;

mod object;

pub use object::{NodeObject, Note};
pub(crate) use object::{test, written};

/// Reads and changes nodes. Each request asks once.
#[derive(Clone)]
pub struct Nodes {
    client: Client,
    limit: Duration,
}

/// How a change is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Writing {
    /// Who is named in `managedFields`.
    pub field_manager: String,
    /// `Strict`, `Warn` or `Ignore`; the server's own choice if empty.
    pub field_validation: &'static str,
    /// The server checks everything and keeps nothing.
    pub dry_run: bool,
}

/// What the server answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The object.
    pub body: Bytes,
    /// What the server warns of, harmless to print.
    pub warnings: Vec<String>,
}

/// Why a node was not read or not changed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Complaint {
    /// The server says no.
    #[error("{}", .0.message)]
    Said(Box<Said>),
    /// There is no answer, or none that can be read; of a write it is then unknown whether it was carried out.
    #[error(transparent)]
    Silent(Refusal),
}

/// What the server says, part by part; each is harmless to print.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// The HTTP status.
    pub code: u16,
    /// `NotFound`, `Forbidden` and so on; empty if it names none.
    pub reason: String,
    /// The sentence for people.
    pub message: String,
    /// The kind of what is wrong, for `Invalid`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Fields, and what is wrong with each.
    pub causes: Vec<(String, String)>,
}

impl Complaint {
    /// Whether the node is not what was read any more, so that it can be read and changed again: 409, or a failed test
    /// of the patch, which a server reports as a 422 without details.
    pub fn is_conflict(&self) -> bool {
        match self {
            Self::Said(said) => said.code == 409 || said.code == 422 && said.causes.is_empty(),
            Self::Silent(_) => false,
        }
    }
}

#[derive(Default, Deserialize)]
struct Status {
    #[serde(default)]
    reason: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    details: Option<Details>,
}

#[derive(Default, Deserialize)]
struct Details {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    causes: Vec<Cause>,
}

#[derive(Default, Deserialize)]
struct Cause {
    #[serde(default)]
    field: String,
    #[serde(default)]
    message: String,
}

impl Nodes {
    /// Waits at most `limit` for each answer.
    pub const fn new(client: Client, limit: Duration) -> Self {
        Self { client, limit }
    }

    /// Reads a node as it is now, never from a cache of the server.
    ///
    /// # Errors
    /// A [`Complaint`].
    pub async fn read(&self, name: &str) -> Result<Told, Complaint> {
        let name = NodeName::new(name);
        let on = Resource::node(&name, "").map_err(Complaint::Silent)?;
        self.send(Method::GET, &on, on.path(), Ask::default()).await
    }

    /// Changes a node by a patch that [`NodeObject::patch`] made; the answer is the node as it is then.
    ///
    /// # Errors
    /// A [`Complaint`]; [`Complaint::is_conflict`] if it is not what was read any more.
    pub async fn patch(&self, name: &str, body: Bytes, how: &Writing) -> Result<Told, Complaint> {
        let name = NodeName::new(name);
        let on = Resource::node(&name, "").map_err(Complaint::Silent)?;
        let mut uri = on.path() + "?fieldManager=";
        push_encoded(&mut uri, &how.field_manager);
        if !how.field_validation.is_empty() {
            uri = uri + "&fieldValidation=" + how.field_validation;
        }
        if how.dry_run {
            uri += "&dryRun=All";
        }
        self.send(Method::PATCH, &on, uri, Ask { content: JSON_PATCH, body, ..Ask::default() }).await
    }

    async fn send(
        &self,
        method: Method,
        on: &Resource<'_>,
        uri: String,
        what: Ask,
    ) -> Result<Told, Complaint> {
        let heard = match tokio::time::timeout(self.limit, hear(&self.client, &method, on, uri, what)).await {
            Ok(heard) => heard.map_err(Complaint::Silent)?,
            Err(_) => return Err(Complaint::Silent(Refusal::silence(&method, on, self.limit))),
        };
        if heard.head.status.is_success() {
            let warnings = warnings(&heard);
            return Ok(Told { body: heard.body, warnings });
        }
        Err(Complaint::Said(Box::new(said(&heard))))
    }
}

/// Without a `Status` in the answer, something that is no API server has answered.
pub(crate) fn said(heard: &Heard) -> Said {
    let code = heard.head.status.as_u16();
    let status: Status = serde_json::from_slice(&heard.body).unwrap_or_default();
    let details = status.details.unwrap_or_default();
    let message = if status.message.is_empty() { heard.head.status.to_string() } else { status.message };
    let causes = details.causes.iter().map(|cause| (quiet(&cause.field), quiet(&cause.message)));
    Said {
        code,
        reason: quiet(&status.reason),
        message: quiet(&message),
        kind: quiet(&details.kind),
        name: quiet(&details.name),
        causes: causes.collect(),
    }
}

/// The most warnings that are passed on.
const WARNINGS_MOST: usize = 20;

/// `Warning: 299 - "text"`, as RFC 7234 has it; text may be quoted with backslashes.
pub(crate) fn warnings(heard: &Heard) -> Vec<String> {
    let lines = heard.head.headers.get_all(http::header::WARNING).iter().take(WARNINGS_MOST);
    lines
        .filter_map(|line| {
            let (_, text) = line.to_str().ok()?.split_once('"')?;
            let mut characters = text.chars();
            let mut said = String::new();
            loop {
                match characters.next()? {
                    '"' => return Some(quiet(&said)),
                    '\\' => said.extend(characters.next()),
                    other => said.push(other),
                }
            }
        })
        .collect()
}
