//! # Read: GET
//! Room:     one object; a list, by pages and as of a version.
//! Comes in: a request.
//! Goes out: an answer.
//! Not here: watches (`watch.rs`).

use super::answer::Answer;
use super::asked::Asked;
use super::form::{Form, content_type};
use crate::api::{On, Server};
use crate::columns::Include;
use crate::failure::Failure;
use crate::resource::Sub;
use crate::select::Selector;
use crate::store::{Listed, Range};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde_json::{Value, json};
use std::sync::Arc;

impl Server {
    pub(super) fn form(&self, asked: &Asked, on: &On) -> Result<Form, Failure> {
        let include = match asked.query.get("includeObject") {
            "None" => Include::None,
            "Object" => Include::Object,
            _ => Include::Metadata,
        };
        let (resource, now) = (on.number.get(), self.clock().now());
        Ok(Form { resource, accept: asked.accept.check()?, include, now })
    }

    pub(super) fn get_one(&self, asked: &Asked, on: &On) -> Result<Answer, Failure> {
        let form = self.form(asked, on)?;
        match asked.query.get("resourceVersion") {
            "" => {}
            version => _ = self.known_version(version)?,
        }
        let object = self.read(on)?;
        match on.sub {
            None | Some(Sub::Status | Sub::EphemeralContainers | Sub::Resize | Sub::Approval) => {
                Ok(Answer::new(200, content_type(form.accept.encoding), form.single(&object)))
            }
            Some(Sub::Scale) => {
                let scale = self.scale_of(&object.value());
                let encoding = form.accept.encoding;
                Ok(Answer::new(200, content_type(encoding), super::form::encoded(&scale, encoding)))
            }
            Some(Sub::Binding | Sub::Eviction | Sub::Finalize | Sub::Token) => Err(Failure::not_allowed()),
        }
    }

    pub(super) fn list(&self, asked: &Asked, on: &On) -> Result<Answer, Failure> {
        let form = self.form(asked, on)?;
        let selector = selector(asked, on)?;
        let page = Page::of(asked)?;
        let listed = self.listed(asked, on, &page)?;
        let (metadata, objects) = page.turn(listed, &selector);
        Ok(Answer::new(200, content_type(form.accept.encoding), form.list(&metadata, &objects)))
    }

    fn listed(&self, asked: &Asked, on: &On, page: &Page) -> Result<Listed, Failure> {
        let namespace = Some(on.namespace.as_str()).filter(|namespace| !namespace.is_empty());
        // What a selector leaves out does not count: pages are cut after selecting.
        let range = Range { namespace, after: page.after.as_deref(), limit: 0 };
        let at = match &page.at {
            Some(version) => Some(*version),
            None => self.list_version(asked)?,
        };
        let now = self.store().version();
        self.store().list(on.number, range, at.filter(|at| *at < now)).ok_or_else(|| match page.at {
            Some(_) => {
                let why = "The provided continue parameter is too old to display a consistent list result. You can \
                           start a new list without the continue parameter, or use the continue token in this \
                           response to retrieve the remainder of the results. Continuing with the provided token \
                           results in an inconsistent list - objects that were created, modified, or deleted \
                           between the time the first chunk was returned and now may show up in the list.";
                let token = token(now, page.after.as_deref().unwrap_or_default());
                Failure::expired(why).with(json!({})).with_continue(&token)
            }
            None => Failure::expired(format!(
                "The resourceVersion for the provided list is too old: {} ({now})",
                at.unwrap_or_default()
            )),
        })
    }

    /// The version a list is asked for; `None` is the latest.
    fn list_version(&self, asked: &Asked) -> Result<Option<u64>, Failure> {
        let (version, matching) =
            (asked.query.get("resourceVersion"), asked.query.get("resourceVersionMatch"));
        match (version, matching) {
            ("", "") => Ok(None),
            ("", _) => Err(forbidden_match(
                "resourceVersionMatch",
                "resourceVersionMatch is forbidden unless resourceVersion is provided",
            )),
            (_, "" | "NotOlderThan") => {
                let known = self.known_version(version)?;
                // With a limit and no rule, the version is meant exactly.
                let exact =
                    matching.is_empty() && version != "0" && asked.query.number("limit").unwrap_or(0) > 0;
                Ok(exact.then_some(known))
            }
            ("0", "Exact") => Err(forbidden_match(
                "resourceVersionMatch",
                "resourceVersionMatch \"Exact\" is forbidden for resourceVersion \"0\"",
            )),
            (_, "Exact") => self.known_version(version).map(Some),
            (_, other) => {
                let message = format!(
                    "resourceVersionMatch: Unsupported value: \"{other}\": supported values: \"Exact\", \"NotOlderThan\", \"\""
                );
                Err(invalid_options(
                    "ListOptions",
                    "resourceVersionMatch",
                    "FieldValueNotSupported",
                    &message,
                ))
            }
        }
    }

    /// A version of the past or of now.
    pub(super) fn known_version(&self, text: &str) -> Result<u64, Failure> {
        let Ok(version) = text.parse::<u64>() else {
            let message = format!(
                "resourceVersion: Invalid value: \"{text}\": strconv.ParseUint: parsing \"{text}\": invalid syntax"
            );
            return Err(Failure::bad_request(message));
        };
        let now = self.store().version();
        if version <= now {
            return Ok(version);
        }
        let why = format!("Too large resource version: {version}, current: {now}");
        let causes = json!([{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]);
        Err(Failure::new(504, "Timeout", why).with(json!({"causes": causes})).later(1))
    }
}

/// What a request is limited to.
pub(super) fn selector(asked: &Asked, on: &On) -> Result<Selector, Failure> {
    Selector::read(on.number.get(), asked.query.get("labelSelector"), asked.query.get("fieldSelector"))
}

fn forbidden_match(field: &str, why: &str) -> Failure {
    let message = format!("{field}: Forbidden: {why}");
    invalid_options("ListOptions", field, "FieldValueForbidden", &message)
}

/// Options that contradict themselves.
pub(super) fn invalid_options(kind: &str, field: &str, reason: &str, message: &str) -> Failure {
    let short = message.strip_prefix(&format!("{field}: ")).unwrap_or(message);
    let cause = json!({"reason": reason, "message": short, "field": field});
    Failure::invalid("meta.k8s.io", kind, "", &[message.to_owned()], vec![cause])
}

/// Which part of a list.
struct Page {
    limit: usize,
    after: Option<String>,
    at: Option<u64>,
}

impl Page {
    fn of(asked: &Asked) -> Result<Self, Failure> {
        let limit = asked.query.number("limit").unwrap_or(0);
        let limit = usize::try_from(limit).unwrap_or(0);
        match asked.query.get("continue") {
            "" => Ok(Self { limit, after: None, at: None }),
            token => {
                if !matches!(asked.query.get("resourceVersion"), "" | "0") {
                    let why = "specifying resource version is not allowed when using continue";
                    return Err(Failure::bad_request(why));
                }
                let read = STANDARD_NO_PAD.decode(token.trim_end_matches('=')).ok();
                let read = read.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
                let read = read.and_then(|token| {
                    Some((token["rv"].as_u64()?, token["start"].as_str()?.trim_end_matches('\0').to_owned()))
                });
                let Some((version, start)) = read else {
                    return Err(Failure::bad_request("continue key is not valid: illegal base64 data"));
                };
                Ok(Self { limit, after: Some(start), at: Some(version).filter(|version| *version > 0) })
            }
        }
    }

    /// Cuts the page out of what matches.
    fn turn(&self, listed: Listed, selector: &Selector) -> (Value, Vec<Arc<crate::store::Object>>) {
        let version = listed.version;
        let mut metadata = json!({"resourceVersion": version.to_string()});
        let mut kept: Vec<_> =
            listed.objects.into_iter().filter(|(_, object)| selector.matches(object)).collect();
        if self.limit > 0 && kept.len() > self.limit {
            let remaining = kept.len() - self.limit;
            kept.truncate(self.limit);
            let last = kept.last().map_or("", |(key, _)| key);
            metadata["continue"] = json!(token(version, last));
            if selector.is_all() {
                metadata["remainingItemCount"] = json!(remaining);
            }
        }
        (metadata, kept.into_iter().map(|(_, object)| object).collect())
    }
}

/// Where the next page begins.
fn token(version: u64, last: &str) -> String {
    let token = json!({"v": "meta.k8s.io/v1", "rv": version, "start": format!("{last}\0")});
    STANDARD_NO_PAD.encode(token.to_string())
}
