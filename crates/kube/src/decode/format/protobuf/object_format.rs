//! Opens protobuf's envelopes, and reads watch events, bookmarks, heads of lists, statuses and identities.

use super::{MAGIC, ProtobufFields, ProtobufMeta, entry, kind, raw};
use crate::decode::format::{ListHead, ObjectFormat, Protobuf};
use crate::decode::{ApiStatus, DecodeError, Encoding, ObjectIdentity};
use crate::error_text::sanitize;
use crate::wire::INITIAL_EVENTS_END;
use std::borrow::Cow;

impl ObjectFormat for Protobuf {
    const ENCODING: Encoding = Encoding::Protobuf;

    fn body(bytes: &[u8]) -> Result<(Cow<'_, str>, &[u8]), DecodeError> {
        envelope(bytes).map(|(kind, object)| (Cow::Borrowed(kind), object))
    }

    fn event(frame: &[u8]) -> Result<(Cow<'_, str>, &[u8]), DecodeError> {
        let (mut kind, mut body): (_, &[u8]) = ("", &[]);
        for field in ProtobufFields::of(frame) {
            match field? {
                (1, value) => kind = value.text().map_err(|error| error.at("type"))?,
                (2, value) => body = raw(value).map_err(|error| error.at("object"))?,
                _ => {}
            }
        }
        Ok((Cow::Borrowed(kind), body))
    }

    fn event_object<'a>(body: &'a [u8], kind: &str) -> Result<&'a [u8], DecodeError> {
        match envelope(body)? {
            (found, object) if found == kind => Ok(object),
            (found, _) => {
                let found = sanitize(found, 64);
                Err(DecodeError::new(format!("a {found} where a {kind} was expected")))
            }
        }
    }

    fn bookmark(object: &[u8]) -> Result<(String, bool), DecodeError> {
        let (mut version, mut ends) = ("", false);
        for field in ProtobufFields::of(object) {
            let (1, meta) = field? else { continue };
            for field in ProtobufFields::of(meta.bytes()?) {
                match field? {
                    (6, value) => version = value.text()?,
                    (12, value) => ends |= entry(value)? == (INITIAL_EVENTS_END, "true"),
                    _ => {}
                }
            }
        }
        Ok((version.to_owned(), ends))
    }

    fn list_head(metadata: &[u8]) -> Result<ListHead, DecodeError> {
        let (mut version, mut onward) = ("", "");
        for field in ProtobufFields::of(metadata) {
            match field? {
                (2, value) => version = value.text()?,
                (3, value) => onward = value.text()?,
                _ => {}
            }
        }
        Ok(ListHead { version: version.to_owned(), onward: onward.to_owned() })
    }

    fn status(object: &[u8]) -> Result<ApiStatus, DecodeError> {
        let (mut text, mut reason, mut code, mut wait) = ("", "", 0, 0);
        for field in ProtobufFields::of(object) {
            match field? {
                (3, value) => text = value.text().map_err(|error| error.at("message"))?,
                (4, value) => reason = value.text().map_err(|error| error.at("reason"))?,
                (5, value) => wait = retry_after(value.bytes()?).map_err(|error| error.at("details"))?,
                (6, value) => code = value.integer32().map_err(|error| error.at("code"))?,
                _ => {}
            }
        }
        Ok(ApiStatus::new(code, reason, text, wait))
    }

    fn identity(object: &[u8]) -> ObjectIdentity {
        let mut meta = ProtobufMeta::default();
        let mut node = None;
        for (number, value) in ProtobufFields::of(object).map_while(Result::ok) {
            let Ok(part) = value.bytes() else { continue };
            match number {
                // An error in one field must not hide the others; fields read before it count.
                1 => identity_meta(&mut meta, part),
                2 => {
                    let name = ProtobufFields::of(part)
                        .map_while(Result::ok)
                        .filter(|&(number, _)| number == 10)
                        .last();
                    node = name.and_then(|(_, value)| value.text().ok()).filter(|name| !name.is_empty());
                }
                _ => {}
            }
        }
        meta.identity(node)
    }

    fn waits_for_nothing(object: &[u8]) -> bool {
        let waits = |meta: &[u8]| {
            let mut fields = ProtobufFields::of(meta);
            fields.any(|field| match field {
                Ok((10, grace)) => grace.integer().is_ok_and(|seconds| seconds != 0),
                Ok((number, _)) => number == 14,
                Err(_) => true,
            })
        };
        let mut parts = ProtobufFields::of(object);
        !parts.any(|part| match part {
            Ok((1, meta)) => meta.bytes().map_or(true, waits),
            Ok(_) => false,
            Err(_) => true,
        })
    }
}

/// Kind and object of an envelope (`runtime.Unknown`).
fn envelope(bytes: &[u8]) -> Result<(&str, &[u8]), DecodeError> {
    let message = bytes.strip_prefix(&MAGIC).ok_or_else(|| DecodeError::new("no Kubernetes protobuf"))?;
    let (mut found, mut object): (_, &[u8]) = ("", &[]);
    for field in ProtobufFields::of(message) {
        match field? {
            (1, types) => found = kind(types.bytes()?)?,
            (2, raw) => object = raw.bytes()?,
            (3, encoding) if !encoding.text()?.is_empty() => {
                return Err(DecodeError::new("an encoded object"));
            }
            _ => {}
        }
    }
    Ok((found, object))
}

fn identity_meta<'a>(meta: &mut ProtobufMeta<'a>, message: &'a [u8]) {
    for (number, value) in ProtobufFields::of(message).map_while(Result::ok) {
        let Ok(text) = value.text() else { continue };
        match number {
            1 => meta.name = text,
            3 => meta.namespace = text,
            5 => meta.uid = text,
            6 => meta.version = text,
            _ => {}
        }
    }
}

fn retry_after(details: &[u8]) -> Result<i32, DecodeError> {
    let mut wait = 0;
    for field in ProtobufFields::of(details) {
        if let (5, value) = field? {
            wait = value.integer32().map_err(|error| error.at("retryAfterSeconds"))?;
        }
    }
    Ok(wait)
}
