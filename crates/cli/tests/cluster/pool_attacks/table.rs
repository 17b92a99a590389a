//! Formats which defence stopped which attack.

use std::collections::BTreeMap;
use std::fmt;

/// The defence that stopped an attack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Defence {
    Policy(String),
    Webhook(String),
}

impl Defence {
    /// The defence that the API server's message names.
    pub(crate) fn reported(error: &str) -> Option<Self> {
        let named = |before: &str, after: char| {
            let (_, rest) = error.split_once(before)?;
            Some(rest.split_once(after)?.0.to_owned())
        };
        let policy = named("ValidatingAdmissionPolicy '", '\'').map(Self::Policy);
        policy.or_else(|| named("admission webhook \"", '"').map(Self::Webhook))
    }
}

impl fmt::Display for Defence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Policy(name) => write!(f, "policy {name}"),
            Self::Webhook(name) => write!(f, "webhook {name}"),
        }
    }
}

/// Attacks in the order in which they were first stopped.
#[derive(Default)]
pub(crate) struct AttackTable {
    attacks: Vec<&'static str>,
    by: BTreeMap<&'static str, Vec<Defence>>,
}

impl AttackTable {
    /// Records the result of an attack in the next mode.
    pub(crate) fn stopped(&mut self, what: &'static str, by: Defence) {
        if !self.by.contains_key(what) {
            self.attacks.push(what);
        }
        self.by.entry(what).or_default().push(by);
    }

    /// The table with these columns; each attack must have a result in each.
    pub(crate) fn with(&self, modes: &[&str]) -> String {
        let line = |first: &str, rest: &[String]| {
            let cells: String = rest.iter().map(|cell| format!(" | {cell:<32}")).collect();
            format!("{first:<38}{cells}").trim_end().to_owned()
        };
        let words = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        let mut text = vec![line("attack, stopped by", &words(modes))];
        for what in &self.attacks {
            let by = &self.by[what];
            assert_eq!(by.len(), modes.len(), "{what}");
            text.push(line(what, &by.iter().map(ToString::to_string).collect::<Vec<_>>()));
        }
        text.join("\n")
    }
}
