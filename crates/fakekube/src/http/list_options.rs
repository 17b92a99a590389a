//! Parses and validates the options of lists and watches.

use super::request::HttpRequest;
use crate::api_status::StatusError;
use serde_json::json;

/// What is asked, and understood.
pub(super) struct ListOptions {
    /// 0 is all.
    pub(super) limit: usize,
    /// 0 is for ever.
    pub(super) seconds: u64,
    /// `resourceVersion`, as it was typed.
    pub(super) version: String,
    pub(super) exact: bool,
    pub(super) matching: bool,
    pub(super) initial: Option<bool>,
    pub(super) bookmarks: bool,
}

/// A field, the reason it is refused for, and the sentence.
type OptionCause = (&'static str, &'static str, String);

const MATCH: &str = "resourceVersionMatch";
const INITIAL: &str = "sendInitialEvents";
const FORBIDDEN: &str = "FieldValueForbidden";
const UNSUPPORTED: &str = "FieldValueNotSupported";

impl ListOptions {
    /// Those of a list.
    pub(super) fn of_list(asked: &HttpRequest) -> Result<Self, StatusError> {
        let (options, mut causes) = (Self::read(asked)?, Vec::new());
        let matching = asked.query.get(MATCH);
        if !matching.is_empty() {
            if options.version.is_empty() {
                causes.push(forbidden(
                    MATCH,
                    "resourceVersionMatch is forbidden unless resourceVersion is provided",
                ));
            }
            causes.extend(with_continue(asked));
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

    /// Those of a watch.
    pub(super) fn of_watch(asked: &HttpRequest) -> Result<Self, StatusError> {
        let (options, mut causes) = (Self::read(asked)?, Vec::new());
        let matching = asked.query.get(MATCH);
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
        causes.extend(with_continue(asked));
        options.unless(causes)
    }

    fn read(asked: &HttpRequest) -> Result<Self, StatusError> {
        let query = &asked.query;
        let (seconds, limit) = (number(asked, "timeoutSeconds")?, number(asked, "limit")?);
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
        let told = causes
            .iter()
            .map(|(field, reason, why)| json!({"reason": reason, "message": why, "field": field}));
        Err(StatusError::invalid("meta.k8s.io", "ListOptions", "", &messages, told.collect()))
    }
}

fn forbidden(field: &'static str, why: &str) -> OptionCause {
    (field, FORBIDDEN, format!("Forbidden: {why}"))
}

fn unsupported(value: &str, supported: &str) -> OptionCause {
    (MATCH, UNSUPPORTED, format!("Unsupported value: \"{value}\": supported values: {supported}"))
}

fn with_continue(asked: &HttpRequest) -> Option<OptionCause> {
    let why = "resourceVersionMatch is forbidden when continue is provided";
    (!asked.query.get("continue").is_empty()).then(|| forbidden(MATCH, why))
}

/// A whole number; what is not there is 0, and what is there must be one.
fn number(asked: &HttpRequest, name: &str) -> Result<i64, StatusError> {
    let Some(text) = asked.query.find(name) else { return Ok(0) };
    text.parse().map_err(|_| StatusError::bad_request(format!("{name}: {text:?} is no number")))
}

/// What is wrong with a version, in the words that stand in all messages about it.
pub(super) fn version(text: &str) -> Result<u64, String> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse()
        .ok()
        .filter(|_| digits)
        .ok_or_else(|| format!("resourceVersion: Invalid value: {text:?}: no version"))
}
