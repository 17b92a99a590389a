//! # Placer: many pods, one after the other
//! Room:     the choice of `choose.rs` for each of many pods, of which many are alike, while nodes fill up.
//! Comes in: nodes; pods, each with the number of its kind; who came to a node and who left it.
//! Goes out: positions of nodes, the same as [`choose`](super::choose) picks with the tie 0; nowhere, and why.
//! Keeps:    what does not change while nodes fill up is asked once for each kind; the rest once for each change.
//! Not here: who asks first.

use super::filter::{filter, fits, suits};
use super::score::{Raw, fit};
use super::{Candidate, Load, Unfit, Wish};
use crate::matching::NumericOperators;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// A node that everything but room leaves to pods of one kind.
#[derive(Clone, Copy, Debug)]
struct Offer {
    node: usize,
    raw: Raw,
    /// The node's version for which the rest holds.
    seen: u64,
    /// How well the pod would fit; `None`: there is no room.
    fit: Option<(i64, i64)>,
}

/// What is known of a kind of pods.
#[derive(Clone, Debug)]
struct Kind {
    offers: Vec<Offer>,
    /// There was no room anywhere, and nobody has left any of these nodes since.
    is_full: bool,
}

/// Nodes that fill up.
#[derive(Clone, Debug)]
pub struct Placer {
    candidates: Vec<Candidate>,
    /// How often each node's load has changed, and one.
    versions: Vec<u64>,
    kinds: BTreeMap<u32, Kind>,
    numeric: NumericOperators,
}

impl Placer {
    /// Nodes, with who is on them.
    pub fn new(candidates: Vec<Candidate>, numeric: NumericOperators) -> Self {
        let versions = candidates.iter().map(|_| 1).collect();
        Self { candidates, versions, kinds: BTreeMap::new(), numeric }
    }

    /// The nodes as they are now.
    pub fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }

    /// The best node for a pod; pods with the same `kind` must have the same wish. `None`: there is none.
    pub fn choose(&mut self, kind: u32, wish: &Wish) -> Option<usize> {
        let Self { candidates, versions, kinds, numeric } = self;
        let known = kinds.entry(kind).or_insert_with(|| Kind::new(wish, candidates, *numeric));
        if known.is_full {
            return None;
        }
        let mut highest: Option<Raw> = None;
        for offer in &mut known.offers {
            if offer.seen != versions[offer.node] {
                let candidate = &candidates[offer.node];
                offer.fit = fits(wish, candidate).is_ok().then(|| fit(wish, candidate));
                offer.seen = versions[offer.node];
            }
            if offer.fit.is_some() {
                highest = Some(highest.map_or(offer.raw, |highest| highest.max(offer.raw)));
            }
        }
        let Some(highest) = highest else {
            known.is_full = true;
            return None;
        };
        let mut best: Option<(i64, usize)> = None;
        for offer in &known.offers {
            let Some(fit) = offer.fit else { continue };
            let total = offer.raw.total(highest, fit);
            if best.is_none_or(|(most, _)| total > most) {
                best = Some((total, offer.node));
            }
        }
        best.map(|(_, node)| node)
    }

    /// Why not, for each node.
    pub fn why_not(&self, wish: &Wish) -> Vec<Unfit> {
        let ask = |candidate| filter(wish, candidate, self.numeric).err();
        self.candidates.iter().filter_map(ask).collect()
    }

    /// Somebody comes to a node.
    pub fn put(&mut self, node: usize, load: &Load) {
        let candidate = &mut self.candidates[node];
        candidate.used.add(load);
        candidate.pods = candidate.pods.saturating_add(1);
        self.versions[node] += 1;
    }

    /// Somebody leaves a node.
    pub fn take(&mut self, node: usize, load: &Load) {
        let candidate = &mut self.candidates[node];
        candidate.used.take_off(load);
        candidate.pods = candidate.pods.saturating_sub(1);
        self.versions[node] += 1;
        for kind in self.kinds.values_mut().filter(|kind| kind.is_full) {
            kind.is_full = kind.offers.binary_search_by_key(&node, |offer| offer.node).is_err();
        }
    }
}

impl Kind {
    fn new(wish: &Wish, candidates: &[Candidate], numeric: NumericOperators) -> Self {
        let named = wish.named();
        let suiting = candidates
            .iter()
            .enumerate()
            .filter(|(_, candidate)| suits(wish, &named, candidate, numeric).is_ok());
        let offer =
            |(node, candidate)| Offer { node, raw: Raw::of(wish, candidate, numeric), seen: 0, fit: None };
        Self { offers: suiting.map(offer).collect(), is_full: false }
    }
}
