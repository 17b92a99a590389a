//! Tests the grammar against kubectl's behavior (KT-2 to KT-8) and with arbitrary text.

use super::*;
use alloc::format;
use alloc::string::{String, ToString};
use proptest::prelude::*;

fn parsed_taint(text: &str) -> Taint {
    parse(&[text]).unwrap().add.remove(0)
}

fn wrong(arguments: &[&str]) -> (usize, usize, String) {
    let error = parse(arguments).unwrap_err();
    (error.argument, error.at, error.to_string())
}

/// Returns the taints as text, and the summary.
fn applied(
    change: &[&str],
    node: &[&str],
    overwrite: bool,
) -> Result<(Vec<String>, EditSummary), Vec<String>> {
    let node: Vec<Taint> = node.iter().map(|text| parsed_taint(text)).collect();
    let applied = parse(change).unwrap().apply(&node, overwrite);
    applied
        .map(|applied| (applied.taints.iter().map(ToString::to_string).collect(), applied.word))
        .map_err(|error| error.messages("n1"))
}

/// KT-2.
#[test]
fn edits_are_distinguished_from_names() {
    for change in ["a=b", "a:b", "a-", "=", ":", "-", "a=b:c-"] {
        assert!(is_change(change), "{change}");
    }
    for name in ["", "a", "node", "a-b", "a.b/c"] {
        assert!(!is_change(name), "{name}");
    }
}

/// KT-3.
#[test]
fn additions_and_removals_are_parsed() {
    let change = parse(&["a=b:NoSchedule", "x/c:NoExecute", "d-", "e:PreferNoSchedule-", "f=g:NoExecute-"]);
    let change = change.unwrap();
    assert_eq!(
        change.add.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["a=b:NoSchedule", "x/c:NoExecute"]
    );
    let removals: Vec<String> = change.remove.iter().map(ToString::to_string).collect();
    assert_eq!(
        removals,
        ["d", "e:PreferNoSchedule", "f:NoExecute"],
        "the value of a removal does not matter"
    );
    assert_eq!(parsed_taint("a=:NoExecute"), parsed_taint("a:NoExecute"));
    assert_eq!(parse(&[]), Ok(TaintEdit::default()));
}

/// KT-3.
#[test]
fn errors_are_reported_with_their_position() {
    let spec = |at, text: &str| (0, at, format!("invalid taint spec: {text}"));
    assert_eq!(wrong(&["a"]), spec(1, "a"));
    assert_eq!(wrong(&["a:b:NoExecute"]), spec(3, "a:b:NoExecute"));
    assert_eq!(wrong(&["a:NoExecute:"]), spec(11, "a:NoExecute:"));
    assert_eq!(wrong(&["a=b=c:NoExecute"]), spec(3, "a=b=c:NoExecute"));
    assert_eq!(wrong(&["a=b=c:NoExecute-"]), spec(3, "a=b=c:NoExecute"));
    let effect = |at, text: &str| (0, at, format!("invalid taint effect: {text}, unsupported taint effect"));
    assert_eq!(wrong(&["a=b:noexecute"]), effect(4, "noexecute"));
    assert_eq!(wrong(&["a:"]), effect(2, ""));
    assert_eq!(wrong(&["a:-"]), effect(2, ""));
    assert_eq!(wrong(&["a=b=c:x"]), effect(6, "x"), "the effect is validated first");
    for (argument, at, start) in [
        ("a=b", 3, "invalid taint spec: a=b, name part must consist of"),
        ("a=b-", 3, "invalid taint spec: a=b, name part must consist of"),
        ("-", 0, "invalid taint spec: , name part must be non-empty; name part must consist"),
        (":NoExecute", 0, "invalid taint spec: :NoExecute, name part must be non-empty; name"),
        ("a=b c:NoExecute", 3, "invalid taint spec: a=b c:NoExecute, a valid label must be"),
        ("a=b--", 1, "invalid taint spec: a=b-, name part"),
        ("Ä=b:NoExecute", 0, "invalid taint spec: Ä=b:NoExecute, name part"),
    ] {
        let (_, found, message) = wrong(&[argument]);
        assert!(found == at && message.starts_with(start), "{argument}: {found}, {message}");
        assert!(!message.contains("regex"), "{message}");
    }
    let many = parse(&["a/b/c:NoExecute"]).unwrap_err().to_string();
    assert!(
        many.ends_with(
            "'123-abc') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        )
    );
    assert_eq!(
        wrong(&["a:NoExecute", "b:NoExecute", "a=x:NoExecute"]),
        (2, 0, "duplicated taints with the same key and effect: {a x NoExecute <nil>}".to_string())
    );
    assert!(parse(&["a:NoExecute", "a:NoSchedule", "b-", "b-"]).is_ok());
}

/// A pair without an effect lacks only that, whatever else its key cannot be.
#[test]
fn a_missing_effect_is_distinguished_from_a_bad_key() {
    let hint = |argument| parse(&[argument]).unwrap_err().hint();
    for pair in ["a", "a=b", "a=", "x.y/c=1"] {
        assert!(hint(pair).starts_with("an effect is missing, as in"), "{pair}");
    }
    for bad in ["=b", "a b=c", "a=b c", "a=b=c", "a b", "a b:NoExecute"] {
        assert!(hint(bad).starts_with("a key cannot have"), "{bad}");
    }
    assert!(hint("a=b:").starts_with("an effect is missing after ':'"));
    assert!(hint("a=b:no").starts_with("an unknown effect"));
}

/// KT-5.
#[test]
fn nothing_is_both_added_and_removed() {
    let words = "can not both modify and remove the following taint(s) in the same command:";
    assert_eq!(wrong(&["a:NoExecute", "a-"]), (1, 0, format!("{words} a=")));
    assert_eq!(
        wrong(&["a=x:NoExecute", "b:NoExecute", "a:NoExecute-"]),
        (2, 0, format!("{words} a=NoExecute"))
    );
    assert_eq!(wrong(&["a-", "a:NoExecute", "a:NoSchedule"]), (0, 0, format!("{words} a=, a=")));
    assert!(parse(&["a:NoExecute", "a:NoSchedule-"]).is_ok());
    assert!(parse(&["a:NoExecute", "a-"]).unwrap_err().is_contradiction());
    assert!(!parse(&["a"]).unwrap_err().is_contradiction());
    // Errors of single arguments are reported first.
    assert_eq!(wrong(&["a:NoExecute", "a-", "c:x"]).0, 2);
}

/// KT-8.
#[test]
fn new_taints_come_first_and_the_summary_follows() {
    let ok = |taints: &[&str], word| Ok((taints.iter().map(ToString::to_string).collect(), word));
    let node = ["a=1:NoSchedule", "b:NoExecute"];
    for (change, overwrite, result) in [
        (
            &["c:NoExecute"][..],
            false,
            ok(&["c:NoExecute", "a=1:NoSchedule", "b:NoExecute"], EditSummary::Tainted),
        ),
        (
            &["a:NoExecute"],
            false,
            ok(&["a:NoExecute", "a=1:NoSchedule", "b:NoExecute"], EditSummary::Tainted),
        ),
        (&["b-"], false, ok(&["a=1:NoSchedule"], EditSummary::Untainted)),
        (&["a:NoSchedule-", "b-"], false, ok(&[], EditSummary::Untainted)),
        (&["c:NoExecute", "b-"], false, ok(&["c:NoExecute", "a=1:NoSchedule"], EditSummary::Modified)),
        (&["b=2:NoExecute"], true, ok(&["b=2:NoExecute", "a=1:NoSchedule"], EditSummary::Modified)),
        (&["b-"], true, ok(&["a=1:NoSchedule"], EditSummary::Modified)),
        (&[], false, ok(&node, EditSummary::Untainted)),
    ] {
        assert_eq!(applied(change, &node, overwrite), result, "{change:?}");
    }
}

/// KT-7.
#[test]
fn existing_additions_and_missing_removals_are_refused() {
    let node = ["a=1:NoSchedule", "b:NoExecute"];
    let exists = |keys: &str| {
        Err([format!("node n1 already has {keys} taint(s) with same effect(s) and --overwrite is false")]
            .to_vec())
    };
    assert_eq!(applied(&["a=1:NoSchedule"], &node, false), exists("a"));
    assert_eq!(applied(&["c:NoExecute", "b:NoExecute", "a:NoSchedule"], &node, false), exists("b,a"));
    let missing =
        |texts: &[&str]| Err(texts.iter().map(|text| format!("taint \"{text}\" not found")).collect());
    assert_eq!(applied(&["c-", "a-"], &node, false), missing(&["c"]));
    assert_eq!(applied(&["a:NoExecute-", "c-"], &node, true), missing(&["a:NoExecute", "c"]));
    assert_eq!(applied(&["a-", "a-"], &node, false), missing(&["a"]), "the first removal removed it");
}

/// KT-9.
#[test]
fn an_overwritten_taint_is_new_and_others_keep_their_time() {
    let at = |text: &str| Taint { time_added: Some(crate::time::Wall::from_secs(9)), ..parsed_taint(text) };
    let node = [at("a=1:NoExecute"), at("b:NoExecute")];
    let applied = parse(&["a=2:NoExecute"]).unwrap().apply(&node, true).unwrap();
    assert_eq!(applied.taints, [parsed_taint("a=2:NoExecute"), at("b:NoExecute")]);
    assert_eq!(applied.origins, [TaintOrigin::Added(0), TaintOrigin::Kept(1)]);
}

fn arguments() -> impl Strategy<Value = Vec<String>> {
    let key = prop::sample::select(&["a", "b", "x.y/c", "", "A_", "d-"][..]);
    let value = prop::sample::select(&["", "=", "=v", "=v-", "=w=x"][..]);
    let effect = prop::sample::select(
        &["", ":", ":NoSchedule", ":PreferNoSchedule", ":NoExecute", ":no", ":NoExecute:x"][..],
    );
    let end = prop::sample::select(&["", "-", "--"][..]);
    let likely =
        (key, value, effect, end).prop_map(|(key, value, effect, end)| [key, value, effect, end].concat());
    prop::collection::vec(prop_oneof![9 => likely, 1 => ".{0,12}"], 0..5)
}

#[test]
fn a_summary_has_the_words_of_kubectl() {
    let words =
        [EditSummary::Tainted, EditSummary::Untainted, EditSummary::Modified].map(|one| one.to_string());
    assert_eq!(words, ["tainted", "untainted", "modified"]);
}

proptest! {
    /// For any arguments: no panic; an error points into its argument, at a character; an edit's text form parses to
    /// the same edit.
    #[test]
    fn any_arguments_can_be_parsed(arguments in arguments()) {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        match parse(&arguments) {
            Err(error) => {
                let argument = arguments[error.argument];
                prop_assert!(argument.is_char_boundary(error.at), "{:?}", error);
                prop_assert!(!error.to_string().is_empty() && !error.hint().is_empty());
            }
            Ok(change) => {
                prop_assert_eq!(change.add.len() + change.remove.len(), arguments.len());
                let text = change.to_string();
                prop_assert_eq!(parse(&text.split_whitespace().collect::<Vec<_>>()), Ok(change));
            }
        }
    }

    /// An applied edit keeps other taints, in their order, and applied again finds nothing to remove.
    #[test]
    fn other_taints_stay(arguments in arguments(), node in arguments(), overwrite: bool) {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let taints: Vec<Taint> =
            node.iter().filter_map(|text| parse(&[text]).ok()?.add.pop()).collect();
        let Ok(change) = parse(&arguments) else { return Ok(()) };
        let Ok(applied) = change.apply(&taints, overwrite) else { return Ok(()) };
        let named = |taint: &Taint| {
            change.add.iter().any(|new| new.is_same(taint)) || change.remove.iter().any(|gone| gone.takes(taint))
        };
        let mut untouched: Vec<&Taint> = Vec::new();
        for taint in taints.iter().filter(|taint| !named(taint)) {
            if !untouched.iter().any(|earlier| earlier.is_same(taint)) {
                untouched.push(taint);
            }
        }
        let expected: Vec<&Taint> = change.add.iter().chain(untouched).collect();
        prop_assert_eq!(applied.taints.iter().collect::<Vec<_>>(), expected);
        for (taint, origin) in applied.taints.iter().zip(&applied.origins) {
            let from = match *origin {
                TaintOrigin::Added(at) => &change.add[at],
                TaintOrigin::Kept(at) => &taints[at],
            };
            prop_assert_eq!(taint, from);
        }
        if !change.remove.is_empty() {
            prop_assert!(change.apply(&applied.taints, true).is_err());
        }
    }
}
