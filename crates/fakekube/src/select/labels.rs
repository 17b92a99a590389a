//! Parses label selectors in both forms.

use crate::api_status::StatusError;
use crate::json_ext::{list, text};
use crate::name_format;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Requirements on labels; all must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelQuery {
    requirements: Vec<LabelRequirement>,
    /// Whether it matches nothing: an absent selector matches nothing, an empty one matches everything.
    nothing: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct LabelRequirement {
    key: String,
    how: LabelOperator,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum LabelOperator {
    In(BTreeSet<String>),
    NotIn(BTreeSet<String>),
    There,
    NotThere,
    Above(i64),
    Below(i64),
}

impl LabelQuery {
    /// Parses a query.
    ///
    /// # Errors
    /// 400, with a real server's message.
    pub fn read(query: &str) -> Result<Self, StatusError> {
        let unable = |why: String| StatusError::bad_request(format!("unable to parse requirement: {why}"));
        let found = |word: &str, expected: &str| {
            Err(StatusError::bad_request(format!("found '{word}', expected: {expected}")))
        };
        let mut words = SelectorTokens { rest: query };
        let mut requirements = Vec::new();
        loop {
            match words.peek() {
                "" => return Ok(Self { requirements, nothing: false }),
                "!" => {}
                word if is_symbol(word) => return found(word, "!, identifier, or 'end of string'"),
                _ => {}
            }
            requirements.push(words.requirement().map_err(unable)?);
            match words.next() {
                "" => return Ok(Self { requirements, nothing: false }),
                "," => match words.peek() {
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

    /// Whether everything matches.
    pub fn is_all(&self) -> bool {
        self.requirements.is_empty() && !self.nothing
    }

    /// Whether an object's labels match.
    pub fn match_object(&self, object: &Value) -> bool {
        self.match_labels(&object["metadata"]["labels"])
    }

    /// Whether labels match.
    pub fn match_labels(&self, labels: &Value) -> bool {
        self.hold(|key| labels.get(key).and_then(Value::as_str))
    }

    /// Whether labels match.
    pub fn match_map(&self, labels: &BTreeMap<Box<str>, Box<str>>) -> bool {
        self.hold(|key| labels.get(key).map(|value| &**value))
    }

    fn hold<'v>(&self, of: impl Fn(&str) -> Option<&'v str>) -> bool {
        let holds = |one: &LabelRequirement| {
            let value = of(&one.key);
            let number = || value.and_then(|value| value.parse::<i64>().ok());
            match &one.how {
                LabelOperator::In(values) => value.is_some_and(|value| values.contains(value)),
                LabelOperator::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
                LabelOperator::There => value.is_some(),
                LabelOperator::NotThere => value.is_none(),
                LabelOperator::Above(least) => number().is_some_and(|number| number > *least),
                LabelOperator::Below(most) => number().is_some_and(|number| number < *most),
            }
        };
        !self.nothing && self.requirements.iter().all(holds)
    }
}

/// Converts a `LabelSelector` object. An absent or invalid one matches nothing, an empty one everything.
pub fn from_object(selector: &Value) -> LabelQuery {
    if selector.is_null() {
        return LabelQuery { requirements: Vec::new(), nothing: true };
    }
    let mut requirements = Vec::new();
    for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
        let value = value.as_str().unwrap_or_default().to_owned();
        requirements
            .push(LabelRequirement { key: key.clone(), how: LabelOperator::In(BTreeSet::from([value])) });
    }
    let mut nothing = false;
    for expression in selector["matchExpressions"].as_array().into_iter().flatten() {
        let values = expression["values"].as_array().into_iter().flatten();
        let values = values.filter_map(|value| value.as_str().map(String::from)).collect();
        let how = match expression["operator"].as_str() {
            Some("In") => LabelOperator::In(values),
            Some("NotIn") => LabelOperator::NotIn(values),
            Some("Exists") => LabelOperator::There,
            Some("DoesNotExist") => LabelOperator::NotThere,
            _ => {
                nothing = true;
                continue;
            }
        };
        let key = expression["key"].as_str().unwrap_or_default().to_owned();
        requirements.push(LabelRequirement { key, how });
    }
    LabelQuery { requirements, nothing }
}

/// Labels as text, sorted as whole texts: `=` sorts after `-` and `.`, which may continue a key.
pub(crate) fn format_labels(labels: &Value) -> String {
    let labels = labels.as_object().into_iter().flatten();
    let mut pairs: Vec<String> =
        labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())).collect();
    pairs.sort_unstable();
    pairs.join(",")
}

/// A `LabelSelector` as text, empty if it selects everything or nothing; `None` if it is invalid.
pub(crate) fn format_selector(selector: &Value) -> Option<String> {
    let labels = selector["matchLabels"].as_object().into_iter().flatten();
    let mut all: Vec<(&str, String)> = labels
        .map(|(key, value)| (key.as_str(), format!("{key}={}", value.as_str().unwrap_or_default())))
        .collect();
    for expression in list(selector, "matchExpressions") {
        let key = text(expression, "key");
        let mut values: Vec<&str> = list(expression, "values").iter().filter_map(Value::as_str).collect();
        values.sort_unstable();
        let requirement = match (text(expression, "operator"), values.is_empty()) {
            ("In", false) => format!("{key} in ({})", values.join(",")),
            ("NotIn", false) => format!("{key} notin ({})", values.join(",")),
            ("Exists", true) => key.to_owned(),
            ("DoesNotExist", true) => format!("!{key}"),
            _ => return None,
        };
        all.push((key, requirement));
    }
    all.sort_by_key(|(key, _)| *key);
    Some(all.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(","))
}

/// The tokens of a selector.
struct SelectorTokens<'a> {
    rest: &'a str,
}

impl<'a> SelectorTokens<'a> {
    fn peek(&mut self) -> &'a str {
        self.rest = self.rest.trim_start();
        let special = |letter: char| "=!(),<>".contains(letter);
        for symbol in ["==", "!=", "=", "!", "(", ")", ",", "<", ">"] {
            if self.rest.starts_with(symbol) {
                return &self.rest[..symbol.len()];
            }
        }
        let end = self.rest.find(|letter: char| letter.is_whitespace() || special(letter));
        &self.rest[..end.unwrap_or(self.rest.len())]
    }

    fn next(&mut self) -> &'a str {
        let word = self.peek();
        self.rest = &self.rest[word.len()..];
        word
    }

    fn requirement(&mut self) -> Result<LabelRequirement, String> {
        let absent = self.peek() == "!";
        if absent {
            self.next();
        }
        let key = self.next().to_owned();
        if key.is_empty() || is_symbol(&key) {
            return Err(format!("found '{key}', expected: identifier"));
        }
        if let Some(error) = name_format::qualified_name(&key).first() {
            return Err(format!("<nil>: Invalid value: \"{key}\": {error}"));
        }
        if absent {
            return Ok(LabelRequirement { key, how: LabelOperator::NotThere });
        }
        let how = match self.peek() {
            "" | "," => LabelOperator::There,
            "=" | "==" => LabelOperator::In(self.one(&key)?),
            "!=" => LabelOperator::NotIn(self.one(&key)?),
            "in" => LabelOperator::In(self.many(&key)?),
            "notin" => LabelOperator::NotIn(self.many(&key)?),
            ">" => LabelOperator::Above(self.number()?),
            "<" => LabelOperator::Below(self.number()?),
            other => {
                let known = "in, notin, =, ==, !=, gt, lt";
                return Err(format!("found '{other}', expected: {known}"));
            }
        };
        Ok(LabelRequirement { key, how })
    }

    fn one(&mut self, key: &str) -> Result<BTreeSet<String>, String> {
        self.next();
        let value = match self.peek() {
            "" | "," => "",
            word if is_symbol(word) => return Err(format!("found '{word}', expected: identifier")),
            _ => self.next(),
        };
        checked(key, value).map(|value| BTreeSet::from([value]))
    }

    fn number(&mut self) -> Result<i64, String> {
        self.next();
        let text = self.next();
        text.parse().map_err(|_| {
            format!(
                "values[0]: Invalid value: \"{text}\": for 'Gt', 'Lt' operators, the value must be an integer"
            )
        })
    }

    fn many(&mut self, key: &str) -> Result<BTreeSet<String>, String> {
        self.next();
        let mut values = BTreeSet::new();
        match self.next() {
            "(" => {}
            other => return Err(format!("found '{other}' expected: '('")),
        }
        let mut read = false;
        loop {
            match self.next() {
                ")" => return Ok(values),
                "," => {
                    // An empty text between two commas is the empty value.
                    if !std::mem::take(&mut read) || self.peek() == ")" {
                        values.insert(String::new());
                    }
                }
                "" if read => return Err("found '', expected: ',' or ')'".to_owned()),
                "" => return Err("found '', expected: ',', ')' or identifier".to_owned()),
                value if read => return Err(format!("found '{value}', expected: ',' or ')'")),
                value => {
                    values.insert(checked(key, value)?);
                    read = true;
                }
            }
        }
    }
}

/// Whether a token is a symbol.
fn is_symbol(word: &str) -> bool {
    matches!(word, "=" | "==" | "!=" | "!" | "(" | ")" | "," | "<" | ">")
}

fn checked(key: &str, value: &str) -> Result<String, String> {
    match name_format::label_value(value).as_slice() {
        [] => Ok(value.to_owned()),
        [error, ..] => Err(format!("values[0][{key}]: Invalid value: \"{value}\": {error}")),
    }
}

#[cfg(test)]
mod tests;
