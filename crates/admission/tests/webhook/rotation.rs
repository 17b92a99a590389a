//! Tests certificate rotation by several replicas: no client meets a certificate that its configuration does not trust.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use taintward_admission::certificate::rotation::{ObservedState, RotationStep, StoredState, step};
use taintward_admission::certificate::{
    IssueError, Issuer, IssuingAuthority, RotationPlan, ServingPair, TrustBundle,
};
use taintward_core::time::{Span, Wall};
use taintward_server::certificate::Validity;

/// Makes certificates that say when they were made and which authority signed them; no two authorities are the same.
struct Names(u8);

fn at(seconds: i64) -> Wall {
    Wall::from_secs(seconds)
}

fn lasting(now: Wall, life: Span, until: Wall) -> Validity {
    Validity { from: now, until: now.plus(life).min(until) }
}

impl Issuer for Names {
    fn authority(&mut self, plan: &RotationPlan, now: Wall) -> Result<IssuingAuthority, IssueError> {
        self.0 += 1;
        let certificate = format!("authority {} of {}", self.0, now.as_micros() / 1_000_000).into_bytes();
        let validity = lasting(now, plan.authority_life, at(i64::MAX / 1_000_000));
        Ok(IssuingAuthority { certificate, key: String::new(), validity })
    }

    fn serving(
        &mut self,
        authority: &IssuingAuthority,
        plan: &RotationPlan,
        now: Wall,
    ) -> Result<ServingPair, IssueError> {
        let signer = String::from_utf8(authority.certificate.clone()).unwrap();
        let validity = lasting(now, plan.serving_life, authority.validity.until);
        let certificate = format!("{signer}|of {}", now.as_micros() / 1_000_000);
        Ok(ServingPair { certificate, key: String::new(), names: plan.names.clone(), validity })
    }
}

fn signer(serving: &ServingPair) -> &[u8] {
    serving.certificate.split('|').next().unwrap().as_bytes()
}

fn plan(rules: RotationRules) -> RotationPlan {
    RotationPlan {
        names: vec!["a".into()],
        authority_life: Span::from_secs(3),
        serving_life: Span::from_secs(rules.serving_life),
        settle: Span::from_secs(rules.settle),
    }
}

/// The parameters of the model, and the rules that replicas follow.
#[derive(Clone, Copy, Hash)]
struct RotationRules {
    serving_life: i64,
    settle: i64,
    /// A configuration is only patched over the version that was read.
    careful_patches: bool,
    /// The Secret is only written over the version that was read.
    careful_writes: bool,
    /// The configuration is read first.
    configuration_first: bool,
}

const RULES: RotationRules = RotationRules {
    serving_life: 3,
    settle: 1,
    careful_patches: true,
    careful_writes: true,
    configuration_first: true,
};

/// When the model starts: long after 1970, so that a state may be very old.
const START: i64 = 1000;

/// The state of a replica; `fresh` says whether there was no write since it read.
#[derive(Clone, Hash)]
enum Doing {
    Nothing,
    ReadOne(Read),
    Decided { bundle: TrustBundle, bundle_fresh: bool, secret_fresh: bool, step: Decision },
}

/// One of both was read, the other is read next.
#[derive(Clone, Hash)]
struct Read {
    bundle: TrustBundle,
    secret: Option<StoredState>,
    fresh: bool,
}

#[derive(Clone, Hash)]
enum Decision {
    Write(StoredState),
    Keep { trust: TrustBundle, show: Option<ServingPair> },
}

#[derive(Clone, Hash)]
struct Replica {
    doing: Doing,
    shows: Option<ServingPair>,
}

#[derive(Clone, Hash)]
struct RotationState {
    rules: RotationRules,
    now: i64,
    secret: Option<StoredState>,
    configured: TrustBundle,
    /// What an API server knows about the configuration: delayed, but never by more than a second.
    known: TrustBundle,
    replicas: [Replica; 2],
    crashes: u8,
    losses: u8,
    /// How many authorities were made.
    minted: u8,
}

impl RotationState {
    fn new(rules: RotationRules, crashes: u8, losses: u8) -> Self {
        let replica = Replica { doing: Doing::Nothing, shows: None };
        let (configured, known) = (TrustBundle::default(), TrustBundle::default());
        let replicas = [replica.clone(), replica];
        Self { rules, now: START, secret: None, configured, known, replicas, crashes, losses, minted: 0 }
    }

    fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }

    fn stale(&mut self, secret: bool) {
        for replica in &mut self.replicas {
            match &mut replica.doing {
                Doing::Nothing => {}
                Doing::ReadOne(read) => read.fresh &= secret == self.rules.configuration_first,
                Doing::Decided { bundle_fresh, secret_fresh, .. } => {
                    *(if secret { secret_fresh } else { bundle_fresh }) = false;
                }
            }
        }
    }

    /// The next step of this replica.
    fn advance(&self, index: usize) -> Self {
        let mut next = self.clone();
        let doing = std::mem::replace(&mut next.replicas[index].doing, Doing::Nothing);
        match doing {
            Doing::Nothing => {
                let read = Read { bundle: self.configured.clone(), secret: self.secret.clone(), fresh: true };
                next.replicas[index].doing = Doing::ReadOne(read);
            }
            Doing::ReadOne(Read { bundle, secret, fresh }) => {
                let first = self.rules.configuration_first;
                let (bundle, secret) =
                    if first { (bundle, self.secret.clone()) } else { (self.configured.clone(), secret) };
                let seen =
                    ObservedState { stored: secret.as_ref(), configured: std::slice::from_ref(&bundle) };
                let mut mint = Names(self.minted);
                let review_response = step(seen, at(self.now), &plan(self.rules), &mut mint).unwrap();
                next.minted = mint.0;
                let step = match review_response {
                    RotationStep::Write(stored) => Decision::Write(*stored),
                    RotationStep::Keep { trust, show, .. } => Decision::Keep { trust, show },
                };
                let (bundle_fresh, secret_fresh) = if first { (fresh, true) } else { (true, fresh) };
                next.replicas[index].doing = Doing::Decided { bundle, bundle_fresh, secret_fresh, step };
            }
            Doing::Decided { secret_fresh, step: Decision::Write(stored), .. } => {
                if secret_fresh || !self.rules.careful_writes {
                    next.secret = Some(stored);
                    next.stale(true);
                }
            }
            Doing::Decided { bundle, bundle_fresh, step: Decision::Keep { trust, show }, .. } => {
                if trust != bundle && (bundle_fresh || !self.rules.careful_patches) {
                    next.configured = trust;
                    next.stale(false);
                }
                if show.is_some() {
                    next.replicas[index].shows = show;
                }
            }
        }
        next
    }

    /// All possible next states.
    fn successors(&self, until: i64) -> Vec<Self> {
        let mut all: Vec<Self> = (0..2).map(|index| self.advance(index)).collect();
        if self.known != self.configured {
            all.push(Self { known: self.configured.clone(), ..self.clone() });
        }
        if self.now < until {
            all.push(Self { now: self.now + 1, known: self.configured.clone(), ..self.clone() });
        }
        if self.losses > 0 && self.secret.is_some() {
            let mut lost = Self { secret: None, losses: self.losses - 1, ..self.clone() };
            lost.stale(true);
            all.push(lost);
        }
        for index in 0..if self.crashes > 0 { 2 } else { 0 } {
            let mut crashed = Self { crashes: self.crashes - 1, ..self.clone() };
            crashed.replicas[index] = Replica { doing: Doing::Nothing, shows: None };
            all.push(crashed);
        }
        all
    }

    /// Returns an authority that an API server would meet and not trust.
    fn disappointment(&self) -> Option<String> {
        self.replicas.iter().filter_map(|replica| replica.shows.as_ref()).find_map(|serving| {
            let holds = at(self.now) <= serving.validity.until;
            let doubted = |bundle: &TrustBundle| !bundle.0.is_empty() && !bundle.has(signer(serving));
            (holds && (doubted(&self.known) || doubted(&self.configured)))
                .then(|| format!("at {}: {} is shown", self.now, serving.certificate))
        })
    }
}

/// The result of the exploration.
struct Exploration {
    states: usize,
    /// How many authorities were ever served.
    shown: usize,
    disappointment: Option<String>,
}

/// Explores every order of events for some seconds, until an API server meets an untrusted certificate.
fn explore(start: RotationState, seconds: i64) -> Exploration {
    let mut seen = HashSet::from([start.digest()]);
    let mut signers = HashSet::new();
    let mut waiting = vec![start];
    let mut disappointment = None;
    while let Some(state) = waiting.pop() {
        disappointment = state.disappointment();
        if disappointment.is_some() {
            break;
        }
        let shows = state.replicas.iter().filter_map(|each| each.shows.as_ref());
        signers.extend(shows.map(|shown| signer(shown).to_vec()));
        let next = state.successors(START + seconds);
        waiting.extend(next.into_iter().filter(|next| seen.insert(next.digest())));
    }
    Exploration { states: seen.len(), shown: signers.len(), disappointment }
}

/// Asserts that no API server meets an untrusted certificate, in any order.
fn holds(cases: &[(RotationRules, u8, u8, i64)]) {
    for (rules, crashes, losses, seconds) in cases.iter().copied() {
        let exploration = explore(RotationState::new(rules, crashes, losses), seconds);
        assert_eq!(exploration.disappointment, None, "{crashes} crashes, {losses} losses, {seconds} s");
        assert!(
            exploration.states > 1000 && exploration.shown > 1,
            "the world is too small to show anything"
        );
    }
}

/// Certificates expire before their authorities do.
const RENEWING: RotationRules = RotationRules { serving_life: 2, ..RULES };

#[test]
fn in_any_order_the_served_certificate_is_trusted() {
    holds(&[(RULES, 0, 0, 3), (RULES, 1, 0, 2), (RENEWING, 0, 0, 3)]);
}

#[test]
fn in_any_order_a_lost_secret_breaks_no_client() {
    holds(&[(RULES, 0, 1, 1), (RENEWING, 1, 1, 0)]);
}

/// The same for longer: `cargo test -p taintward-admission --test webhook -- --ignored`.
#[test]
#[ignore = "takes a minute"]
fn in_any_order_for_longer() {
    holds(&[(RULES, 0, 0, 4), (RULES, 1, 0, 3), (RULES, 0, 1, 2), (RULES, 1, 1, 1)]);
}

#[test]
fn each_rule_is_needed() {
    let hasty = RotationRules { settle: 0, ..RULES };
    let careless = RotationRules { careful_patches: false, ..RULES };
    let forgetful = RotationRules { careful_writes: false, ..RULES };
    let backwards = RotationRules { configuration_first: false, ..RULES };
    for (name, rules, losses) in
        [("settle", hasty, 0), ("patches", careless, 0), ("writes", forgetful, 0), ("order", backwards, 1)]
    {
        let exploration = explore(RotationState::new(rules, 0, losses), 3);
        assert!(
            exploration.disappointment.is_some(),
            "without {name} nothing breaks in {} states",
            exploration.states
        );
    }
}
