//! Tests years of rotation with real certificates: the served one is always trusted, and old ones are removed.

use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use taintward_admission::certificate::rotation::{ObservedState, RotationStep, StoredState, step};
use taintward_admission::certificate::{RcgenIssuer, RotationPlan, ServingPair, TrustBundle};
use taintward_core::time::{Span, Wall};

const DAY: i64 = 86_400;
const START: i64 = 1_800_000_000;

/// A Secret and two webhook configurations, as written.
#[derive(Default)]
struct RotationCluster {
    secret: Option<BTreeMap<String, Vec<u8>>>,
    configured: [String; 2],
}

impl RotationCluster {
    /// Runs a replica's steps until there is nothing more to do. Returns the certificate that it may serve.
    fn check(&mut self, plan: &RotationPlan, now: Wall) -> Option<ServingPair> {
        for _ in 0..20 {
            let configured = self.configured.each_ref().map(|pem| TrustBundle::from_pem(pem.as_bytes()));
            let stored = self.secret.as_ref().map(|data| StoredState::from_data(data).unwrap());
            let seen = ObservedState { stored: stored.as_ref(), configured: &configured };
            match step(seen, now, plan, &mut RcgenIssuer).unwrap() {
                RotationStep::Write(stored) => {
                    let data =
                        stored.to_data().into_iter().map(|(name, text)| (name.to_owned(), text.into_bytes()));
                    self.secret = Some(data.collect());
                }
                RotationStep::Keep { trust, show, next } => {
                    assert!(next > now, "there is something to do immediately");
                    if configured.iter().all(|bundle| *bundle == trust) {
                        return show;
                    }
                    self.configured = [trust.to_pem(), trust.to_pem()];
                }
            }
        }
        panic!("the steps never end")
    }

    /// Verifies a certificate as an API server does.
    fn believes(&self, shown: &ServingPair, now: Wall) -> Result<(), String> {
        let mut roots = RootCertStore::empty();
        for certificate in TrustBundle::from_pem(self.configured[0].as_bytes()).0 {
            roots.add(certificate.into()).unwrap();
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
        let der = CertificateDer::from_pem_slice(shown.certificate.as_bytes()).unwrap();
        let name = ServerName::try_from("hook.taintward.svc").unwrap();
        let now =
            UnixTime::since_unix_epoch(Duration::from_secs((now.as_micros() / 1_000_000).unsigned_abs()));
        verifier.verify_server_cert(&der, &[], &name, &[], now).map(drop).map_err(|error| error.to_string())
    }

    fn bundle(&self) -> usize {
        TrustBundle::from_pem(self.configured[0].as_bytes()).0.len()
    }
}

fn plan() -> RotationPlan {
    RotationPlan::new(vec!["hook.taintward.svc".into()])
}

fn day(number: i64) -> Wall {
    Wall::from_secs(START + number * DAY)
}

#[test]
fn the_served_certificate_is_trusted_for_years_even_by_a_replica_that_checks_once_a_month() {
    let (plan, mut cluster) = (plan(), RotationCluster::default());
    let mut shown: [Option<ServingPair>; 2] = [None, None];
    let (mut certificates, mut authorities, mut widest) = (BTreeSet::new(), BTreeSet::new(), 0);
    for number in 0..4 * 365 {
        let now = day(number);
        for (replica, every) in [(0, 1), (1, 29)] {
            if number % every == 0
                && let Some(serving) = cluster.check(&plan, now)
            {
                shown[replica] = Some(serving);
            }
            let serving =
                shown[replica].as_ref().expect("there is a certificate to serve from the first day on");
            cluster
                .believes(serving, now)
                .unwrap_or_else(|error| panic!("day {number}, replica {replica}: {error}"));
        }
        certificates.insert(shown[0].as_ref().unwrap().certificate.clone());
        authorities.insert(TrustBundle::from_pem(cluster.configured[0].as_bytes()).0[0].clone());
        widest = widest.max(cluster.bundle());
    }
    assert!(certificates.len() > 20, "{}", certificates.len());
    assert!(authorities.len() >= 6, "{}", authorities.len());
    assert_eq!(widest, 2, "an authority is forgotten when all its certificates have expired");
}

#[test]
fn a_lost_secret_is_recreated_and_no_client_breaks() {
    let (plan, mut cluster) = (plan(), RotationCluster::default());
    let old = cluster.check(&plan, day(0)).expect("nothing was trusted, so there is no need to wait");
    cluster.secret = None;
    let now = day(10);
    assert_eq!(cluster.check(&plan, now), None, "the new authority is trusted, but not for long enough yet");
    assert_eq!(cluster.bundle(), 2);
    cluster.believes(&old, now).unwrap();
    let new = cluster.check(&plan, now.plus(plan.settle)).expect("every API server has observed it");
    assert_ne!(new.certificate, old.certificate);
    cluster.believes(&new, now.plus(plan.settle)).unwrap();
    cluster.believes(&old, now.plus(plan.settle)).unwrap();
    cluster.check(&plan, now.plus(plan.serving_life).plus(Span::from_secs(2)));
    assert_eq!(cluster.bundle(), 1, "all certificates of the old authority have expired");
}

#[test]
fn another_name_needs_another_certificate_but_no_authority() {
    let mut cluster = RotationCluster::default();
    let old = cluster.check(&plan(), day(0)).unwrap();
    let trusted = cluster.configured.clone();
    let renamed = RotationPlan::new(vec!["hook.other.svc".into()]);
    let new = cluster.check(&renamed, day(0)).unwrap();
    assert_ne!(new.certificate, old.certificate);
    assert_eq!(cluster.configured, trusted);
}

#[test]
fn an_emptied_configuration_is_filled_again_and_the_next_authority_waits() {
    let (plan, mut cluster) = (plan(), RotationCluster::default());
    cluster.check(&plan, day(0)).unwrap();
    // The day the next authority is announced.
    let late = day(300);
    let shown = cluster.check(&plan, late).unwrap();
    assert_eq!(cluster.bundle(), 2);
    cluster.configured[1] = String::new();
    let now = late.plus(plan.settle);
    let still = cluster.check(&plan, now);
    assert_eq!(cluster.configured[0], cluster.configured[1]);
    cluster.believes(&shown, now).unwrap();
    assert!(still.is_none_or(|still| still == shown), "it starts to settle again");
    let next = cluster.check(&plan, now.plus(plan.settle)).unwrap();
    assert_ne!(next.certificate, shown.certificate);
    cluster.believes(&next, now.plus(plan.settle)).unwrap();
}
