//! Defines what became of a review, as metrics name it.

use taintward_server::closed_label;

closed_label! {
    /// What became of a question.
    Outcome, "outcome", {
        /// The object came in as it was.
        Allowed => "allowed",
        /// The object came in with something added.
        Patched => "patched",
        /// The object was kept out.
        Denied => "denied",
        /// A rule broke down; the object came in as it was.
        Panicked => "panicked",
        /// The object could not be judged: it was kept out where a pool or the brake does so, else it came in as it was.
        Unjudged => "unjudged",
        /// It was no question that can be answered.
        Malformed => "malformed",
    }
}
