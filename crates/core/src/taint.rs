//! Defines [`Taint`], an element of `spec.taints`, and its text form.
//!
//! - See `taint_start.rs` for since when it counts, `toleration_matching.rs` for what tolerates it.

use crate::time::Wall;
use alloc::boxed::Box;
use core::fmt;

pub mod keys;
mod vendors;
mod well_known;

pub use well_known::WellKnownTaint;

/// What a taint does to pods that do not tolerate it (MATCH-3). Anything but these three is a value of its own and
/// never evicts (D11).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum TaintEffect {
    /// Repels new pods.
    NoSchedule,
    /// Repels new pods if there is another node for them.
    PreferNoSchedule,
    /// Evicts running pods (TE-22).
    NoExecute,
    /// An effect this version does not know.
    Unknown(Box<str>),
}

impl TaintEffect {
    /// Parses an effect, case-sensitively.
    pub fn new(text: &str) -> Self {
        match text {
            "NoSchedule" => Self::NoSchedule,
            "PreferNoSchedule" => Self::PreferNoSchedule,
            "NoExecute" => Self::NoExecute,
            other => Self::Unknown(other.into()),
        }
    }

    /// The effect as the API writes it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::NoSchedule => "NoSchedule",
            Self::PreferNoSchedule => "PreferNoSchedule",
            Self::NoExecute => "NoExecute",
            Self::Unknown(text) => text,
        }
    }
}

/// One taint of a node (MATCH-1). Its identity is key and effect; value and `time_added` are not part of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Taint {
    /// The key; an API server requires a qualified label name.
    pub key: Box<str>,
    /// The value; often empty.
    pub value: Box<str>,
    /// The effect.
    pub effect: TaintEffect,
    /// When it was added, if its author set it; resolution of one second; not validated (P46).
    pub time_added: Option<Wall>,
}

impl Taint {
    /// Whether two taints are the same one (MATCH-1, MATCH-11): key and effect agree.
    pub fn is_same(&self, other: &Self) -> bool {
        self.key == other.key && self.effect == other.effect
    }
}

/// `key=value:TaintEffect`, `key:TaintEffect`, `key=value:` or `key` (MATCH-7).
impl fmt::Display for Taint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.key)?;
        if !self.value.is_empty() {
            write!(f, "={}", self.value)?;
        }
        let effect = self.effect.as_str();
        if !effect.is_empty() || !self.value.is_empty() {
            write!(f, ":{effect}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn text_form_follows_kubectl() {
        for (key, value, effect, text) in [
            ("k", "v", "NoExecute", "k=v:NoExecute"),
            ("k", "", "NoSchedule", "k:NoSchedule"),
            ("k", "v", "", "k=v:"),
            ("k", "", "", "k"),
            ("k", "", "noexecute", "k:noexecute"),
        ] {
            let taint = Taint {
                key: key.into(),
                value: value.into(),
                effect: TaintEffect::new(effect),
                time_added: None,
            };
            assert_eq!(taint.to_string(), text);
        }
    }
}
