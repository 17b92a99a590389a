//! Decodes one watch event; its object may be undecodable.

use super::protobuf_wire::ProtobufFields;
use super::{
    ApiStatus, DecodeError, Decoded, Encoding, ObjectIdentity, UndecodableObject, WatchedObject, json,
    protobuf,
};
use crate::error_text::sanitize;

/// One event.
pub(crate) enum DecodedWatchEvent<F> {
    /// ADDED or MODIFIED.
    Applied(Decoded<F>),
    /// DELETED, with who it was.
    Deleted(ObjectIdentity),
    /// DELETED, but nobody can tell who.
    DeletedUndecodable(UndecodableObject),
    /// BOOKMARK: everything up to this version was sent.
    Bookmark { version: String, ends_initial: bool },
    /// ERROR: the server gives up this watch.
    Error(ApiStatus),
}

/// Reads one event.
pub(crate) fn read<F: WatchedObject>(
    encoding: Encoding,
    frame: &[u8],
) -> Result<DecodedWatchEvent<F>, DecodeError> {
    let (kind, body) = match encoding {
        Encoding::Protobuf => frame_parts(frame)?,
        Encoding::Json => json::line(frame)?,
    };
    match kind.as_str() {
        "ADDED" | "MODIFIED" => Ok(DecodedWatchEvent::Applied(applied(encoding, body))),
        "DELETED" => Ok(deleted::<F>(encoding, body)),
        "BOOKMARK" => bookmark(encoding, body).map_err(|fault| fault.at("bookmark")),
        "ERROR" => error(encoding, body).map_err(|fault| fault.at("error")),
        other => Err(DecodeError::new(format!("an event of unknown type {:?}", sanitize(other, 32)))),
    }
}

/// Type and object of a protobuf `WatchEvent`.
fn frame_parts(frame: &[u8]) -> Result<(String, &[u8]), DecodeError> {
    let (mut kind, mut body): (_, &[u8]) = ("", &[]);
    for field in ProtobufFields::of(frame) {
        match field? {
            (1, value) => kind = value.text().map_err(|fault| fault.at("type"))?,
            (2, value) => body = protobuf::raw(value).map_err(|fault| fault.at("object"))?,
            _ => {}
        }
    }
    Ok((kind.to_owned(), body))
}

/// The object's own bytes: without envelope, of the kind that is watched.
fn opened<F: WatchedObject>(encoding: Encoding, body: &[u8]) -> Result<&[u8], DecodeError> {
    if encoding == Encoding::Json {
        return Ok(body);
    }
    let envelope = protobuf::envelope(body)?;
    if envelope.kind != F::KIND {
        return Err(DecodeError::new(format!(
            "a {} where a {} was expected",
            sanitize(envelope.kind, 64),
            F::KIND
        )));
    }
    Ok(envelope.raw)
}

fn applied<F: WatchedObject>(encoding: Encoding, body: &[u8]) -> Decoded<F> {
    match opened::<F>(encoding, body) {
        Ok(object) => super::decoded(encoding, object),
        Err(fault) => Decoded::Undecodable(UndecodableObject { identity: None, why: fault.to_string() }),
    }
}

fn deleted<F: WatchedObject>(encoding: Encoding, body: &[u8]) -> DecodedWatchEvent<F> {
    let identity = opened::<F>(encoding, body).map(|object| match encoding {
        Encoding::Protobuf => protobuf::identity(object),
        Encoding::Json => json::identity(object),
    });
    match identity {
        Ok(identity) if identity.uid.is_some() => DecodedWatchEvent::Deleted(identity),
        Ok(identity) => {
            let identity = Some(identity).filter(|identity| !identity.is_empty());
            DecodedWatchEvent::DeletedUndecodable(UndecodableObject {
                identity,
                why: "deleted, but metadata.uid is missing".to_owned(),
            })
        }
        Err(fault) => DecodedWatchEvent::DeletedUndecodable(UndecodableObject {
            identity: None,
            why: format!("deleted, but it is {fault}"),
        }),
    }
}

fn bookmark<F: WatchedObject>(encoding: Encoding, body: &[u8]) -> Result<DecodedWatchEvent<F>, DecodeError> {
    let object = opened::<F>(encoding, body)?;
    let (version, ends_initial) = match encoding {
        Encoding::Protobuf => protobuf::bookmark(object)?,
        Encoding::Json => json::bookmark(object)?,
    };
    Ok(DecodedWatchEvent::Bookmark { version, ends_initial })
}

fn error<F>(encoding: Encoding, body: &[u8]) -> Result<DecodedWatchEvent<F>, DecodeError> {
    let status = match encoding {
        Encoding::Protobuf => protobuf::envelope(body)?.raw,
        Encoding::Json => body,
    };
    ApiStatus::read(encoding, status).map(DecodedWatchEvent::Error)
}
