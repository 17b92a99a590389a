//! Tests that docs/lint.md and docs/lint-report.schema.json agree with the program.

use super::*;
use crate::described::{check, document, schema};
use std::collections::BTreeMap;

/// The contents of YAML fences.
fn examples(text: &str) -> Vec<&str> {
    text.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

#[test]
fn every_rule_has_a_section_with_an_example_that_is_found_and_one_that_is_not() {
    let text = document("lint.md");
    let sections: BTreeMap<&str, &str> =
        text.split("\n### ").skip(1).map(|section| section.split_once('\n').unwrap()).collect();
    let titles: Vec<String> = Rule::ALL.iter().map(|rule| format!("{} {}", rule.id(), rule.name())).collect();
    assert_eq!(sections.keys().copied().collect::<Vec<_>>(), titles, "one section for each rule, in order");
    for (rule, title) in Rule::ALL.iter().zip(&titles) {
        let section = sections[title.as_str()];
        let words = section.split_whitespace().collect::<Vec<_>>().join(" ");
        let opening = format!("**{}**: {}", rule.severity().as_str(), rule.summary());
        assert!(words.starts_with(&opening), "{title} should begin with: {opening}");
        let [bad, good] = examples(section)[..] else { panic!("{title}: two examples") };
        let numeric = match words.contains("Found only with `--feature-gates") {
            true => NumericOperators::On,
            false => NumericOperators::Off,
        };
        let found = |text: &str| {
            let report = report_with(&[text], &LintConfig::default(), numeric);
            assert!(report.unreadable.is_empty(), "{title}: {:?}", report.unreadable);
            let found: Vec<Rule> = report.findings.iter().map(|finding| finding.rule).collect();
            found
        };
        assert!(found(bad).contains(rule), "{title}: the first example has {:?}", found(bad));
        assert!(!found(good).contains(rule), "{title}: the second example");
        let errors = found(good).into_iter().find(|rule| rule.id().starts_with("TL1"));
        assert_eq!(errors, None, "{title}: the second example would be rejected");
    }
}

#[test]
fn the_example_of_a_config_and_the_exit_codes_are_valid() {
    let text = document("lint.md");
    let config = examples(&text).into_iter().find(|example| example.contains("kind: LintConfig")).unwrap();
    assert_eq!(config.parse::<LintConfig>().unwrap().silences.len(), 2);
    for (code, meaning) in EXIT_CODES {
        assert!(text.contains(&format!("| {code} | {meaning} |")), "{code}");
    }
}

#[test]
fn the_schema_describes_what_is_printed() {
    let schema = schema("lint-report.schema.json");
    let rules: Vec<&str> = Rule::ALL.iter().map(|rule| rule.id()).collect();
    let described = &schema["properties"]["items"]["items"]["properties"]["rule"]["enum"];
    assert_eq!(*described, Value::from(rules));
    let config =
        "apiVersion: taintward.io/v1alpha1\nkind: LintConfig\nsilence:\n- {rule: TL201, reason: so it is}\n";
    let text = "kind: Pod\napiVersion: v1\nspec: {tolerations: [{operator: Exists}, {key: a, value: 1}]}\n---\na: [\n";
    let mut report = report_with(&[text], &config.parse().unwrap(), NumericOperators::Off);
    report.gaps.push("may not list nodes".to_owned());
    let printed = json::object(&report);
    for list in ["items", "silenced", "unreadable", "readErrors"] {
        assert!(!printed[list].as_array().unwrap().is_empty(), "{list}");
    }
    check(&schema, &printed);
}
