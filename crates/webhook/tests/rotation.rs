//! Rotation, by everybody at once: whoever believes a configuration never meets a certificate that he does not believe.
#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use taintward_core::time::{Span, Wall};
use taintward_serve::certificate::Validity;
use taintward_webhook::certificate::rotation::{Authority, Plan, Seen, Serving, Step, Stored, step};
use taintward_webhook::certificate::{Bundle, Mint, MintError};

/// Makes certificates that say who made them, when, and who signed them.
struct Names(u8);

fn at(seconds: i64) -> Wall {
    Wall::from_secs(seconds)
}

fn lasting(now: Wall, life: Span, until: Wall) -> Validity {
    Validity { from: now, until: now.plus(life).min(until) }
}

impl Mint for Names {
    fn authority(&mut self, plan: &Plan, now: Wall) -> Result<Authority, MintError> {
        let certificate = format!("authority of {} at {}", self.0, now.as_micros()).into_bytes();
        let validity = lasting(now, plan.authority_life, at(i64::MAX / 1_000_000));
        Ok(Authority { certificate, key: String::new(), validity })
    }

    fn serving(&mut self, authority: &Authority, plan: &Plan, now: Wall) -> Result<Serving, MintError> {
        let signer = String::from_utf8(authority.certificate.clone()).unwrap();
        let validity = lasting(now, plan.serving_life, authority.validity.until);
        let certificate = format!("{signer}|{} at {}", self.0, now.as_micros());
        Ok(Serving { certificate, key: String::new(), names: plan.names.clone(), validity })
    }
}

fn signer(serving: &Serving) -> &[u8] {
    serving.certificate.split('|').next().unwrap().as_bytes()
}

fn plan() -> Plan {
    Plan {
        names: vec!["a".into()],
        authority_life: Span::from_secs(6),
        serving_life: Span::from_secs(3),
        settle: Span::from_secs(1),
    }
}

/// Where a replica is; `fresh` says whether nobody has written since it read.
#[derive(Clone, Hash)]
enum Doing {
    Nothing,
    ReadConfiguration { bundle: Bundle, fresh: bool },
    Decided { bundle: Bundle, bundle_fresh: bool, secret_fresh: bool, step: Decision },
}

#[derive(Clone, Hash)]
enum Decision {
    Write(Stored),
    Keep { trust: Bundle, show: Option<Serving> },
}

#[derive(Clone, Hash)]
struct Replica {
    doing: Doing,
    shows: Option<Serving>,
}

#[derive(Clone, Hash)]
struct World {
    now: i64,
    secret: Option<Stored>,
    configured: Bundle,
    /// What an API server knows of the configuration: some time behind, but never more than a second.
    known: Bundle,
    replicas: [Replica; 2],
    crashes: u8,
    losses: u8,
}

impl World {
    fn new(crashes: u8, losses: u8) -> Self {
        let replica = Replica { doing: Doing::Nothing, shows: None };
        let (configured, known) = (Bundle::default(), Bundle::default());
        let replicas = [replica.clone(), replica];
        Self { now: 0, secret: None, configured, known, replicas, crashes, losses }
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
                Doing::ReadConfiguration { fresh, .. } => *fresh &= secret,
                Doing::Decided { bundle_fresh, secret_fresh, .. } => {
                    *(if secret { secret_fresh } else { bundle_fresh }) = false;
                }
            }
        }
    }

    /// The next thing this replica does.
    fn advance(&self, index: usize) -> Self {
        let mut next = self.clone();
        let doing = std::mem::replace(&mut next.replicas[index].doing, Doing::Nothing);
        match doing {
            Doing::Nothing => {
                let bundle = self.configured.clone();
                next.replicas[index].doing = Doing::ReadConfiguration { bundle, fresh: true };
            }
            Doing::ReadConfiguration { bundle, fresh } => {
                let seen = Seen { stored: self.secret.as_ref(), configured: std::slice::from_ref(&bundle) };
                let decided = step(seen, at(self.now), &plan(), &mut Names(index as u8)).unwrap();
                let step = match decided {
                    Step::Write(stored) => Decision::Write(*stored),
                    Step::Keep { trust, show, .. } => Decision::Keep { trust, show },
                };
                let doing = Doing::Decided { bundle, bundle_fresh: fresh, secret_fresh: true, step };
                next.replicas[index].doing = doing;
            }
            Doing::Decided { secret_fresh, step: Decision::Write(stored), .. } => {
                if secret_fresh {
                    next.secret = Some(stored);
                    next.stale(true);
                }
            }
            Doing::Decided { bundle, bundle_fresh, step: Decision::Keep { trust, show }, .. } => {
                if trust != bundle && bundle_fresh {
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

    /// Everything that may happen now.
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

    fn check(&self) {
        for (index, replica) in self.replicas.iter().enumerate() {
            let Some(serving) = &replica.shows else { continue };
            if serving.validity.until < at(self.now) {
                continue;
            }
            for believed in [&self.known, &self.configured] {
                assert!(
                    believed.0.is_empty() || believed.has(signer(serving)),
                    "at {}: {index} shows {}, and believed are {:?}",
                    self.now,
                    serving.certificate,
                    believed.0.iter().map(|each| String::from_utf8_lossy(each)).collect::<Vec<_>>()
                );
            }
        }
    }
}

/// Every order in which things may happen. Gives how many states there are, and how many authorities were ever shown.
fn explore(start: World, until: i64) -> (usize, usize) {
    let mut seen = HashSet::from([start.digest()]);
    let mut signers = HashSet::new();
    let mut waiting = vec![start];
    while let Some(world) = waiting.pop() {
        world.check();
        signers.extend(world.replicas.iter().filter_map(|each| each.shows.as_ref().map(|shown| signer(shown).to_vec())));
        waiting.extend(world.successors(until).into_iter().filter(|next| seen.insert(next.digest())));
    }
    (seen.len(), signers.len())
}

#[test]
fn whatever_the_order_what_is_shown_is_believed() {
    for (crashes, losses, until) in [(0, 0, 7), (1, 0, 6), (0, 1, 4), (1, 1, 2)] {
        let (states, signers) = explore(World::new(crashes, losses), until);
        println!("{crashes} crashes, {losses} losses, {until} s: {states} states, {signers} authorities shown");
        assert!(states > 1000 && signers > 1, "the world is too small to say anything");
    }
}
