//! Reads the response to a single request: the requested object, or the server's status.

use super::format::{Json, ObjectFormat, Protobuf};
use super::{ApiStatus, DecodeError, Decoded, Encoding, WatchedObject};
use crate::error_text::sanitize;

/// The content of a body with one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectBody<F> {
    /// The requested object.
    Object(Decoded<F>),
    /// The server's status.
    Status(ApiStatus),
    /// Neither; the reason is one sentence.
    Foreign(String),
}

impl<F> ObjectBody<F> {
    /// The requested object, or why it cannot be used.
    pub(crate) fn fact(self) -> Result<F, DecodeError> {
        Err(DecodeError::new(match self {
            Self::Object(Decoded::Object(fact)) => return Ok(fact),
            Self::Object(Decoded::Undecodable(undecodable)) => undecodable.why,
            Self::Object(Decoded::Unbound(_)) => "it has no name".to_owned(),
            Self::Status(status) => status.message,
            Self::Foreign(why) => why,
        }))
    }
}

/// Decodes a body with one object: the response to a GET, or an error.
pub fn object_from_body<F: WatchedObject>(content_type: &str, bytes: &[u8]) -> ObjectBody<F> {
    let read = match Encoding::of(content_type) {
        None => return ObjectBody::Foreign(foreign_type(content_type)),
        Some(Encoding::Protobuf) => object::<Protobuf, F>(bytes),
        Some(Encoding::Json) => object::<Json, F>(bytes),
    };
    read.unwrap_or_else(|error| {
        ObjectBody::Foreign(format!(
            "the response is not a Kubernetes object: \
     {error}"
        ))
    })
}

fn object<T: ObjectFormat, F: WatchedObject>(bytes: &[u8]) -> Result<ObjectBody<F>, DecodeError> {
    let (kind, object) = T::body(bytes)?;
    if kind == "Status" {
        return T::status(object).map(ObjectBody::Status);
    }
    if kind != F::RESOURCE.kind {
        return Err(DecodeError::new(format!(
            "a {} where a {} was expected",
            sanitize(&kind, 64),
            F::RESOURCE.kind
        )));
    }
    Ok(ObjectBody::Object(F::decode(T::ENCODING, object)))
}

/// Decodes a body with an error; `None` if it is not a `Status`.
pub fn status_from_body(content_type: &str, bytes: &[u8]) -> Option<ApiStatus> {
    match Encoding::of(content_type)? {
        Encoding::Protobuf => status::<Protobuf>(bytes),
        Encoding::Json => status::<Json>(bytes),
    }
}

fn status<T: ObjectFormat>(bytes: &[u8]) -> Option<ApiStatus> {
    let (_, object) = T::body(bytes).ok().filter(|(kind, _)| kind == "Status")?;
    T::status(object).ok()
}

/// The error for a response of this type.
pub(crate) fn foreign_type(content_type: &str) -> String {
    format!(
        "the content type of the response is {:?}, not Kubernetes protobuf or JSON: is something other than \
         an API server answering?",
        sanitize(content_type, 64)
    )
}
