//! Checks one toleration by itself (TL101 to TL109, TL111, TL112, TL208, TL209, TL214): invalid fields (VAL-1 to VAL-5) and
//! surprising seconds (TE-19, TE-20).

use super::{
    FindingSink, LintedToleration, LintedWorkload, NOT_TEXT, QUOTE_IT, Rule, TolerationPart, meant,
    odd_letter, unknown_effect,
};
use crate::label::{is_key, is_value};
use crate::taint::TaintEffect;
use crate::text::Quoted;
use crate::toleration::TolerationOperator;
use crate::toleration_matching::{NumericOperators, canonical_integer};
use alloc::format;
use alloc::string::String;

/// The fields of a toleration.
const FIELDS: [&str; 5] = ["key", "operator", "value", "effect", "tolerationSeconds"];

/// The operators; those that need a feature gate last.
const OPERATORS: [&str; 4] = ["Exists", "Equal", "Lt", "Gt"];

/// The most seconds that fit into 64 bits of nanoseconds (TE-20).
const SECONDS_MAX: i64 = i64::MAX / 1_000_000_000;

pub(super) fn check(workload: &LintedWorkload, numeric: NumericOperators, findings: &mut FindingSink<'_>) {
    for (index, toleration) in workload.tolerations.iter().enumerate() {
        let mut one = SingleToleration { index, toleration, findings };
        one.key();
        one.operator(numeric);
        one.effect();
        one.seconds();
        one.fields();
    }
}

struct SingleToleration<'a, 'd, 'f> {
    index: usize,
    toleration: &'a LintedToleration,
    findings: &'d mut FindingSink<'f>,
}

impl SingleToleration<'_, '_, '_> {
    fn report(
        &mut self,
        rule: Rule,
        part: TolerationPart,
        reason: impl Into<String>,
        fix: impl Into<String>,
    ) {
        self.findings.toleration(rule, (self.index, part), reason, fix);
    }

    /// VAL-1.
    fn key(&mut self) {
        let read = &self.toleration.read;
        if read.key.is_empty() {
            if read.operator != TolerationOperator::Exists {
                let reason = "it has no key and not the operator Exists: an API server rejects it";
                let fix = "name the key, or write operator: Exists to tolerate every taint";
                self.report(Rule::EmptyKey, TolerationPart::Operator, reason, fix);
            }
        } else if !is_key(&read.key) {
            let reason = format!(
                "{} cannot be the key of a taint{}: an API server rejects it",
                Quoted(&read.key),
                odd_letter(&read.key)
            );
            let fix = "write a name of letters, digits, '-', '_' and '.', optionally after a domain and '/'";
            self.report(Rule::Malformed, TolerationPart::Key, reason, fix);
        }
    }

    /// VAL-3, VAL-4.
    fn operator(&mut self, numeric: NumericOperators) {
        let read = &self.toleration.read;
        match &read.operator {
            TolerationOperator::Unset | TolerationOperator::Equal if !is_value(&read.value) => {
                let (value, letter) = (Quoted(&read.value), odd_letter(&read.value));
                let reason =
                    format!("{value} cannot be the value of a taint{letter}: an API server rejects it");
                let fix = "write at most 63 letters, digits, '-', '_' and '.'";
                self.report(Rule::Malformed, TolerationPart::Value, reason, fix);
            }
            TolerationOperator::Exists if !read.value.is_empty() => {
                let value = Quoted(&read.value);
                let reason =
                    format!("Exists matches any value, and {value} is given: an API server rejects it");
                let fix = "leave the value out, or write operator: Equal to match only this value";
                self.report(Rule::ExistsWithValue, TolerationPart::Value, reason, fix);
            }
            TolerationOperator::Lt | TolerationOperator::Gt => self.comparison(numeric),
            TolerationOperator::Unknown(text) => {
                let reason =
                    format!("the operator {} does not exist: an API server rejects it", Quoted(text));
                // Lt and Gt need a feature gate.
                let known = if numeric == NumericOperators::On { &OPERATORS[..] } else { &OPERATORS[..2] };
                let fix = match meant(text, known.iter().copied()) {
                    Some(meant) => format!("write operator: {meant}"),
                    None => String::from("write Equal for one value, or Exists for any"),
                };
                self.report(Rule::UnknownOperator, TolerationPart::Operator, reason, fix);
            }
            _ => {}
        }
    }

    /// MATCH-6.
    fn comparison(&mut self, numeric: NumericOperators) {
        let read = &self.toleration.read;
        if numeric == NumericOperators::Off {
            let operator = read.operator.as_str();
            let reason = format!(
                "{operator} compares numbers only where TaintTolerationComparisonOperators is on: elsewhere an API \
                 server rejects it"
            );
            let fix = "turn the gate on and say so with --feature-gates, or name the values with Equal";
            self.report(Rule::NumericGateOff, TolerationPart::Operator, reason, fix);
        } else if canonical_integer(&read.value).is_none() {
            let reason = format!("{} is not a whole number in plain form", Quoted(&read.value));
            let fix = "write it without +, leading zeros or a fraction, such as 0, 42 or -7";
            self.report(Rule::NumericValue, TolerationPart::Value, reason, fix);
        }
    }

    /// VAL-5.
    fn effect(&mut self) {
        if let Some(TaintEffect::Unknown(text)) = &self.toleration.read.effect {
            let (reason, fix) = unknown_effect(text);
            self.report(Rule::UnknownEffect, TolerationPart::Effect, reason, fix);
        }
    }

    /// VAL-2, TE-19, TE-20.
    fn seconds(&mut self) {
        let read = &self.toleration.read;
        if let Some(text) = &self.toleration.odd_seconds {
            let reason = format!("{} is not a 64-bit whole number: an API server rejects it", Quoted(text));
            let fix = "write a whole number without quotes; leave tolerationSeconds out to stay indefinitely";
            self.report(Rule::UnreadableSeconds, TolerationPart::Seconds, reason, fix);
        }
        if let (Some(text), Some(seconds)) = (&self.toleration.octal_seconds, read.seconds) {
            let reason = format!("{text} begins with 0, so it is an octal number: {seconds} s");
            self.report(
                Rule::OctalSeconds,
                TolerationPart::Seconds,
                reason,
                "write the decimal number without zeros in front",
            );
        }
        let written = read.seconds.is_some() || self.toleration.odd_seconds.is_some();
        if written && read.effect != Some(TaintEffect::NoExecute) {
            let effect = match read.effect.as_ref().map_or("", TaintEffect::as_str) {
                "" => String::from("no effect"),
                other => format!("the effect {}", Quoted(other)),
            };
            let reason = format!("it has seconds and {effect}: an API server rejects it");
            let fix = "write effect: NoExecute, or leave tolerationSeconds out: only NoExecute counts \
             seconds";
            self.report(Rule::SecondsWithoutNoExecute, TolerationPart::Seconds, reason, fix);
            return;
        }
        match read.seconds {
            Some(seconds) if seconds <= 0 => {
                let reason = format!(
                    "{seconds} seconds: the pod is evicted immediately, as if it did not tolerate the \
                     taint"
                );
                let fix = "leave the toleration out to evict immediately; leave tolerationSeconds out to stay \
                     indefinitely";
                self.report(Rule::NoTimeAtAll, TolerationPart::Seconds, reason, fix);
            }
            Some(seconds) if seconds > SECONDS_MAX => {
                let reason = format!(
                    "{seconds} seconds overflow in kube-controller-manager: it may evict the pod immediately or \
                     never"
                );
                let fix = "leave tolerationSeconds out to stay indefinitely";
                self.report(Rule::TooManySeconds, TolerationPart::Seconds, reason, fix);
            }
            _ => {}
        }
    }

    fn fields(&mut self) {
        for (at, name) in self.toleration.odd_fields.iter().enumerate() {
            let reason = format!("a toleration has no field {}: it has no effect", Quoted(name));
            let fix = match meant(name, FIELDS) {
                Some(meant) => format!("write {meant}"),
                None if name.to_lowercase().contains("seconds") => String::from("write tolerationSeconds"),
                None => format!("remove it; the fields are {}", FIELDS.join(", ")),
            };
            self.report(Rule::UnknownField, TolerationPart::Odd(at), reason, fix);
        }
        for &part in &self.toleration.not_text {
            self.report(Rule::NotText, part, NOT_TEXT, QUOTE_IT);
        }
    }
}
