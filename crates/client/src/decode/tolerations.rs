//! # Tolerations in an annotation
//! Room:     the JSON lists that namespaces carry (AD-8), read as Go reads them.
//! Comes in: the annotation's text, which may be anything.
//! Goes out: [`Listed`]; a list that cannot be read says so, with the place.
//! Not here: tolerations of pods (`json.rs`, `protobuf/pod.rs`); what the lists do (the core).

use super::meaning::LONGEST_LIST;
use super::{Fault, harmless};
use serde_json::{Map, Value};
use taintward_core::admission::policy::{Asked, NOT_READY_SECONDS, UNREACHABLE_SECONDS};
use taintward_core::admission::request::NamespaceFacts;
use taintward_core::admission::restriction::{DEFAULTS, Listed, NamespaceLists, WHITELIST};
use taintward_core::scheduling::Labels;
use taintward_core::taint::Effect;
use taintward_core::toleration::{Operator, Toleration};

/// What a namespace says, from its two maps.
pub(super) fn namespace_facts(labels: Labels, mut annotations: Labels) -> NamespaceFacts {
    let lists = NamespaceLists {
        defaults: listed(annotations.get(DEFAULTS).map(AsRef::as_ref)),
        whitelist: listed(annotations.get(WHITELIST).map(AsRef::as_ref)),
    };
    let not_ready = annotations.remove(NOT_READY_SECONDS);
    let unreachable = annotations.remove(UNREACHABLE_SECONDS);
    NamespaceFacts { labels, asked: Asked { not_ready, unreachable }, lists }
}

/// A list in an annotation (AD-8): none, an empty one where the annotation is empty or `null`, or what is written.
pub(super) fn listed(text: Option<&str>) -> Listed {
    match text.map(read) {
        None => Listed::Absent,
        Some(Ok(tolerations)) => Listed::Present(tolerations),
        Some(Err(fault)) => Listed::Unreadable(fault.to_string().into()),
    }
}

fn read(text: &str) -> Result<Vec<Toleration>, Fault> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let value = serde_json::from_str(text).map_err(|why| Fault::new(harmless(&why.to_string(), 120)))?;
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(entries) if entries.len() > LONGEST_LIST => {
            Err(Fault::new(format!("more than {LONGEST_LIST} entries")))
        }
        Value::Array(entries) => {
            let numbered = entries.iter().enumerate();
            numbered.map(|(at, entry)| toleration(entry).map_err(|fault| fault.index(at))).collect()
        }
        _ => Err(Fault::new("not a list of tolerations")),
    }
}

/// Go takes names of fields in any case; which of two spellings it would take is not guessed.
fn toleration(entry: &Value) -> Result<Toleration, Fault> {
    let nothing = Map::new();
    let entry = match entry {
        Value::Object(entry) => entry,
        Value::Null => &nothing,
        _ => return Err(Fault::new("not a toleration")),
    };
    let text = |name: &str| match field(entry, name)? {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text.as_str()),
        Some(_) => Err(Fault::new("not a string").at(name)),
    };
    let seconds = match field(entry, "tolerationSeconds")? {
        None | Some(Value::Null) => None,
        Some(value) => Some(
            value
                .as_i64()
                .ok_or_else(|| Fault::new("not a whole number of 64 bits").at("tolerationSeconds"))?,
        ),
    };
    let effect = text("effect")?;
    Ok(Toleration {
        key: text("key")?.into(),
        operator: Operator::new(text("operator")?),
        value: text("value")?.into(),
        effect: (!effect.is_empty()).then(|| Effect::new(effect)),
        seconds,
    })
}

fn field<'v>(entry: &'v Map<String, Value>, name: &str) -> Result<Option<&'v Value>, Fault> {
    let mut found = entry.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value);
    let first = found.next();
    match found.next() {
        Some(_) => Err(Fault::new("given in two spellings").at(name)),
        None => Ok(first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(key: &str, operator: &str, effect: Option<Effect>, seconds: Option<i64>) -> Toleration {
        let operator = Operator::new(operator);
        Toleration { key: key.into(), operator, value: "".into(), effect, seconds }
    }

    #[test]
    fn lists_are_read_as_go_reads_them() {
        assert_eq!(listed(None), Listed::Absent);
        for empty in ["", "null", "[]", " [ ] "] {
            assert_eq!(listed(Some(empty)), Listed::Present(Vec::new()), "{empty:?}");
        }
        let all = r#"[{"key":"a","operator":"Exists","effect":"NoExecute","tolerationSeconds":-1},
                      {"KEY":"b","other":[{}],"effect":null}, null]"#;
        let expected = vec![
            written("a", "Exists", Some(Effect::NoExecute), Some(-1)),
            written("b", "", None, None),
            written("", "", None, None),
        ];
        assert_eq!(listed(Some(all)), Listed::Present(expected));
    }

    #[test]
    fn what_is_no_list_says_where() {
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
            assert_eq!(listed(Some(text)), Listed::Unreadable(why.into()), "{text}");
        }
        for text in ["[", "[] []", "nul", "[{\"key\":}]"] {
            assert!(matches!(listed(Some(text)), Listed::Unreadable(_)), "{text}");
        }
    }
}
