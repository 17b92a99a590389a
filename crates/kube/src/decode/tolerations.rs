//! Decodes the toleration lists in annotations of namespaces as Go does (AD-8).

use super::DecodeError;
use crate::error_text::sanitize;
use crate::wire::LONGEST_LIST;
use serde_json::{Map, Value};
use taintward_core::admission::pod_toleration_restriction::{
    DEFAULTS, NamespaceTolerationLists, TolerationListAnnotation, WHITELIST,
};
use taintward_core::admission::policy::{NOT_READY_SECONDS, RequestedSeconds, UNREACHABLE_SECONDS};
use taintward_core::admission::request::NamespaceFact;
use taintward_core::scheduling::Labels;
use taintward_core::taint::TaintEffect;
use taintward_core::toleration::{Toleration, TolerationOperator};

/// The facts of a namespace, from its two maps.
pub(super) fn namespace_facts(labels: Labels, mut annotations: Labels) -> NamespaceFact {
    let lists = NamespaceTolerationLists {
        defaults: listed(annotations.get(DEFAULTS).map(AsRef::as_ref)),
        whitelist: listed(annotations.get(WHITELIST).map(AsRef::as_ref)),
    };
    let not_ready = annotations.remove(NOT_READY_SECONDS);
    let unreachable = annotations.remove(UNREACHABLE_SECONDS);
    NamespaceFact { labels, requested: RequestedSeconds { not_ready, unreachable }, lists }
}

/// A list in an annotation (AD-8): absent, an empty one if the annotation is empty or `null`, or the written list.
fn listed(text: Option<&str>) -> TolerationListAnnotation {
    match text.map(read) {
        None => TolerationListAnnotation::Absent,
        Some(Ok(tolerations)) => TolerationListAnnotation::Present(tolerations),
        Some(Err(error)) => TolerationListAnnotation::Unreadable(error.to_string().into()),
    }
}

fn read(text: &str) -> Result<Vec<Toleration>, DecodeError> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let value =
        serde_json::from_str(text).map_err(|why| DecodeError::new(sanitize(&why.to_string(), 120)))?;
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(entries) if entries.len() > LONGEST_LIST => {
            Err(DecodeError::new(format!("more than {LONGEST_LIST} entries")))
        }
        Value::Array(entries) => {
            let numbered = entries.iter().enumerate();
            numbered.map(|(at, entry)| toleration(entry).map_err(|error| error.index(at))).collect()
        }
        _ => Err(DecodeError::new("not a list of tolerations")),
    }
}

/// Go accepts names of fields in any case; which of two spellings it would take is not guessed.
fn toleration(entry: &Value) -> Result<Toleration, DecodeError> {
    let nothing = Map::new();
    let entry = match entry {
        Value::Object(entry) => entry,
        Value::Null => &nothing,
        _ => return Err(DecodeError::new("not a toleration")),
    };
    let text = |name: &str| match field(entry, name)? {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text.as_str()),
        Some(_) => Err(DecodeError::new("not a string").at(name)),
    };
    let seconds = match field(entry, "tolerationSeconds")? {
        None | Some(Value::Null) => None,
        Some(value) => Some(
            value
                .as_i64()
                .ok_or_else(|| DecodeError::new("not a whole number of 64 bits").at("tolerationSeconds"))?,
        ),
    };
    let effect = text("effect")?;
    Ok(Toleration {
        key: text("key")?.into(),
        operator: TolerationOperator::new(text("operator")?),
        value: text("value")?.into(),
        effect: (!effect.is_empty()).then(|| TaintEffect::new(effect)),
        seconds,
    })
}

fn field<'v>(entry: &'v Map<String, Value>, name: &str) -> Result<Option<&'v Value>, DecodeError> {
    let mut found = entry.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value);
    let first = found.next();
    match found.next() {
        Some(_) => Err(DecodeError::new("given in two spellings").at(name)),
        None => Ok(first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(key: &str, operator: &str, effect: Option<TaintEffect>, seconds: Option<i64>) -> Toleration {
        let operator = TolerationOperator::new(operator);
        Toleration { key: key.into(), operator, value: "".into(), effect, seconds }
    }

    #[test]
    fn lists_are_parsed_as_go_does() {
        assert_eq!(listed(None), TolerationListAnnotation::Absent);
        for empty in ["", "null", "[]", " [ ] "] {
            assert_eq!(listed(Some(empty)), TolerationListAnnotation::Present(Vec::new()), "{empty:?}");
        }
        let all = r#"[{"key":"a","operator":"Exists","effect":"NoExecute","tolerationSeconds":-1},
                      {"KEY":"b","other":[{}],"effect":null}, null]"#;
        let expected = vec![
            written("a", "Exists", Some(TaintEffect::NoExecute), Some(-1)),
            written("b", "", None, None),
            written("", "", None, None),
        ];
        assert_eq!(listed(Some(all)), TolerationListAnnotation::Present(expected));
    }

    #[test]
    fn an_invalid_list_says_where() {
        for (text, why) in [
            ("{}", "not a list of tolerations"),
            ("7", "not a list of tolerations"),
            ("[1]", "[0]: not a toleration"),
            (r#"[{},{"key":5}]"#, "[1].key: not a string"),
            (r#"[{"tolerationSeconds":"5"}]"#, "[0].tolerationSeconds: not a whole number of 64 bits"),
            (r#"[{"tolerationSeconds":1.5}]"#, "[0].tolerationSeconds: not a whole number of 64 bits"),
            (
                r#"[{"tolerationSeconds":9223372036854775808}]"#,
                "[0].tolerationSeconds: not a whole number of 64 bits",
            ),
            (r#"[{"key":"a","Key":"b"}]"#, "[0].key: given in two spellings"),
        ] {
            assert_eq!(listed(Some(text)), TolerationListAnnotation::Unreadable(why.into()), "{text}");
        }
        for text in ["[", "[] []", "nul", "[{\"key\":}]"] {
            assert!(matches!(listed(Some(text)), TolerationListAnnotation::Unreadable(_)), "{text}");
        }
    }
}
