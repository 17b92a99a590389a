//! # Event: one event of a watch
//! Room:     the event's type and what its object says, in either encoding.
//! Comes in: the bytes of one frame or line.
//! Goes out: [`Event`]; a [`Fault`] where the event itself can't be read (its object may be unreadable and still be an
//!           event).
//! Not here: splitting the stream (`frames.rs`); what to do (`listen.rs`).

use super::wire::Fields;
use super::{ApiStatus, Decoded, Encoding, Fact, Fault, Identity, Unreadable, harmless, json, protobuf};

/// One event.
pub(crate) enum Event<F> {
    /// ADDED or MODIFIED.
    Seen(Decoded<F>),
    /// DELETED, with who it was.
    Gone(Identity),
    /// DELETED, but nobody can tell who.
    GoneUnknown(Unreadable),
    /// BOOKMARK: everything up to this version was sent.
    Bookmark { version: String, ends_initial: bool },
    /// ERROR: the server gives up this watch.
    Error(ApiStatus),
}

/// Reads one event.
pub(crate) fn read<F: Fact>(encoding: Encoding, frame: &[u8]) -> Result<Event<F>, Fault> {
    let (kind, body) = match encoding {
        Encoding::Protobuf => frame_parts(frame)?,
        Encoding::Json => json::line(frame)?,
    };
    match kind.as_str() {
        "ADDED" | "MODIFIED" => Ok(Event::Seen(seen(encoding, body))),
        "DELETED" => Ok(gone::<F>(encoding, body)),
        "BOOKMARK" => bookmark(encoding, body).map_err(|fault| fault.at("bookmark")),
        "ERROR" => error(encoding, body).map_err(|fault| fault.at("error")),
        other => Err(Fault::new(format!("an event of unknown type {:?}", harmless(other, 32)))),
    }
}

/// Type and object of a protobuf `WatchEvent`.
fn frame_parts(frame: &[u8]) -> Result<(String, &[u8]), Fault> {
    let (mut kind, mut body): (_, &[u8]) = ("", &[]);
    for field in Fields::of(frame) {
        match field? {
            (1, value) => kind = value.text().map_err(|fault| fault.at("type"))?,
            (2, value) => body = protobuf::raw(value).map_err(|fault| fault.at("object"))?,
            _ => {}
        }
    }
    Ok((kind.to_owned(), body))
}

/// The object's own bytes: without envelope, of the kind that is watched.
fn opened<F: Fact>(encoding: Encoding, body: &[u8]) -> Result<&[u8], Fault> {
    if encoding == Encoding::Json {
        return Ok(body);
    }
    let envelope = protobuf::envelope(body)?;
    if envelope.kind != F::KIND {
        return Err(Fault::new(format!(
            "a {} where a {} was expected",
            harmless(envelope.kind, 64),
            F::KIND
        )));
    }
    Ok(envelope.raw)
}

fn seen<F: Fact>(encoding: Encoding, body: &[u8]) -> Decoded<F> {
    match opened::<F>(encoding, body) {
        Ok(object) => super::decoded(encoding, object),
        Err(fault) => Decoded::Unreadable(Unreadable { identity: None, why: fault.to_string() }),
    }
}

fn gone<F: Fact>(encoding: Encoding, body: &[u8]) -> Event<F> {
    let identity = opened::<F>(encoding, body).map(|object| match encoding {
        Encoding::Protobuf => protobuf::identity(object),
        Encoding::Json => json::identity(object),
    });
    match identity {
        Ok(identity) if identity.uid.is_some() => Event::Gone(identity),
        Ok(identity) => {
            let identity = Some(identity).filter(|identity| !identity.is_empty());
            Event::GoneUnknown(Unreadable {
                identity,
                why: "deleted, but metadata.uid is missing".to_owned(),
            })
        }
        Err(fault) => {
            Event::GoneUnknown(Unreadable { identity: None, why: format!("deleted, but it is {fault}") })
        }
    }
}

fn bookmark<F: Fact>(encoding: Encoding, body: &[u8]) -> Result<Event<F>, Fault> {
    let object = opened::<F>(encoding, body)?;
    let (version, ends_initial) = match encoding {
        Encoding::Protobuf => protobuf::bookmark(object)?,
        Encoding::Json => json::bookmark(object)?,
    };
    Ok(Event::Bookmark { version, ends_initial })
}

fn error<F>(encoding: Encoding, body: &[u8]) -> Result<Event<F>, Fault> {
    let status = match encoding {
        Encoding::Protobuf => protobuf::envelope(body)?.raw,
        Encoding::Json => body,
    };
    ApiStatus::read(encoding, status).map(Event::Error)
}
