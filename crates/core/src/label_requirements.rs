//! Parses `a=b,c!=d,e in (f,g),!h,i>5` as an API server does.
//!
//! - See `admission::LabelSelector` for selectors that are objects.

use crate::label::{key_errors, value_errors};
use crate::scheduling::{Labels, NodeOperator, NodeRequirement};
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// Requirements on labels; all must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelRequirements(Vec<NodeRequirement>);

impl LabelRequirements {
    /// Parses a selector.
    ///
    /// # Errors
    /// It is not one.
    pub fn parse(text: &str) -> Result<Self, InvalidSelector> {
        let found = |word: &str, expected: &str| Err(format!("found '{word}', expected: {expected}").into());
        let mut tokens = Tokens { rest: text };
        let mut requirements = Vec::new();
        match tokens.peek() {
            "" => return Ok(Self::default()),
            word if word != "!" && is_symbol(word) => {
                return found(word, "!, identifier, or 'end of string'");
            }
            _ => {}
        }
        loop {
            let requirement = tokens.requirement();
            requirements.push(requirement.map_err(|why| format!("unable to parse requirement: {why}"))?);
            match tokens.next() {
                "" => return Ok(Self(requirements)),
                "," => match tokens.peek() {
                    "!" => {}
                    word if word.is_empty() || is_symbol(word) => {
                        return found(word, "identifier after ','");
                    }
                    _ => {}
                },
                other => return found(other, "',' or 'end of string'"),
            }
        }
    }

    /// Whether there are no requirements: all labels match.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the labels match.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.0.iter().all(|one| one.matches_label(labels))
    }
}

/// Why a text is not a selector, in the words of the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidSelector(String);

impl From<String> for InvalidSelector {
    fn from(message: String) -> Self {
        Self(message)
    }
}

impl fmt::Display for InvalidSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for InvalidSelector {}

struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Tokens<'a> {
    fn peek(&mut self) -> &'a str {
        self.rest = self.rest.trim_start();
        if let Some(symbol) = SYMBOLS.into_iter().find(|symbol| self.rest.starts_with(symbol)) {
            return &self.rest[..symbol.len()];
        }
        let ends = |letter: char| letter.is_whitespace() || "=!(),<>".contains(letter);
        &self.rest[..self.rest.find(ends).unwrap_or(self.rest.len())]
    }

    fn next(&mut self) -> &'a str {
        let word = self.peek();
        self.rest = &self.rest[word.len()..];
        word
    }

    fn requirement(&mut self) -> Result<NodeRequirement, InvalidSelector> {
        let is_absent = self.peek() == "!";
        if is_absent {
            self.next();
        }
        let key = self.next();
        if key.is_empty() || is_symbol(key) {
            return Err(format!("found '{key}', expected: identifier").into());
        }
        if let Some(error) = key_errors(key).into_iter().next() {
            return Err(format!("<nil>: Invalid value: \"{key}\": {error}").into());
        }
        let (operator, values) = match self.peek() {
            _ if is_absent => (NodeOperator::DoesNotExist, Vec::new()),
            "" | "," => (NodeOperator::Exists, Vec::new()),
            "=" | "==" => (NodeOperator::In, self.one(key)?),
            "!=" => (NodeOperator::NotIn, self.one(key)?),
            "in" => (NodeOperator::In, self.many(key)?),
            "notin" => (NodeOperator::NotIn, self.many(key)?),
            ">" => (NodeOperator::Gt, self.number()?),
            "<" => (NodeOperator::Lt, self.number()?),
            other => return Err(format!("found '{other}', expected: in, notin, =, ==, !=, gt, lt").into()),
        };
        Ok(NodeRequirement { key: key.into(), operator, values })
    }

    fn one(&mut self, key: &str) -> Result<Vec<Box<str>>, InvalidSelector> {
        self.next();
        let value = match self.peek() {
            "" | "," => "",
            word if is_symbol(word) => return Err(format!("found '{word}', expected: identifier").into()),
            _ => self.next(),
        };
        checked(key, value).map(|value| Vec::from([value]))
    }

    fn number(&mut self) -> Result<Vec<Box<str>>, InvalidSelector> {
        self.next();
        let text = self.next();
        match text.parse::<i64>() {
            Ok(_) => Ok(Vec::from([text.into()])),
            Err(_) => Err(format!(
                "values[0]: Invalid value: \"{text}\": for 'Gt', 'Lt' operators, the value must be an integer"
            )
            .into()),
        }
    }

    fn many(&mut self, key: &str) -> Result<Vec<Box<str>>, InvalidSelector> {
        self.next();
        let mut values = Vec::new();
        match self.next() {
            "(" => {}
            other => return Err(format!("found '{other}' expected: '('").into()),
        }
        let mut has_value = false;
        loop {
            match self.next() {
                ")" => return Ok(values),
                "," => {
                    // An empty string between two commas is the empty value.
                    if !core::mem::take(&mut has_value) || self.peek() == ")" {
                        values.push("".into());
                    }
                }
                "" if has_value => return Err("found '', expected: ',' or ')'".to_owned().into()),
                "" => return Err("found '', expected: ',', ')' or identifier".to_owned().into()),
                value if has_value => return Err(format!("found '{value}', expected: ',' or ')'").into()),
                value => {
                    values.push(checked(key, value)?);
                    has_value = true;
                }
            }
        }
    }
}

/// The separators of words; the longer ones first.
const SYMBOLS: [&str; 9] = ["==", "!=", "=", "!", "(", ")", ",", "<", ">"];

fn is_symbol(word: &str) -> bool {
    SYMBOLS.contains(&word)
}

fn checked(key: &str, value: &str) -> Result<Box<str>, InvalidSelector> {
    match value_errors(value).into_iter().next() {
        None => Ok(value.into()),
        Some(error) => Err(format!("values[0][{key}]: Invalid value: \"{value}\": {error}").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString as _;

    #[test]
    fn each_requirement_holds_and_does_not() {
        let labels = [("app", "web"), ("tier", "front"), ("n", "7"), ("empty", "")];
        let labels: Labels = labels.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        for (selector, expected) in [
            ("", true),
            ("app=web", true),
            ("app==web", true),
            ("app = web , tier in (front, back)", true),
            ("app=db", false),
            ("app!=db", true),
            ("app!=web", false),
            ("other!=x", true),
            ("app", true),
            ("other", false),
            ("!other", true),
            ("!app", false),
            ("tier in (back)", false),
            ("tier notin (back)", true),
            ("other notin (x)", true),
            ("tier notin (front,back)", false),
            ("n>6", true),
            ("n>7", false),
            ("n<8", true),
            ("app<8", false),
            ("empty=", true),
            ("app=", false),
            ("app=,tier=front", false),
            ("empty=,app", true),
            ("app=web,!other", true),
            ("empty in (x,,y)", true),
            ("empty in (x,)", true),
            ("empty in (,x)", true),
            ("empty in (x,y)", false),
        ] {
            let requirements = LabelRequirements::parse(selector);
            assert_eq!(requirements.map(|all| all.matches(&labels)), Ok(expected), "{selector}");
        }
    }

    #[test]
    fn only_an_empty_selector_requires_nothing() {
        assert!(LabelRequirements::parse(" ").unwrap().is_empty());
        assert!(!LabelRequirements::parse("!app").unwrap().is_empty());
    }

    /// The words are those of an API server.
    #[test]
    fn an_invalid_selector_is_rejected_at_the_word_that_is_wrong() {
        let requirement = "unable to parse requirement: ";
        for (selector, inside, reason) in [
            ("=", "", "found '=', expected: !, identifier, or 'end of string'"),
            ("!=", "", "found '!=', expected: !, identifier, or 'end of string'"),
            (",a", "", "found ',', expected: !, identifier, or 'end of string'"),
            ("a=b c", "", "found 'c', expected: ',' or 'end of string'"),
            ("a=b,", "", "found '', expected: identifier after ','"),
            ("a=b,=", "", "found '=', expected: identifier after ','"),
            ("a=b,!", requirement, "found '', expected: identifier"),
            ("!", requirement, "found '', expected: identifier"),
            ("!(", requirement, "found '(', expected: identifier"),
            ("a b", requirement, "found 'b', expected: in, notin, =, ==, !=, gt, lt"),
            ("a==!b", requirement, "found '!', expected: identifier"),
            ("a in", requirement, "found '' expected: '('"),
            ("a in x", requirement, "found 'x' expected: '('"),
            ("a in (", requirement, "found '', expected: ',', ')' or identifier"),
            ("a in (b", requirement, "found '', expected: ',' or ')'"),
            ("a in (b c)", requirement, "found 'c', expected: ',' or ')'"),
        ] {
            let error = LabelRequirements::parse(selector).unwrap_err().to_string();
            assert_eq!(error, format!("{inside}{reason}"), "{selector}");
        }
        for selector in ["a>x", "-a=b", "a=-b-", "a in (-b-)"] {
            let error = LabelRequirements::parse(selector).unwrap_err().to_string();
            assert!(error.starts_with(requirement) && error.contains("Invalid value: \""), "{error}");
        }
    }
}
