//! Defines the outcomes of reviews, as metrics name them.

use taintward_server::closed_label;

closed_label! {
    /// The outcome of a review.
    Outcome, "outcome", {
        /// The object was allowed unchanged.
        Allowed => "allowed",
        /// The object was allowed with a patch.
        Patched => "patched",
        /// The object was rejected.
        Denied => "denied",
        /// A rule panicked; the object was allowed unchanged.
        Panicked => "panicked",
        /// The object could not be judged: it was rejected if a pool or the NoExecute guard requires that, else allowed
        /// unchanged.
        Unjudged => "unjudged",
        /// It was not a valid review.
        Malformed => "malformed",
    }
}
