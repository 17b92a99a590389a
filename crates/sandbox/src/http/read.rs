//! # Read: GET
//! Room:     one object; a list as of a version.
//! Comes in: a request.
//! Goes out: an answer.
//! Not here: watches (`watch.rs`); pages (`pages.rs`).

use super::accept::View;
use super::answer::Answer;
use super::asked::Asked;
use super::form::{Form, content_type};
use super::log;
use super::options::{self, Options};
use super::pages::Page;
use crate::api::{On, Server};
use crate::columns::Include;
use crate::failure::Failure;
use crate::resource::Sub;
use crate::select::Selector;
use crate::store::{Listed, Range};
use serde_json::json;

impl Server {
    pub(super) fn form(&self, asked: &Asked, on: &On) -> Result<Form, Failure> {
        let accept = asked.accept.check()?;
        let include = match asked.query.get("includeObject") {
            "None" => Include::None,
            "Object" => Include::Object,
            "" | "Metadata" => Include::Metadata,
            other if accept.view == View::Table => {
                let why =
                    format!("Invalid value: \"{other}\": must be 'Metadata', 'Object', 'None', or empty");
                let why = format!("Unable to convert to Table as requested: includeObject: {why}");
                return Err(Failure::bad_request(why));
            }
            _ => Include::Metadata,
        };
        let (resource, now) = (on.number.get(), self.clock().now());
        Ok(Form { resource, accept, include, headers: !asked.query.is_true("noHeaders"), now })
    }

    pub(super) fn get_one(&self, asked: &Asked, on: &On) -> Result<Answer, Failure> {
        if on.sub == Some(Sub::Log) {
            return log::answer(asked, &self.read(on)?.value());
        }
        let form = self.form(asked, on)?;
        if matches!(on.sub, Some(Sub::Binding | Sub::Eviction | Sub::Finalize | Sub::Token)) {
            return Err(Failure::not_allowed());
        }
        match asked.query.get("resourceVersion") {
            "" => {}
            version => _ = self.known_version(options::version(version).map_err(unexpected)?)?,
        }
        let object = self.read(on)?;
        match on.sub {
            None | Some(Sub::Status | Sub::EphemeralContainers) => {
                Ok(Answer::new(200, content_type(form.accept.encoding), form.single(&object)))
            }
            Some(Sub::Scale) => {
                let scale = self.scale_of(&object.value());
                let encoding = form.accept.encoding;
                Ok(Answer::new(200, content_type(encoding), super::form::encoded(&scale, encoding)))
            }
            Some(Sub::Binding | Sub::Eviction | Sub::Finalize | Sub::Log | Sub::Token) => {
                Err(Failure::not_allowed())
            }
        }
    }

    pub(super) fn list(&self, asked: &Asked, on: &On) -> Result<Answer, Failure> {
        let form = self.form(asked, on)?;
        let selector = selector(asked, on)?;
        let options = Options::of_list(asked)?;
        let page = Page::of(asked, &options, &on.namespace)?;
        let listed = self.listed(&options, on, &page)?;
        let (metadata, objects) = page.turn(listed, &selector);
        Ok(Answer::of(content_type(form.accept.encoding), form.list(&metadata, objects)))
    }

    fn listed(&self, options: &Options, on: &On, page: &Page) -> Result<Listed, Failure> {
        let namespace = Some(on.namespace.as_str()).filter(|namespace| !namespace.is_empty());
        // What a selector leaves out does not count: pages are cut after selecting.
        let range = Range { namespace, after: page.after.as_deref(), limit: 0 };
        let at = match (&page.at, &page.after) {
            (None, None) => self.list_version(options)?,
            (at, _) => *at,
        };
        let now = self.store().version();
        self.store().list(on.number, range, at.filter(|at| *at < now)).ok_or_else(|| match page.at {
            Some(_) => {
                let why = "The provided continue parameter is too old to display a consistent list result. You can \
                           start a new list without the continue parameter, or use the continue token in this \
                           response to retrieve the remainder of the results. Continuing with the provided token \
                           results in an inconsistent list - objects that were created, modified, or deleted \
                           between the time the first chunk was returned and now may show up in the list.";
                Failure::expired(why).with_continue(&page.onward())
            }
            None => Failure::expired("The resourceVersion for the provided list is too old."),
        })
    }

    /// The version a list is asked for; `None` is the latest.
    fn list_version(&self, options: &Options) -> Result<Option<u64>, Failure> {
        if options.version.is_empty() {
            return Ok(None);
        }
        let version = options::version(&options.version)
            .map_err(|why| Failure::bad_request(format!("invalid resource version: {why}")))?;
        let known = self.known_version(version)?;
        // With a limit and no rule, the version is meant exactly.
        let exact = options.exact || !options.matching && version > 0 && options.limit > 0;
        Ok(exact.then_some(known))
    }

    /// A version of the past or of now.
    fn known_version(&self, version: u64) -> Result<u64, Failure> {
        let now = self.store().version();
        if version <= now {
            return Ok(version);
        }
        let why = format!("Timeout: Too large resource version: {version}, current: {now}");
        let causes = json!([{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]);
        Err(Failure::new(504, "Timeout", why).with(json!({"causes": causes})).later(1))
    }
}

/// What went wrong where a real server did not think of it.
pub(super) fn unexpected(why: String) -> Failure {
    Failure::new(500, "", why)
}

/// What a request is limited to.
pub(super) fn selector(asked: &Asked, on: &On) -> Result<Selector, Failure> {
    Selector::read(on.number.get(), asked.query.get("labelSelector"), asked.query.get("fieldSelector"))
}

/// Options that contradict themselves.
pub(super) fn invalid_options(kind: &str, field: &str, reason: &str, message: &str) -> Failure {
    let short = message.strip_prefix(&format!("{field}: ")).unwrap_or(message);
    let cause = json!({"reason": reason, "message": short, "field": field});
    Failure::invalid("meta.k8s.io", kind, "", &[message.to_owned()], vec![cause])
}
