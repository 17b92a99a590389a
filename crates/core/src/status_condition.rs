//! Defines the conditions in the status of a custom resource.
//!
//! - Invariant: `lastTransitionTime` changes only when the status of the condition changes.

use crate::time::Wall;
use alloc::boxed::Box;
use alloc::string::String;

/// The longest message of a condition, in characters.
const MESSAGE_MAX: usize = 4_096;

/// A condition of a custom resource.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StatusCondition {
    /// `Ready`
    pub kind: Box<str>,
    /// `True`, `False` or `Unknown`.
    pub status: Box<str>,
    /// One word.
    pub reason: Box<str>,
    /// A sentence.
    pub message: Box<str>,
    /// Since when it has this status.
    pub since: Wall,
    /// The generation that it is about.
    pub observed: i64,
}

/// What a condition says now: whether it is true, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConditionState {
    pub(crate) is_true: bool,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

impl StatusCondition {
    /// Returns the condition of this moment and generation. If its status is that of the recorded one, so is its time.
    pub(crate) fn at(
        kind: &str,
        ConditionState { is_true, reason, message }: ConditionState,
        recorded: &[Self],
        (generation, now): (i64, Wall),
    ) -> Self {
        let status = if is_true { "True" } else { "False" };
        let same = recorded.iter().find(|one| *one.kind == *kind && *one.status == *status);
        Self {
            kind: kind.into(),
            status: status.into(),
            reason: reason.into(),
            message: message.chars().take(MESSAGE_MAX).collect::<String>().into(),
            since: same.map_or(whole_second(now), |one| one.since),
            observed: generation,
        }
    }
}

/// The API keeps whole seconds.
pub(crate) const fn whole_second(at: Wall) -> Wall {
    Wall::from_secs(at.as_micros().div_euclid(1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::borrow::ToOwned as _;

    /// Only the condition of this kind and status tells since when it holds.
    #[test]
    fn the_time_of_a_condition_stays_while_its_status_does() {
        let state = |is_true| ConditionState { is_true, reason: "Because", message: "so".to_owned() };
        let at = |kind, is_true, recorded: &[StatusCondition], second| {
            StatusCondition::at(
                kind,
                state(is_true),
                recorded,
                (1, Wall::from_micros(i64::from(second) * 1_000_000 + 7)),
            )
        };
        let recorded = [at("Ready", true, &[], 100), at("Blocked", false, &[], 200)];
        assert_eq!(recorded[0].since, Wall::from_secs(100), "in whole seconds");
        for (kind, is_true, expected) in
            [("Ready", true, 100), ("Ready", false, 300), ("Blocked", false, 200), ("Blocked", true, 300)]
        {
            let condition = at(kind, is_true, &recorded, 300);
            assert_eq!(condition.since, Wall::from_secs(expected), "{kind} {is_true}");
        }
    }
}
