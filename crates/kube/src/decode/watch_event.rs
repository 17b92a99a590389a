//! Decodes one watch event; its object may be undecodable.

use super::format::{Json, ObjectFormat, Protobuf};
use super::{ApiStatus, DecodeError, Decoded, Encoding, ObjectIdentity, UndecodableObject, WatchedObject};
use crate::error_text::sanitize;

/// One event.
pub(crate) enum DecodedWatchEvent<F> {
    /// ADDED or MODIFIED.
    Applied(Decoded<F>),
    /// DELETED, with the identity.
    Deleted(ObjectIdentity),
    /// DELETED, without a readable identity.
    DeletedUndecodable(UndecodableObject),
    /// BOOKMARK: everything up to this version was sent.
    Bookmark { version: String, ends_initial: bool },
    /// ERROR: the server ends this watch.
    Error(ApiStatus),
}

/// Reads one event.
pub(crate) fn read<F: WatchedObject>(
    encoding: Encoding,
    frame: &[u8],
) -> Result<DecodedWatchEvent<F>, DecodeError> {
    match encoding {
        Encoding::Protobuf => event::<Protobuf, F>(frame),
        Encoding::Json => event::<Json, F>(frame),
    }
}

fn event<T: ObjectFormat, F: WatchedObject>(frame: &[u8]) -> Result<DecodedWatchEvent<F>, DecodeError> {
    let (kind, body) = T::event(frame)?;
    let object = || T::event_object(body, F::RESOURCE.kind);
    match &*kind {
        "ADDED" | "MODIFIED" => Ok(DecodedWatchEvent::Applied(match object() {
            Ok(object) => F::decode(T::ENCODING, object),
            Err(error) => Decoded::Undecodable(UndecodableObject { identity: None, why: error.to_string() }),
        })),
        "DELETED" => Ok(deleted(object().map(T::identity))),
        "BOOKMARK" => match object().and_then(T::bookmark) {
            Ok((version, ends_initial)) => Ok(DecodedWatchEvent::Bookmark { version, ends_initial }),
            Err(error) => Err(error.at("bookmark")),
        },
        "ERROR" => match T::body(body).and_then(|(_, status)| T::status(status)) {
            Ok(status) => Ok(DecodedWatchEvent::Error(status)),
            Err(error) => Err(error.at("error")),
        },
        other => Err(DecodeError::new(format!("an event of unknown type {:?}", sanitize(other, 32)))),
    }
}

fn deleted<F>(identity: Result<ObjectIdentity, DecodeError>) -> DecodedWatchEvent<F> {
    let (identity, why) = match identity {
        Ok(identity) if identity.uid.is_some() => return DecodedWatchEvent::Deleted(identity),
        Ok(identity) => {
            let identity = Some(identity).filter(|identity| !identity.is_empty());
            (identity, "deleted, but metadata.uid is missing".to_owned())
        }
        Err(error) => (None, format!("deleted, but it is {error}")),
    };
    DecodedWatchEvent::DeletedUndecodable(UndecodableObject { identity, why })
}
