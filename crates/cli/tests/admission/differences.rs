//! # Differences: what the webhook does not do as the API server's plugins do, on purpose
//! Room:     each difference with its reason, and how it shows.
//! Comes in: the same request on two sides.
//! Goes out: whether a difference is this one.
//! Not here: anything that is not seen in every run: the test wants each of them.

use super::worlds::{Outcome, Pair, Side};

/// One of them; `docs/differences.md` says the same.
pub(crate) struct Difference {
    pub(crate) name: &'static str,
    pub(crate) why: &'static str,
    pub(crate) holds: fn(&Pair<'_>) -> bool,
}

/// All of them.
pub(crate) const DIFFERENCES: &[Difference] = &[
    Difference {
        name: "forbidden",
        why: "what a whitelist does not allow is a 403 with the way out, not an internal error (AD-11)",
        holds: |pair| {
            matches!((pair.upstream, pair.other),
                (Outcome::Refused { code: 500, message: theirs }, Outcome::Refused { code: 403, message: ours })
                if theirs.contains("conflict with its") && ours.contains("conflict with its"))
        },
    },
    Difference {
        name: "unreadable",
        why: "an annotation that is no list is a 403 that names it, not an internal error (AD-8)",
        holds: |pair| {
            pair.side == Side::Ours
                && matches!((pair.upstream, pair.other),
                (Outcome::Refused { code: 500, .. }, Outcome::Refused { code: 403, message: ours })
                if ours.contains("of the namespace is no JSON list of tolerations"))
        },
    },
];
