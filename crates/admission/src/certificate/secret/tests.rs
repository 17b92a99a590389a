//! Tests that real certificates survive being written and read.

use super::*;
use crate::certificate::rotation::{ObservedState, RotationStep, step};
use crate::certificate::{Issuer as _, RcgenIssuer, RotationPlan, TrustBundle};
use taintward_core::time::Span;

type Data = BTreeMap<String, Vec<u8>>;

const NOW: Wall = Wall::from_secs(1_800_000_000);

fn plan() -> RotationPlan {
    RotationPlan::new(vec!["hook.taintward.svc".into(), "hook.taintward.svc.cluster.local".into()])
}

fn first_stored() -> StoredState {
    let seen = ObservedState { stored: None, configured: &[TrustBundle::default()] };
    let RotationStep::Write(stored) = step(seen, NOW, &plan(), &mut RcgenIssuer).unwrap() else {
        panic!("there is nothing to write")
    };
    *stored
}

fn data(stored: &StoredState) -> Data {
    stored.to_data().into_iter().map(|(name, text)| (name.to_owned(), text.into_bytes())).collect()
}

#[test]
fn a_written_state_is_read_back() {
    let mut stored = first_stored();
    assert_eq!(StoredState::from_data(&data(&stored)).unwrap(), stored);
    let authority = RcgenIssuer.authority(&plan(), NOW).unwrap();
    stored.next = Some(TrustedAuthority { authority: authority.clone(), since: Some(NOW) });
    stored.former = vec![RetiredAuthority { certificate: authority.certificate, until: NOW }];
    stored.current.since = None;
    assert_eq!(StoredState::from_data(&data(&stored)).unwrap(), stored);
    assert!(stored.serving.pair().is_ok());
    assert_eq!(stored.serving.validity.until, NOW.plus(plan().serving_life));
}

#[test]
fn no_certificate_outlives_its_authority() {
    let stored = first_stored();
    let late = NOW.plus(Span::from_secs(364 * 86_400));
    let serving = RcgenIssuer.serving(&stored.current.authority, &plan(), late).unwrap();
    assert_eq!(serving.validity.until, stored.current.authority.validity.until);
    let again = StoredState { serving, ..stored };
    assert!(StoredState::from_data(&data(&again)).is_ok(), "today's authority signs like that of a year ago");
}

#[test]
fn an_inconsistent_secret_is_invalid() {
    let (stored, other) = (first_stored(), first_stored());
    let unreviewed = |change: &dyn Fn(&mut Data)| {
        let mut data = data(&stored);
        change(&mut data);
        StoredState::from_data(&data).unwrap_err().to_string()
    };
    for name in [SERVING_KEY, SERVING_SECRET, AUTHORITY_KEY, AUTHORITY_SECRET, MEMORY] {
        assert_eq!(unreviewed(&|data| drop(data.remove(name))), format!("the Secret has no {name}"));
        let message = unreviewed(&|data| drop(data.insert(name.into(), vec![0xff])));
        assert!(message.starts_with(&format!("{name} in the Secret is invalid: ")), "{message}");
        assert!(!message.contains('\n'), "{message}");
        unreviewed(&|data| drop(data.insert(name.into(), b"-----BEGIN CERTIFICATE-----".to_vec())));
    }
    // Each is valid by itself, but one did not sign the other.
    let strange = StoredState { serving: other.serving.clone(), ..stored.clone() };
    let message = StoredState::from_data(&data(&strange)).unwrap_err().to_string();
    assert!(message.starts_with("tls.crt in the Secret is invalid: "), "{message}");
    unreviewed(&|old| drop(old.insert(SERVING_SECRET.into(), data(&other)[SERVING_SECRET].clone())));
}
