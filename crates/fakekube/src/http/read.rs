//! Serves GET requests of objects and lists.

use super::accept::Representation;
use super::list_options::{self, ListOptions};
use super::log;
use super::pages::ListContinuation;
use super::request::HttpRequest;
use super::response::HttpAnswer;
use super::response_format::{ResponseFormat, content_type};
use crate::api::{self, ApiServer, ResourcePath};
use crate::api_status::StatusError;
use crate::resource::Subresource;
use crate::select::ObjectSelector;
use crate::store::{ListRange, ListResult};
use crate::table_columns::TableInclude;
use serde_json::json;

impl ApiServer {
    pub(super) fn form(&self, asked: &HttpRequest, on: &ResourcePath) -> Result<ResponseFormat, StatusError> {
        let accept = asked.accept.check()?;
        let include = match asked.query.get("includeObject") {
            "None" => TableInclude::None,
            "Object" => TableInclude::Object,
            "" | "Metadata" => TableInclude::Metadata,
            other if accept.view == Representation::Table => {
                let why =
                    format!("Invalid value: \"{other}\": must be 'Metadata', 'Object', 'None', or empty");
                let why = format!("Unable to convert to Table as requested: includeObject: {why}");
                return Err(StatusError::bad_request(why));
            }
            _ => TableInclude::Metadata,
        };
        let (resource, now) = (on.number.get(), self.clock().now());
        Ok(ResponseFormat { resource, accept, include, headers: !asked.query.is_true("noHeaders"), now })
    }

    pub(super) fn get_one(&self, asked: &HttpRequest, on: &ResourcePath) -> Result<HttpAnswer, StatusError> {
        if on.sub == Some(Subresource::Log) {
            return log::answer(asked, &self.read(on)?.value());
        }
        let form = self.form(asked, on)?;
        if matches!(
            on.sub,
            Some(Subresource::Binding | Subresource::Eviction | Subresource::Finalize | Subresource::Token)
        ) {
            return Err(StatusError::not_allowed());
        }
        match asked.query.get("resourceVersion") {
            "" => {}
            version => _ = self.known_version(list_options::version(version).map_err(unexpected)?)?,
        }
        let object = self.read(on)?;
        match on.sub {
            None | Some(Subresource::Status | Subresource::EphemeralContainers) => {
                Ok(HttpAnswer::new(200, content_type(form.accept.encoding), form.single(&object)))
            }
            Some(Subresource::Scale) => {
                let scale = api::scale_of(&object.value());
                let encoding = form.accept.encoding;
                Ok(HttpAnswer::new(
                    200,
                    content_type(encoding),
                    super::response_format::encoded(&scale, encoding),
                ))
            }
            Some(
                Subresource::Binding
                | Subresource::Eviction
                | Subresource::Finalize
                | Subresource::Log
                | Subresource::Token,
            ) => Err(StatusError::not_allowed()),
        }
    }

    pub(super) fn list(&self, asked: &HttpRequest, on: &ResourcePath) -> Result<HttpAnswer, StatusError> {
        let form = self.form(asked, on)?;
        let selector = selector(asked, on)?;
        let options = ListOptions::of_list(asked)?;
        let page = ListContinuation::of(asked, &options, &on.namespace)?;
        let listed = self.listed(&options, on, &page)?;
        let (metadata, objects) = page.turn(listed, &selector);
        Ok(HttpAnswer::of(content_type(form.accept.encoding), form.list(&metadata, objects)))
    }

    fn listed(
        &self,
        options: &ListOptions,
        on: &ResourcePath,
        page: &ListContinuation,
    ) -> Result<ListResult, StatusError> {
        let namespace = Some(on.namespace.as_str()).filter(|namespace| !namespace.is_empty());
        // What a selector leaves out does not count: pages are cut after selecting.
        let range = ListRange { namespace, after: page.after.as_deref(), limit: 0 };
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
                StatusError::expired(why).with_continue(&page.onward())
            }
            None => StatusError::expired("The resourceVersion for the provided list is too old."),
        })
    }

    /// The version a list is asked for; `None` is the latest.
    fn list_version(&self, options: &ListOptions) -> Result<Option<u64>, StatusError> {
        if options.version.is_empty() {
            return Ok(None);
        }
        let version = list_options::version(&options.version)
            .map_err(|why| StatusError::bad_request(format!("invalid resource version: {why}")))?;
        let known = self.known_version(version)?;
        // With a limit and no rule, the version is meant exactly.
        let exact = options.exact || !options.matching && version > 0 && options.limit > 0;
        Ok(exact.then_some(known))
    }

    /// A version of the past or of now.
    fn known_version(&self, version: u64) -> Result<u64, StatusError> {
        let now = self.store().version();
        if version <= now {
            return Ok(version);
        }
        let why = format!("Timeout: Too large resource version: {version}, current: {now}");
        let causes = json!([{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]);
        Err(StatusError::new(504, "Timeout", why).with(json!({"causes": causes})).later(1))
    }
}

/// What went wrong where a real server did not think of it.
pub(super) fn unexpected(why: String) -> StatusError {
    StatusError::new(500, "", why)
}

/// What a request is limited to.
pub(super) fn selector(asked: &HttpRequest, on: &ResourcePath) -> Result<ObjectSelector, StatusError> {
    ObjectSelector::read(on.number.get(), asked.query.get("labelSelector"), asked.query.get("fieldSelector"))
}

/// Options that contradict themselves.
pub(super) fn invalid_options(kind: &str, field: &str, reason: &str, message: &str) -> StatusError {
    let short = message.strip_prefix(&format!("{field}: ")).unwrap_or(message);
    let cause = json!({"reason": reason, "message": short, "field": field});
    StatusError::invalid("meta.k8s.io", kind, "", &[message.to_owned()], vec![cause])
}
