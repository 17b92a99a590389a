//! Tests the flags of the webhook through the parser of the program.

use super::{ProgramCommand, parse_from};
use crate::webhook::WebhookOptions;
use taintward_admission::settings::ClientCaSettings;
use taintward_core::admission::pod_toleration_restriction::MergeMode;

fn parse(flags: &str) -> Result<WebhookOptions, String> {
    let words = ["taintward", "webhook"].into_iter().chain(flags.split_whitespace());
    match parse_from(words) {
        Ok(Some(ProgramCommand::Webhook(plan))) => Ok(*plan),
        Ok(other) => panic!("{flags}: {other:?}"),
        Err(error) => Err(error.to_string()),
    }
}

fn merging(flags: &str) -> Option<MergeMode> {
    let plan = parse(&format!("--self-signed {flags}")).unwrap();
    plan.settings.rules.restriction.map(|restriction| restriction.merging)
}

#[test]
fn a_toleration_covered_by_a_default_stays_unless_as_upstream_is_set() {
    let rule = "--rules=toleration-restriction";
    assert_eq!(merging(""), None);
    assert_eq!(merging(rule), Some(MergeMode::KeepsOwn));
    assert_eq!(merging(&format!("{rule} --restriction-merging=keep-own")), Some(MergeMode::KeepsOwn));
    assert_eq!(merging(&format!("{rule} --restriction-merging=as-upstream")), Some(MergeMode::AsUpstream));
    for flag in ["--restriction-merging=as-upstream", "--restriction-config=lists.yaml"] {
        let message = parse(&format!("--self-signed {flag}")).unwrap_err();
        let name = flag.split('=').next().unwrap();
        assert!(message.contains(&format!("{name} needs the rule")), "{message}");
    }
}

#[test]
fn clients_are_checked_by_their_ca_and_their_names() {
    let clients = |flags: &str| parse(flags).unwrap().settings.server.clients;
    assert_eq!(clients("--self-signed"), None);
    let files = "--tls-cert-file=c --tls-private-key-file=k";
    for with in ["--self-signed", files] {
        let any = ClientCaSettings { file: "a.crt".into(), names: Vec::new() };
        assert_eq!(clients(&format!("{with} --client-ca-file=a.crt")), Some(any.clone()));
        let names = vec!["front-proxy-client".to_owned(), "b".to_owned()];
        let flags = format!("{with} --client-ca-file=a.crt --client-allowed-names=front-proxy-client,b");
        assert_eq!(clients(&flags), Some(ClientCaSettings { names, ..any }));
    }
    let message = parse("--self-signed --client-allowed-names=a").unwrap_err();
    assert!(message.contains("--client-ca-file"), "{message}");
}
