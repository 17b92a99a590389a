//! Compares validation with a real API server, by the recorded cases in `validation/cases.txt`.

mod cases;
mod real;

use cases::{ValidationCase, ValidationVerdict};
use std::collections::BTreeMap;
use taintward_envtest::{Cluster, ClusterConfig, binaries};

const RESPONSES: &str = include_str!("validation/answers.txt");

/// Answers by case, one line each: the case, a tab, the answer as JSON.
fn recorded() -> BTreeMap<&'static str, ValidationVerdict> {
    RESPONSES
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .map(|(case, response)| (case, ValidationVerdict::read(response)))
        .collect()
}

fn assert_same(cases: &[ValidationCase], theirs: impl Fn(&ValidationCase) -> ValidationVerdict) {
    let mut wrong = 0;
    for case in cases {
        let (ours, theirs) = (case.judge(), theirs(case));
        if ours != theirs {
            wrong += 1;
            eprintln!("{}\n  fake: {ours}\n  real: {theirs}\n", case.line);
        }
    }
    assert_eq!(wrong, 0, "of {} cases", cases.len());
}

#[test]
fn the_sandbox_answers_as_the_real_server_did() {
    let (cases, recorded) = (cases::all(), recorded());
    assert!(cases.len() >= 120, "{} cases", cases.len());
    let rejected = recorded.values().filter(|verdict| verdict.is_rejection()).count();
    assert!(rejected >= 60 && rejected + 20 <= recorded.len(), "{rejected} refusals of {}", recorded.len());
    assert_same(&cases, |case| recorded.get(case.line.as_str()).expect("a recorded answer").clone());
}

#[tokio::test]
async fn the_sandbox_answers_as_the_real_server_does() {
    let Some(tools) = binaries::for_test("the_sandbox_answers_as_the_real_server_does") else { return };
    let cluster = Cluster::start(&tools, ClusterConfig::default()).await.unwrap();
    let server = real::RealServer::of(&cluster).await;
    let cases = cases::all();
    let mut responses = BTreeMap::new();
    for (index, case) in cases.iter().enumerate() {
        responses.insert(case.line.as_str(), server.judge(case, index).await);
    }
    if let Ok(file) = std::env::var("TAINTWARD_RECORD") {
        let text: String =
            cases.iter().map(|case| format!("{}\t{}\n", case.line, responses[case.line.as_str()])).collect();
        std::fs::write(file, text).unwrap();
    }
    assert_same(&cases, |case| responses[case.line.as_str()].clone());
}
