//! Defines why an AdmissionReview cannot be answered, or its object not judged.

/// What is wrong with a review, in one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct InvalidReview {
    reason: String,
    of_object: bool,
}

impl InvalidReview {
    /// The review itself is invalid and cannot be answered.
    pub(crate) fn question(reason: String) -> Self {
        Self { reason, of_object: false }
    }

    /// The object of a valid review is invalid.
    pub(crate) fn object(reason: String) -> Self {
        Self { reason, of_object: true }
    }

    pub(super) fn is_of_object(&self) -> bool {
        self.of_object
    }
}
