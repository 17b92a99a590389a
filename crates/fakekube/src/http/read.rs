//! Serves GET requests of objects and lists: their options, and pages with `continue` tokens.

mod log;
mod watch;

use super::response_format::ResponseFormat;
use super::{HttpRequest, HttpResponse, Representation};
use crate::api::{self, ApiServer, ResourcePath};
use crate::api_status::StatusError;
use crate::resource::Subresource;
use crate::select::ObjectSelector;
use crate::store::{ListRange, ListResult, StoredObject};
use crate::table_columns::TableInclude;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use std::sync::Arc;

impl ApiServer {
    pub(super) fn form(
        &self,
        request: &HttpRequest,
        on: &ResourcePath,
    ) -> Result<ResponseFormat, StatusError> {
        let accept = request.accept.check()?;
        let include = match request.query.get("includeObject") {
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
        let headers = !request.query.is_true("noHeaders");
        Ok(ResponseFormat::new(resource, accept, (include, headers), now))
    }

    pub(super) fn get_one(
        &self,
        request: &HttpRequest,
        on: &ResourcePath,
    ) -> Result<HttpResponse, StatusError> {
        if on.sub == Some(Subresource::Log) {
            return log::respond_to(request, &self.read(on)?.value());
        }
        let form = self.form(request, on)?;
        let unread = [Subresource::Binding, Subresource::Eviction, Subresource::Finalize, Subresource::Token];
        if on.sub.is_some_and(|sub| unread.contains(&sub)) {
            return Err(StatusError::not_allowed());
        }
        match request.query.get("resourceVersion") {
            "" => {}
            version => _ = self.known_version(parse_version(version).map_err(unexpected)?)?,
        }
        let object = self.read(on)?;
        Ok(match on.sub {
            Some(Subresource::Scale) => {
                HttpResponse::encoded(200, &api::scale_of(&object.value()), form.encoding())
            }
            _ => form.single(200, &object),
        })
    }

    /// A list, or a watch if the request asks for one.
    pub(super) fn list(&self, request: &HttpRequest, on: &ResourcePath) -> Result<HttpResponse, StatusError> {
        if request.watches {
            return self.watch(request, on);
        }
        let form = self.form(request, on)?;
        let selector = selector(request, on)?;
        let options = ListOptions::of_list(request)?;
        let page = ListContinuation::of(request, &options, &on.namespace)?;
        let listed = self.listed(&options, on, &page)?;
        let (metadata, objects) = page.turn(listed, &selector);
        Ok(form.list(&metadata, objects))
    }

    fn listed(
        &self,
        options: &ListOptions,
        on: &ResourcePath,
        page: &ListContinuation,
    ) -> Result<ListResult, StatusError> {
        let namespace = Some(on.namespace.as_str()).filter(|namespace| !namespace.is_empty());
        // Objects that the selector excludes do not count: pages are cut after selecting.
        let range = ListRange { namespace, after: page.after.as_deref() };
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

    /// The version at which to list; `None` is the latest.
    fn list_version(&self, options: &ListOptions) -> Result<Option<u64>, StatusError> {
        if options.version.is_empty() {
            return Ok(None);
        }
        let version = parse_version(&options.version)
            .map_err(|why| StatusError::bad_request(format!("invalid resource version: {why}")))?;
        let known = self.known_version(version)?;
        // With a limit and no `resourceVersionMatch`, the version must match exactly.
        let exact = options.exact || !options.matching && version > 0 && options.limit > 0;
        Ok(exact.then_some(known))
    }

    /// A version that is not in the future.
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

/// An error that a real server passes on as it is.
fn unexpected(why: String) -> StatusError {
    StatusError::new(500, "", why)
}

/// The selector of a request.
pub(super) fn selector(request: &HttpRequest, on: &ResourcePath) -> Result<ObjectSelector, StatusError> {
    ObjectSelector::read(
        on.number.get(),
        request.query.get("labelSelector"),
        request.query.get("fieldSelector"),
    )
}

/// The error for options that contradict each other.
pub(super) fn invalid_options(kind: &str, field: &str, reason: &str, message: &str) -> StatusError {
    let short = message.strip_prefix(&format!("{field}: ")).unwrap_or(message);
    let cause = json!({"reason": reason, "message": short, "field": field});
    StatusError::invalid("meta.k8s.io", kind, "", &[message.to_owned()], vec![cause])
}

/// The parsed options of a list or a watch.
struct ListOptions {
    /// 0 is all.
    limit: usize,
    /// 0 means no timeout.
    seconds: u64,
    /// `resourceVersion`, as the client sent it.
    version: String,
    exact: bool,
    matching: bool,
    initial: Option<bool>,
    bookmarks: bool,
}

/// A field, the reason why it is invalid, and the message.
type OptionCause = (&'static str, &'static str, String);

const MATCH: &str = "resourceVersionMatch";
const INITIAL: &str = "sendInitialEvents";
const FORBIDDEN: &str = "FieldValueForbidden";
const UNSUPPORTED: &str = "FieldValueNotSupported";

impl ListOptions {
    /// The options of a list.
    fn of_list(request: &HttpRequest) -> Result<Self, StatusError> {
        let (options, mut causes) = (Self::read(request)?, Vec::new());
        let matching = request.query.get(MATCH);
        if !matching.is_empty() {
            if options.version.is_empty() {
                causes.push(forbidden(
                    MATCH,
                    "resourceVersionMatch is forbidden unless resourceVersion is provided",
                ));
            }
            causes.extend(with_continue(request));
            if !matches!(matching, "Exact" | "NotOlderThan") {
                causes.push(unsupported(matching, "\"Exact\", \"NotOlderThan\", \"\""));
            }
            if options.exact && options.version == "0" {
                let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
                causes.push(forbidden(MATCH, why));
            }
        }
        if options.initial.is_some() {
            causes.push(forbidden(INITIAL, "sendInitialEvents is forbidden for list"));
        }
        options.unless(causes)
    }

    /// The options of a watch.
    fn of_watch(request: &HttpRequest) -> Result<Self, StatusError> {
        let (options, mut causes) = (Self::read(request)?, Vec::new());
        let matching = request.query.get(MATCH);
        if options.initial.is_some() && matching != "NotOlderThan" {
            let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
            causes.push(forbidden(MATCH, why));
        }
        if options.initial.is_none() && !matching.is_empty() {
            let why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            causes.push(forbidden(MATCH, why));
        }
        if !matches!(matching, "" | "NotOlderThan") {
            causes.push(unsupported(matching, "\"NotOlderThan\""));
        }
        causes.extend(with_continue(request));
        options.unless(causes)
    }

    fn read(request: &HttpRequest) -> Result<Self, StatusError> {
        let query = &request.query;
        let (seconds, limit) = (number(request, "timeoutSeconds")?, number(request, "limit")?);
        Ok(Self {
            limit: usize::try_from(limit).unwrap_or(0),
            seconds: u64::try_from(seconds).unwrap_or(0),
            version: query.get("resourceVersion").to_owned(),
            exact: query.get(MATCH) == "Exact",
            matching: !query.get(MATCH).is_empty(),
            initial: query.find(INITIAL).map(|_| query.is_true(INITIAL)),
            bookmarks: query.is_true("allowWatchBookmarks"),
        })
    }

    fn unless(self, causes: Vec<OptionCause>) -> Result<Self, StatusError> {
        if causes.is_empty() {
            return Ok(self);
        }
        let messages: Vec<String> = causes.iter().map(|(field, _, why)| format!("{field}: {why}")).collect();
        let text = causes
            .iter()
            .map(|(field, reason, why)| json!({"reason": reason, "message": why, "field": field}));
        Err(StatusError::invalid("meta.k8s.io", "ListOptions", "", &messages, text.collect()))
    }
}

fn forbidden(field: &'static str, why: &str) -> OptionCause {
    (field, FORBIDDEN, format!("Forbidden: {why}"))
}

fn unsupported(value: &str, supported: &str) -> OptionCause {
    (MATCH, UNSUPPORTED, format!("Unsupported value: \"{value}\": supported values: {supported}"))
}

fn with_continue(request: &HttpRequest) -> Option<OptionCause> {
    let why = "resourceVersionMatch is forbidden when continue is provided";
    (!request.query.get("continue").is_empty()).then(|| forbidden(MATCH, why))
}

/// An integer parameter; 0 if it is absent, an error if it is not an integer.
fn number(request: &HttpRequest, name: &str) -> Result<i64, StatusError> {
    let Some(text) = request.query.find(name) else { return Ok(0) };
    text.parse().map_err(|_| StatusError::bad_request(format!("{name}: {text:?} is not a number")))
}

/// Parses a version; the error is the part that all messages about versions share.
fn parse_version(text: &str) -> Result<u64, String> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse()
        .ok()
        .filter(|_| digits)
        .ok_or_else(|| format!("resourceVersion: Invalid value: {text:?}: no version"))
}

/// The position of a page in a list. Keys leave out the namespace if the list is of one namespace.
struct ListContinuation {
    limit: usize,
    prefix: String,
    /// The key this page begins after.
    after: Option<String>,
    /// The version of the whole list; `None` is now.
    at: Option<u64>,
}

impl ListContinuation {
    fn of(request: &HttpRequest, options: &ListOptions, namespace: &str) -> Result<Self, StatusError> {
        let prefix = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
        // Lists from the watch cache are not limited.
        let limit = if options.version == "0" { 0 } else { options.limit };
        let token = request.query.get("continue");
        if token.is_empty() {
            return Ok(Self { limit, prefix, after: None, at: None });
        }
        let (version, start) = read_token(token)
            .ok_or_else(|| StatusError::bad_request("continue is not a token of this server"))?;
        if !matches!(options.version.as_str(), "" | "0") {
            let why = "specifying resource version is not allowed when using continue";
            return Err(StatusError::bad_request(why));
        }
        let after = Some(format!("{prefix}{}", start.trim_end_matches('\0')));
        Ok(Self { limit, prefix, after, at: u64::try_from(version).ok() })
    }

    /// The token to continue here, in the latest list.
    fn onward(&self) -> String {
        self.token(-1, self.after.as_deref().unwrap_or_default())
    }

    /// Cuts the page out of the matching objects. It is full as soon as `limit` match; whether any object behind it
    /// matches is not checked.
    fn turn(&self, listed: ListResult, selector: &ObjectSelector) -> (Value, Vec<Arc<StoredObject>>) {
        let mut metadata = json!({"resourceVersion": listed.version.to_string()});
        let (mut kept, mut left) = (Vec::new(), listed.objects.len());
        for (key, object) in listed.objects {
            left -= 1;
            if !selector.matches(&object) {
                continue;
            }
            kept.push(object);
            if self.limit > 0 && kept.len() == self.limit && left > 0 {
                let version = i64::try_from(listed.version).unwrap_or(i64::MAX);
                metadata["continue"] = json!(self.token(version, &key));
                if selector.is_all() {
                    metadata["remainingItemCount"] = json!(left);
                }
                break;
            }
        }
        (metadata, kept)
    }

    /// Where the next page begins.
    fn token(&self, version: i64, last: &str) -> String {
        let last = last.strip_prefix(&self.prefix).unwrap_or(last);
        let token = json!({"v": "meta.k8s.io/v1", "rv": version, "start": format!("{last}\0")});
        URL_SAFE_NO_PAD.encode(token.to_string())
    }
}

/// The version and the key of a token.
fn read_token(token: &str) -> Option<(i64, String)> {
    let bytes = URL_SAFE_NO_PAD.decode(token.trim_end_matches('=')).ok()?;
    let value: Value = serde_json::from_slice(&bytes).ok()?;
    let (version, start) = (value["rv"].as_i64()?, value["start"].as_str()?);
    let named = start.split('/').all(|part| !matches!(part, "." | ".." | ""));
    (value["v"] == "meta.k8s.io/v1" && version != 0 && named).then(|| (version, start.to_owned()))
}
