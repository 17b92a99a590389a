//! Tests certificates with matching and with wrong keys.

use super::*;
use taintward_core::time::Wall;

#[test]
fn a_generated_pair_is_valid_and_has_its_times() {
    let pair = CertificatePair::self_signed(vec!["localhost".to_owned()]).unwrap();
    assert!(pair.validity().unwrap().holds(Wall::from_secs(1_800_000_000)));
    assert!(pair.certificate().is_some());
    assert_eq!(pair.config(&[b"h2", b"http/1.1"]).alpn_protocols.len(), 2);
}

#[test]
fn a_key_of_another_certificate_is_refused() {
    let [one, other] = ["one.test", "other.test"]
        .map(|name| rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap());
    let key = PrivateKeyDer::try_from(other.signing_key.serialize_der()).unwrap();
    assert!(CertificatePair::new(vec![one.cert.der().clone()], key).is_err());
    let key = PrivateKeyDer::try_from(one.signing_key.serialize_der()).unwrap();
    assert!(CertificatePair::new(Vec::new(), key).is_err());
}
