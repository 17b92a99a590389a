//! Parses one argument, such as `key=value:Effect` or `key-` (KT-2, KT-3), and rejects contradicting ones (KT-5).

use super::{TaintEdit, TaintRemoval};
use crate::label::{is_key, is_value, key_errors, odd_in_key, odd_in_value, value_errors};
use crate::taint::{Taint, TaintEffect};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

/// Why arguments are not a valid edit. Its text is kubectl's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrammarError {
    /// Which argument, counted from 0.
    pub argument: usize,
    /// Where in it, in bytes: the first invalid character, or the end if something is missing.
    pub at: usize,
    /// What is wrong there.
    pub error: GrammarErrorKind,
}

/// What is wrong with an argument. A `spec` is the argument, without the `-` of a removal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrammarErrorKind {
    /// More than one `:`.
    Colons {
        /// The argument.
        spec: Box<str>,
    },
    /// More than one `=`.
    Equals {
        /// The argument.
        spec: Box<str>,
    },
    /// An addition without an effect.
    NoEffect {
        /// The argument.
        spec: Box<str>,
    },
    /// An unknown effect; it may be empty.
    Effect {
        /// The text in its place.
        effect: Box<str>,
    },
    /// An invalid value.
    Value {
        /// The argument.
        spec: Box<str>,
        /// The API server's messages.
        errors: Vec<String>,
    },
    /// An invalid key.
    Key {
        /// The argument.
        spec: Box<str>,
        /// The API server's messages.
        errors: Vec<String>,
    },
    /// The same taint is added twice.
    Twice(
        /// As written in the second argument.
        Taint,
    ),
    /// The same taints are added and removed (KT-5): all removals that match an addition.
    Contradiction(
        /// One for each matching addition.
        Vec<TaintRemoval>,
    ),
}

/// Whether an argument is an edit, rather than a name (KT-2).
pub fn is_change(argument: &str) -> bool {
    argument.contains(['=', ':']) || argument.ends_with('-')
}

/// Parses arguments, each an addition or a removal (KT-3). Without arguments the edit is empty, which is not an error.
///
/// ```
/// use taintward_core::taint_edit::parse;
///
/// let first = parse(&["old:NoSchedule"]).unwrap().apply(&[], false).unwrap();
/// let edit = parse(&["dedicated=db:NoExecute", "old-"]).unwrap();
/// let edited = edit.apply(&first.taints, false).unwrap();
/// assert_eq!(edited.taints.len(), 1);
/// assert_eq!(edited.taints[0].to_string(), "dedicated=db:NoExecute");
/// assert!(parse(&["dedicated=db:Never"]).is_err());
/// ```
///
/// # Errors
/// The first argument that is invalid by itself or repeats another; then contradictions (KT-5).
pub fn parse(arguments: &[&str]) -> Result<TaintEdit, GrammarError> {
    let mut change = TaintEdit::default();
    let mut removals_at = Vec::new();
    for (argument, text) in arguments.iter().enumerate() {
        let wrong = |(at, error)| GrammarError { argument, at, error };
        match text.strip_suffix('-') {
            Some(spec) => {
                let SpecPart { key, effect, .. } = piece(spec).map_err(wrong)?;
                change.remove.push(TaintRemoval { key: key.into(), effect });
                removals_at.push(argument);
            }
            None => {
                let taint = addition(text).map_err(wrong)?;
                if change.add.iter().any(|other| other.is_same(&taint)) {
                    return Err(wrong((0, GrammarErrorKind::Twice(taint))));
                }
                change.add.push(taint);
            }
        }
    }
    contradiction(&change, &removals_at).map_or(Ok(change), Err)
}

/// The position of a fault, and the fault.
type PositionedError = (usize, GrammarErrorKind);

/// The parts of one argument.
struct SpecPart<'a> {
    key: &'a str,
    value: &'a str,
    effect: Option<TaintEffect>,
}

fn addition(text: &str) -> Result<Taint, PositionedError> {
    let SpecPart { key, value, effect } = piece(text)?;
    let effect = effect.ok_or_else(|| (text.len(), GrammarErrorKind::NoEffect { spec: text.into() }))?;
    Ok(Taint { key: key.into(), value: value.into(), effect, time_added: None })
}

/// Effect, value and key are validated in kubectl's order, so that of several errors the same one is reported.
fn piece(spec: &str) -> Result<SpecPart<'_>, PositionedError> {
    let mut parts = spec.split(':');
    let before = parts.next().unwrap_or_default();
    let Some(effect) = parts.next() else {
        check_key(spec, spec)?;
        return Ok(SpecPart { key: spec, value: "", effect: None });
    };
    if parts.next().is_some() {
        return Err((before.len() + 1 + effect.len(), GrammarErrorKind::Colons { spec: spec.into() }));
    }
    let known = match TaintEffect::new(effect) {
        TaintEffect::Unknown(effect) => return Err((before.len() + 1, GrammarErrorKind::Effect { effect })),
        known => known,
    };
    let (key, value) = before.split_once('=').unwrap_or((before, ""));
    if let Some(at) = value.find('=') {
        return Err((key.len() + 1 + at, GrammarErrorKind::Equals { spec: spec.into() }));
    }
    if let Some(at) = odd_in_value(value) {
        let errors = value_errors(value);
        return Err((key.len() + 1 + at, GrammarErrorKind::Value { spec: spec.into(), errors }));
    }
    check_key(spec, key)?;
    Ok(SpecPart { key, value, effect: Some(known) })
}

/// Whether it is `key=value`, which lacks only an effect.
pub(super) fn is_pair(spec: &str) -> bool {
    spec.split_once('=').is_some_and(|(key, value)| is_key(key) && is_value(value))
}

fn check_key(spec: &str, key: &str) -> Result<(), PositionedError> {
    let odd = odd_in_key(key).map(|at| if is_pair(key) { key.len() } else { at });
    match odd {
        Some(at) => Err((at, GrammarErrorKind::Key { spec: spec.into(), errors: key_errors(key) })),
        None => Ok(()),
    }
}

fn contradiction(change: &TaintEdit, removals_at: &[usize]) -> Option<GrammarError> {
    let meeting: Vec<(usize, &TaintRemoval)> = change
        .add
        .iter()
        .flat_map(|taint| {
            let removals = removals_at.iter().copied().zip(&change.remove);
            removals.filter(|(_, removal)| removal.takes(taint))
        })
        .collect();
    let argument = meeting.first()?.0;
    let removals = meeting.into_iter().map(|(_, removal)| removal.clone()).collect();
    Some(GrammarError { argument, at: 0, error: GrammarErrorKind::Contradiction(removals) })
}
